package schema

import (
	"fmt"
	"strings"
	"testing"
)

// Of many fields only the first are named to who gave an unknown one.
func TestUnknownFieldLimit(t *testing.T) {
	for n, want := range map[int]string{maxFields: `"f19"`, maxFields + 1: `"f19" and 1 more`} {
		fields := make([]string, n)
		for i := range fields {
			fields[i] = fmt.Sprintf(`"f%02d":{}`, i)
		}
		s, err := Compile(`{"properties":{` + strings.Join(fields, ",") +
			`},"additionalProperties":false}`)
		if err != nil {
			t.Fatal(err)
		}
		v, err := pack(`{"x":1}`)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Check(v); got == nil || !strings.HasSuffix(got.Error(), want) {
			t.Errorf("%d fields: %v, want … %s", n, got, want)
		}
	}
}

// TestUnknownFieldIsNamed has schemas that only the library checks.
func TestUnknownFieldIsNamed(t *testing.T) {
	const rare = `"propertyNames":{"maxLength":40},"properties":{"tags":{},` +
		`"a/b":{"$ref":"#/$defs/in"}},"$defs":{"in":{"properties":{"size":{}},"additionalProperties":false}}`
	const there = `there are "a/b", "tags"`
	for _, test := range []struct{ schema, value, want string }{
		{`{` + rare + `,"additionalProperties":false}`, `{"tgas":1}`,
			`at /tgas: unknown field; did you mean "tags"? ` + there},
		{`{` + rare + `,"unevaluatedProperties":false}`, `{"tgas":1}`,
			`at /tgas: unknown field; did you mean "tags"? ` + there},
		{`{` + rare + `,"additionalProperties":false}`, `{"a~b/":1}`,
			`at /a~0b~1: unknown field; ` + there},
		{`{` + rare + `,"additionalProperties":false}`, `{"a/b":{"sise":1}}`,
			`at /a~1b/sise: unknown field; did you mean "size"? there are "size"`},
		{`{"propertyNames":{"maxLength":40},"properties":{"a":{"$ref":"in"}},"$defs":{"in":{"$id":"in",` +
			`"properties":{"size":{}},"additionalProperties":false}}}`, `{"a":{"sise":1}}`,
			`at /a/sise: unknown field; did you mean "size"? there are "size"`},
		{`{"propertyNames":{"maxLength":40},"additionalProperties":false}`, `{"x":1}`,
			`at /x: unknown field`},
		{`{"propertyNames":{"maxLength":40},"properties":{"x":false}}`, `{"x":1}`,
			`at /x: there may be nothing here`},
	} {
		s, err := Compile(test.schema)
		if err != nil {
			t.Fatal(err)
		}
		v, err := pack(test.value)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Check(v); s.common || got == nil || got.Error() != test.want {
			t.Errorf("%s: common %t, have %v, want %s", test.schema, s.common, got, test.want)
		}
	}
}
