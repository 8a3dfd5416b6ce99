package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// schema is as much of a JSON Schema as -f needs to know which type a field has. A nil schema
// knows nothing.
type schema struct {
	Ref        string                     `json:"$ref"`
	Type       typeNames                  `json:"type"`
	Properties map[string]json.RawMessage `json:"properties"`
	Defs       map[string]json.RawMessage `json:"$defs"` // the root's
}

// typeNames is a schema's type: a name or a list of names.
type typeNames []string

func (t *typeNames) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*t = typeNames{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(t))
}

// newSchema reads a schema's text; of one that it cannot read it knows nothing.
func newSchema(text []byte) *schema {
	s := &schema{}
	if json.Unmarshal(text, s) != nil {
		return nil
	}
	return s
}

// maxRefs is how many references are followed to reach one property's schema.
const maxRefs = 16

// property gives the schema of one property, with local references followed.
func (s *schema) property(name string) *schema {
	if s == nil {
		return nil
	}
	text := s.Properties[name]
	for range maxRefs {
		p := newSchema(text)
		if p == nil {
			return nil
		}
		p.Defs = s.Defs
		def, ok := strings.CutPrefix(p.Ref, "#/$defs/")
		if !ok {
			return p
		}
		text = s.Defs[def]
	}
	return nil
}

// parse reads the text of a field: as it is where the schema wants a string, as JSON where it
// wants something else. Where the schema names no type, JSON is taken for JSON and the rest for a
// string.
func (s *schema) parse(text string) (any, error) {
	if s != nil && slices.Contains(s.Type, "string") {
		return text, nil
	}
	v, err := decodeOne(text)
	switch {
	case err == nil:
		return v, nil
	case s == nil || len(s.Type) == 0:
		return text, nil
	}
	return nil, fmt.Errorf("%q is not JSON, and the tool wants a value of type %s",
		cut(text, maxQuoted), strings.Join(s.Type, " or "))
}

// example shows how a field of the schema's type is written.
func (s *schema) example(name string) string {
	switch {
	case slices.Contains(s.Type, "array"):
		return fmt.Sprintf(`such as -f '%s=["a", "b"]'`, name)
	case slices.Contains(s.Type, "object"):
		return fmt.Sprintf(`such as -f '%s={"a": 1}', or -f %s.a=1`, name, name)
	}
	return ""
}

// maxQuoted is how many characters of a wrong value an error repeats.
const maxQuoted = 40

// decodeOne decodes a text that is one JSON value.
func decodeOne(text string) (any, error) {
	if !json.Valid([]byte(text)) {
		return nil, errors.New("not one JSON value")
	}
	var v any
	return v, decodeExact([]byte(text), &v)
}
