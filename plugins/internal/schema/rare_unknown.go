package schema

import (
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// unevaluated is the place of the keyword that refuses a field as no part of a schema knows it.
const unevaluated = "/unevaluatedProperties"

// nameFields adds to problems with unknown fields which ones there are, where the schema that
// refuses them lists any.
func (s *rareSchema) nameFields(e *jsonschema.ValidationError, problems []Problem) {
	var root *value
	refused := map[string]string{} // the place of the schema, by that of the field
	for i, p := range problems {
		if p.Detail != unknownField {
			continue
		}
		if root == nil {
			root = parse(s.text)
			refusals(refused, e)
		}
		at, known := refused[p.Pointer]
		object := root
		if at != "" {
			object = root.under(at)
		}
		if !known || object == nil {
			continue
		}
		if names := object.get("properties").names(); len(names) > 0 {
			field := p.Pointer[strings.LastIndexByte(p.Pointer, '/')+1:]
			problems[i].Detail += "; " + declared(unescapeToken(field), names, "there are")
		}
	}
}

// refusals notes by which schema each unknown field is refused.
func refusals(dst map[string]string, e *jsonschema.ValidationError) {
	for _, cause := range e.Causes {
		refusals(dst, cause)
	}
	at := ""
	for _, token := range e.InstanceLocation {
		at += "/" + escapePointer(token)
	}
	document, place, _ := strings.Cut(e.SchemaURL, "#")
	place, err := url.PathUnescape(place)
	if document != schemaURL || err != nil {
		return
	}
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			dst[at+"/"+escapePointer(name)] = place
		}
	case *kind.FalseSchema:
		if object, ok := strings.CutSuffix(place, unevaluated); ok {
			dst[at] = object
		}
	}
}

// names lists an object's fields, sorted.
func (v *value) names() []string {
	if v == nil {
		return nil
	}
	names := make([]string, len(v.fields))
	for i, m := range v.fields {
		names[i] = m.name
	}
	slices.Sort(names)
	return names
}

func unescapeToken(token string) string {
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}
