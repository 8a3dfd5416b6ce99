package mcpserver

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
)

// plainSchema is a schema as clients see it: the very text, unless there is something in it that a
// stranger might have put there for others than a model to read. The registry has compiled it.
func plainSchema(text string) json.RawMessage {
	if isPlainSchema(text) {
		return json.RawMessage(text)
	}
	v, err := decode(text)
	if err != nil {
		return json.RawMessage(text)
	}
	return encode(plain(v))
}

// headerWord is a keyword by which a schema makes clients and servers move arguments into headers
// of HTTP. A plugin has no say in that.
const headerWord = "x-mcp-header"

// isPlainSchema reports whether there is nothing to look at more closely: no header word, not even
// one that is spelt with escapes, and no character that is not seen.
func isPlainSchema(text string) bool {
	if strings.Contains(text, `\u`) || strings.Contains(text, headerWord) {
		return false
	}
	for _, r := range text {
		if abi.Hidden(r) && r != '\n' && r != '\t' && r != '\r' {
			return false
		}
	}
	return true
}

// plain drops header words and cleans the texts that are for people and models. Values that
// arguments are held against stay as they are.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, headerWord)
		for key, field := range v {
			text, isText := field.(string)
			switch {
			case isText && (key == "description" || key == "title" || key == "$comment"):
				v[key] = abi.CleanText(text, len(text))
			case key == "enum" || key == "const" || key == "default" || key == "examples":
			default:
				v[key] = plain(field)
			}
		}
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	}
	return v
}

// outputSchema is a tool's output schema as clients see it, and whether it is that of
// {"result": …}: structured content is an object, and this schema allows other values.
func outputSchema(text string) (schema json.RawMessage, wrapped bool) {
	v, err := decode(text)
	root, isObject := v.(map[string]any)
	if err == nil && isObject && root["type"] == "object" {
		return plainSchema(text), false
	}
	inner := any(true)
	if err == nil {
		inner = inside(root, v, text)
	}
	return encode(map[string]any{
		"type":       "object",
		"properties": map[string]any{"result": inner},
		"required":   []string{"result"},
	}), true
}

// inside is a schema that means the same as a part of another. References count from the root of
// their document, so a schema that has any becomes a document of its own by a name; of drafts that
// cannot do that, nothing is told.
func inside(root map[string]any, v any, text string) any {
	v = plain(v)
	if root == nil {
		return v
	}
	draft, declared := root["$schema"].(string)
	delete(root, "$schema")
	switch {
	case !refers(v):
		return v
	case declared && !strings.Contains(draft, "/2020-12/"):
		return map[string]any{}
	case root["$id"] == nil:
		root["$id"] = fmt.Sprintf("urn:wasmagent:%x", sha256.Sum256([]byte(text)))
	}
	if ref, ok := root["$ref"]; ok { // beside a name, some validators take it for one to itself
		delete(root, "$ref")
		all, _ := root["allOf"].([]any)
		root["allOf"] = append([]any{map[string]any{"$ref": ref}}, all...)
	}
	return v
}

// refers reports whether a schema has references. A field or a value that looks like one counts
// too, which does no harm.
func refers(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for key, field := range v {
			if key == "$ref" || key == "$dynamicRef" || key == "$recursiveRef" || refers(field) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, refers)
	}
	return false
}

// decode reads JSON that the registry has checked, and keeps its numbers as they are.
func decode(text string) (v any, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// encode is json.Marshal that leaves <, > and & as they are. What decode gave has a form.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSpace(b.Bytes())
}
