package schema

import (
	"strings"
	"testing"
)

func TestNearName(t *testing.T) {
	names := []string{"customer", "description", "id", "tags"}
	for name, want := range map[string]string{
		"tags": "tags", "tgas": "tags", "tag": "tags", "Tags": "tags", "taggs": "tags",
		"custmoer": "customer", "custommers": "customer", "desc": "description", "di": "",
		"price": "", "d": "", "": "", "sgat": "",
	} {
		if have := nearName(name, names); have != want {
			t.Errorf("%q is near %q, want %q", name, have, want)
		}
	}
}

// TestWrongTypeWord checks that the word that is no type comes first.
func TestWrongTypeWord(t *testing.T) {
	const there = `there are "array", "boolean", "integer", "null", "number", "object", "string"`
	for text, want := range map[string]string{
		`{"properties":{"a":{"type":"str"}}}`: `at /properties/a/type: "str" is no type; ` +
			`did you mean "string"? ` + there,
		`{"properties":{"a":{"type":["null","strnig"]}}}`: `at /properties/a/type/1: ` +
			`"strnig" is no type; did you mean "string"? ` + there,
		`{"type":"file"}`: `at /type: "file" is no type; ` + there,
		`{"properties":{"type":{"type":"Int"}}}`: `at /properties/type/type: "Int" is no type; ` +
			`did you mean "integer"? ` + there,
		`{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":{"type":"bool"}` +
			`}}`: `at /properties/a/type: "bool" is no type; did you mean "boolean"? ` + there,
	} {
		if _, err := Compile(text); err == nil || err.Error() != want {
			t.Errorf("%s: have %v, want %s", text, err, want)
		}
	}
	for _, text := range []string{`{"properties":{"type":"str"}}`, `{"type":5}`} {
		if _, err := Compile(text); err == nil || strings.Contains(err.Error(), "is no type") {
			t.Errorf("%s: have %v", text, err)
		}
	}
}
