package mcpserver

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func TestPlainSchema(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"as it is", `{"z":1, "a":2e2}`, `{"z":1, "a":2e2}`},
		{"header word", `{"properties":{"a":{"type":"string","x-mcp-header":"Host"}}}`,
			`{"properties":{"a":{"type":"string"}}}`},
		{"spelt with escapes", `{"x\u002dmcp-header":"Host","type":"object"}`, `{"type":"object"}`},
		{"hidden in escapes", `{"description":"a\u202eb <c>","maximum":1.50}`,
			`{"description":"ab <c>","maximum":1.50}`},
		{"hidden in characters", "{\"title\":\"a\u200bb\"}", `{"title":"ab"}`},
		{"values stay", `{"enum":["a\u200bb"],"default":{"description":"\u200b"}}`,
			"{\"default\":{\"description\":\"\u200b\"},\"enum\":[\"a\u200bb\"]}"},
		{"in lists", `{"anyOf":[{"description":"\u200b","x-mcp-header":1}]}`,
			`{"anyOf":[{"description":""}]}`},
	} {
		if have := string(plainSchema(tt.text)); have != tt.want {
			t.Errorf("%s: have %s", tt.name, have)
		}
	}
}

// TestOutputSchema holds what clients are told of a result against what they get, with a library
// that knows all drafts.
func TestOutputSchema(t *testing.T) {
	list := `{"$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}},` +
		`"additionalProperties":false}},"$ref":"#/$defs/n"}`
	for _, tt := range []struct {
		name, text string
		wrapped    bool
		good, bad  string // values of the tool
	}{
		{"object", `{"type":"object","required":["a"]}`, false, `{"a":1}`, `{}`},
		{"string", `{"type":"string"}`, true, `"a"`, `1`},
		{"either", `{"type":["object","null"]}`, true, `null`, `1`},
		{"no type", `{"minimum":3}`, true, `4`, `2`},
		{"true", `true`, true, `4`, ``},
		{"false", `false`, true, ``, `4`},
		{"references", list, true, `{"next":{"next":{}}}`, `{"next":{"last":1}}`},
		{"a reference and more", `{"$defs":{"n":{"type":"integer"}},"$ref":"#/$defs/n","allOf":` +
			`[{"minimum":3}],"maximum":5}`, true, `4`, `2`},
		{"the whole", `{"type":["array","integer"],"items":{"$ref":"#"}}`, true, `[1,[2]]`, `["a"]`},
		{"with an identity", `{"$id":"urn:x:y","type":"array","items":{"$ref":"#/$defs/i"},` +
			`"$defs":{"i":{"type":"integer"}}}`, true, `[1]`, `["a"]`},
		{"an old draft", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"array",` +
			`"items":{"$ref":"#/definitions/i"},"definitions":{"i":{"type":"integer"}}}`, true, `[1]`, ``},
		{"an old draft of one piece", `{"$schema":"http://json-schema.org/draft-07/schema#",` +
			`"type":"array"}`, true, `[1]`, `1`},
		{"this draft", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"array"}`,
			true, `[1]`, `1`},
		{"a reference spelt with escapes", `{"type":"array","items":{"\u0024ref":"#"}}`, true, `[[]]`, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := promiseOf(tt.text)
			if p.wrapped != tt.wrapped {
				t.Fatalf("wrapped: %v", p.wrapped)
			}
			compiled := compileWhole(t, p.schema)
			for _, value := range []string{tt.good, tt.bad} {
				if value == "" {
					continue
				}
				v, err := decode(string(p.structure(json.RawMessage(value))))
				if err != nil {
					t.Fatal(err)
				}
				if err := compiled.Validate(v); (err == nil) != (value == tt.good) {
					t.Errorf("%s: %v", value, err)
				}
			}
		})
	}
}

func compileWhole(t *testing.T, schema json.RawMessage) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(schema)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("urn:test:whole", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("urn:test:whole")
	if err != nil {
		t.Fatalf("%v in %s", err, schema)
	}
	return compiled
}

// TestStructure pins what the structured content for a value is.
func TestStructure(t *testing.T) {
	for _, tt := range []struct{ schema, value, want string }{
		{``, `{}`, ``},
		{`{"type":"object"}`, ` {"a":1}`, ` {"a":1}`},
		{`{"type":"object"}`, ``, ``},
		{`{}`, `[1]`, `{"result":[1]}`},
	} {
		var value json.RawMessage
		if tt.value != "" {
			value = json.RawMessage(tt.value)
		}
		if have := string(promiseOf(tt.schema).structure(value)); have != tt.want {
			t.Errorf("%s %s: have %s", tt.schema, tt.value, have)
		}
	}
}
