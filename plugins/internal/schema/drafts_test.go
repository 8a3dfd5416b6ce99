package schema

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestDrafts: a schema that declares its draft means what it means there, and one that declares
// none is of today, in whatever words.
func TestDrafts(t *testing.T) {
	draft := func(name, rest string) string {
		return fmt.Sprintf(`{"$schema":"http://json-schema.org/%s/schema#",%s}`, name, rest)
	}
	const (
		draft2019 = `{"$schema":"https://json-schema.org/draft/2019-09/schema",`
		siblings  = `"$ref":"#/definitions/n","minimum":5,"definitions":{"n":{"type":"number"}}`
	)
	tests := []struct {
		schema, value string
		ok            bool
	}{
		{draft("draft-03", `"minimum":5,"exclusiveMinimum":true`), `5`, false},
		{draft("draft-03", `"properties":{"a":{"required":true}}`), `{}`, false},
		{draft("draft-03", `"disallow":["string",{"minimum":5}]`), `6`, false},
		{draft("draft-03", `"disallow":["string",{"minimum":5}]`), `4`, true},
		{draft("draft-03", `"type":["string",{"maximum":5}]`), `6`, false},
		{draft("draft-04", `"minimum":5,"exclusiveMinimum":true`), `5`, false},
		{draft("draft-04", `"const":5`), `6`, true}, // no such word yet
		{draft("draft-04", `"divisibleBy":5`), `6`, true},
		{draft("draft-04", siblings), `4`, true}, // beside a $ref nothing counts
		{draft("draft-04", `"format":"date"`), `"x"`, false},
		{draft("draft-06", `"exclusiveMinimum":5`), `5`, false},
		{draft("draft-06", `"if":{},"then":false`), `5`, true},
		{draft("draft-07", `"if":{},"then":false`), `5`, false},
		{draft("draft-07", siblings), `4`, true},
		{draft("draft-07", `"format":"date"`), `"x"`, false},
		{draft("draft-07", `"items":[{"type":"null"}],"additionalItems":false`), `[null,1]`, false},
		{draft("draft-07", `"type":"string","nullable":true`), `null`, true},
		{draft("draft-07", `"minimum":5,"exclusiveMinimum":true`), `5`, false},
		{draft2019 + `"items":[{"type":"null"}],"additionalItems":false}`, `[null,1]`, false},
		{draft2019 + siblings + `}`, `4`, false},
		{draft2019 + `"format":"date"}`, `"x"`, true},
		{draft2019 + `"dependentRequired":{"a":["b"]}}`, `{"a":1}`, false},
		{`{` + siblings + `}`, `4`, false},
		{`{"format":"date"}`, `"x"`, true},
		{`{"divisibleBy":5}`, `6`, false},
		{`{"dependencies":{"a":"b"}}`, `{"a":1}`, false},
		{`{"properties":{"a":{"items":[{"type":"null"}]},"b":{"$ref":"#/properties/a/items/0"}}}`,
			`{"b":1}`, false},
		{`{"enum":["a"],"nullable":true}`, `null`, true},
		{`{"$ref":"#/$defs/a","nullable":true,"$defs":{"a":{"type":"string"}}}`, `null`, true},
		{`{"$ref":"#/$defs/a","nullable":true,"$defs":{"a":{"type":"string"}}}`, `1`, false},
		{`{"oneOf":[{"type":["string","null"]},{"type":"number"}],"nullable":true}`, `null`, true},
		{`{"oneOf":[{},{"type":"number"}],"nullable":true}`, `null`, true},
	}
	for _, test := range tests {
		if err := checkText(t, mustCompile(t, test.schema), test.value); (err == nil) != test.ok {
			t.Errorf("%s with %s: %v", test.schema, test.value, err)
		}
	}
}

// TestNothingIsLost: a schema in draft 4's words that declares none, and so is turned into today's,
// allows what it does where it declares draft 4.
func TestNothingIsLost(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	changed := 0
	for range rounds(600) {
		text := draft4Schema(rng, 3)
		then, err := build(`{"$schema":"http://json-schema.org/draft-04/schema#",` + text[1:])
		if err != nil {
			continue // it refers to itself without an end
		}
		today, err := Compile(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if today.Text != text {
			changed++
		}
		for range 10 {
			value := randomValue(rng, 3)
			a, b := checkText(t, today, value), checkText(t, then, value)
			if (a == nil) != (b == nil) {
				t.Errorf("%s with %s:\n%s says %v\ndraft 4 says %v", text, value, today.Text, a, b)
			}
		}
	}
	if changed < rounds(200) {
		t.Errorf("only %d schemas were changed", changed)
	}
}

// draft4Schema is a schema whose definitions are referred to, also by way of what moves.
func draft4Schema(rng *rand.Rand, depth int) string {
	tuple := fmt.Sprintf(`{"items":[%s,%s],"additionalItems":%s}`, draft4Part(rng, 1),
		draft4Part(rng, 1), draft4Part(rng, 1))
	return strings.TrimSuffix(draft4Part(rng, depth), "}") + `,"definitions":{"t":` + tuple + `}}`
}

func draft4Part(rng *rand.Rand, depth int) string {
	if depth == 0 {
		return pick(rng, `{"type":"integer"}`, `{"maxLength":1}`, `{"minimum":1,"exclusiveMinimum":true}`,
			`{"$ref":"#/definitions/t"}`, `{"$ref":"#/definitions/t/items/1"}`,
			`{"$ref":"#/definitions/t/additionalItems"}`)
	}
	sub := func() string { return draft4Part(rng, depth-1) }
	keywords := []func() string{
		func() string { return `"type":` + pick(rng, `"object"`, `"array"`, `["string","null"]`) },
		func() string { return `"minimum":1,"exclusiveMinimum":` + pick(rng, "true", "false") },
		func() string { return `"maximum":1.5,"exclusiveMaximum":` + pick(rng, "true", "false") },
		func() string { return `"items":[` + sub() + `,` + sub() + `]` },
		func() string { return `"items":[` + sub() + `],"additionalItems":` + sub() },
		func() string { return `"items":[` + sub() + `],"additionalItems":false` },
		func() string { return `"items":` + sub() },
		func() string { return `"required":["a"]` },
		func() string { return `"properties":{"a":` + sub() + `,"c":` + sub() + `}` },
		func() string { return `"dependencies":{"a":["b"],"c":` + sub() + `}` },
		func() string { return `"additionalProperties":` + sub() },
		func() string { return `"anyOf":[` + sub() + `,` + sub() + `]` },
		func() string { return `"oneOf":[` + sub() + `,` + sub() + `]` },
		func() string { return `"not":` + sub() },
	}
	seen := map[string]bool{}
	var parts []string
	for _, i := range rng.Perm(len(keywords))[:1+rng.IntN(3)] {
		part := keywords[i]()
		word, _, _ := strings.Cut(part, ":")
		if !seen[word] {
			parts = append(parts, part)
		}
		seen[word] = true
	}
	return "{" + strings.Join(parts, ",") + "}"
}
