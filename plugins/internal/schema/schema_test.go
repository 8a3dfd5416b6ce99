package schema

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/transcode"
)

func mustCompile(t *testing.T, text string) *Schema {
	t.Helper()
	s, err := Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// pack turns JSON text into what is checked.
func pack(text string) (abi.Raw, error) { return transcode.AppendMsgpack(nil, []byte(text)) }

func checkText(t *testing.T, s *Schema, text string) error {
	t.Helper()
	v, err := pack(text)
	if err != nil {
		t.Fatal(err)
	}
	return s.Check(v)
}

// asRare is the schema by the library's road.
func asRare(t *testing.T, text string) *rareSchema {
	t.Helper()
	s, err := newRareSchema(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSchemaTexts(t *testing.T) {
	tests := []struct{ name, schema, value, text string }{
		{"types", `{"type":["string","null"]}`, `1`,
			"at the top: want a string or null, have a number"},
		{"never", `{"properties":{"a":false}}`, `{"a":1}`, "at /a: there may be nothing here"},
		{"enum", `{"enum":["a",1,null]}`, `"b"`, `at the top: want one of ["a",1,null]`},
		{"const", `{"const":"a"}`, `"b"`, `at the top: want "a"`},
		{"minimum", `{"minimum":1}`, `0.5`, "at the top: want at least 1, have 0.5"},
		{"maximum", `{"maximum":0.1}`, `0.2`, "at the top: want at most 0.1, have 0.2"},
		{"above", `{"exclusiveMinimum":1}`, `1`, "at the top: want more than 1, have 1"},
		{"below", `{"exclusiveMaximum":1}`, `1.0`, "at the top: want less than 1, have 1.0"},
		{"multiple", `{"multipleOf":3}`, `4`, "at the top: want a multiple of 3, have 4"},
		{"short", `{"minLength":2}`, `"é"`, "at the top: want at least 2 characters, have 1"},
		{"long", `{"maxLength":1}`, `"ab"`, "at the top: want at most 1 character, have 2"},
		{"pattern", `{"pattern":"^a"}`, `"b"`, `at the top: want text that matches "^a"`},
		{"few fields", `{"minProperties":1}`, `{}`, "at the top: want at least 1 field, have 0"},
		{"few values", `{"minItems":1}`, `[]`, "at the top: want at least 1 value, have 0"},
		{"unknown field", `{"properties":{"b":{},"a\u202e":{}},"additionalProperties":false}`, `{"c":1}`,
			`at /c: unknown field; there are "a", "b"`},
		{"unknown where none is known", `{"additionalProperties":false}`, `{"c":1}`, "at /c: unknown field"},
		{"not", `{"not":{"type":"null"}}`, `null`,
			"at the top: it has a form that is not allowed here"},
		{"any of types", `{"anyOf":[{"type":"string"},{"type":"null"}]}`, `1`,
			"at the top: want a string or null, have a number"},
		{"any, one near", `{"anyOf":[{"type":"object","required":["a"]},{"type":"null"}]}`, `{}`,
			`at the top: the field "a" is missing`},
		{"any, two near", `{"anyOf":[{"minimum":2},{"maximum":0}]}`, `1`,
			"at the top: it has none of the 2 forms it may have"},
		{"one of two", `{"oneOf":[{"minimum":0},{"maximum":2},{"const":9}]}`, `1`,
			"at the top: it has 2 of the 3 forms it may have one of"},
		{"if then", `{"if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":1}`,
			`at the top: the field "b" is missing`},
		{"pattern properties", `{"patternProperties":{"^n":{"type":"number"}}}`, `{"n1":"a"}`,
			"at /n1: want a number, have a string"},
		{"prefix", `{"prefixItems":[{},{"type":"null"}],"items":{"type":"number"}}`, `[1,2,3]`,
			"at /1: want null, have a number"},
		{"rare", `{"uniqueItems":true,"items":{"type":"number"}}`, `[1,"a",1]`,
			"at /1: want a number, have a string; at the top: items at 0 and 2 are equal"},
		{"rare field", `{"minItems":1,"dependentRequired":{"a":["b"]},"additionalProperties":false,` +
			`"required":["c"]}`, `{"d/e":1}`,
			`at /d~1e: unknown field; at the top: the field "c" is missing`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := mustCompile(t, test.schema)
			if rare := !s.common; rare != strings.HasPrefix(test.name, "rare") {
				t.Errorf("by the rare road: %v", rare)
			}
			err := checkText(t, s, test.value)
			if err == nil {
				t.Fatal("the value passes")
			}
			parts := strings.Split(err.Error(), "; ")
			slices.Sort(parts)
			if got := strings.Join(parts, "; "); got != test.text {
				t.Errorf("have %s,\nwant %s", got, test.text)
			}
			v, err := pack(test.value)
			if err != nil {
				t.Fatal(err)
			}
			if asRare(t, test.schema).check(v) == nil {
				t.Error("the library lets it pass")
			}
		})
	}
}

// TestNumbersAreExact: a limit holds for the number that was written, not for its neighbours.
func TestNumbersAreExact(t *testing.T) {
	tests := []struct {
		schema, value string
		ok            bool
	}{
		{`{"maximum":9007199254740992}`, `9007199254740993`, false},
		{`{"maximum":9007199254740993}`, `9007199254740993`, true},
		{`{"maximum":18446744073709551614}`, `18446744073709551615`, false},
		{`{"maximum":18446744073709551615}`, `18446744073709551615`, true},
		{`{"minimum":-9223372036854775808}`, `-9223372036854775808`, true},
		{`{"exclusiveMinimum":-9223372036854775808}`, `-9223372036854775808`, false},
		{`{"maximum":0.1}`, `0.1`, true},
		{`{"exclusiveMaximum":0.1}`, `0.1`, false},
		{`{"maximum":0.1}`, `0.10000000000000002`, false},
		{`{"multipleOf":0.01}`, `19.99`, true},
		{`{"multipleOf":0.01}`, `19.999`, false},
		{`{"multipleOf":0.5}`, `3`, true},
		{`{"const":1}`, `1.0`, true},
		{`{"enum":[1.5,2.0]}`, `2`, true},
		{`{"enum":[9007199254740993]}`, `9007199254740992`, false},
		{`{"type":"integer"}`, `1.0`, true},
		{`{"type":"integer"}`, `1e300`, true},
		{`{"minimum":1e308}`, `1e307`, false},
	}
	for _, test := range tests {
		s := mustCompile(t, test.schema)
		if !s.common {
			t.Errorf("%s goes by the rare road", test.schema)
		}
		if err := checkText(t, s, test.value); (err == nil) != test.ok {
			t.Errorf("%s with %s: %v", test.schema, test.value, err)
		}
	}
}

func TestProblemsAreCounted(t *testing.T) {
	for _, schema := range []string{
		`{"items":{"type":"string"}}`,
		`{"items":{"type":"string"},"uniqueItems":true}`,
	} {
		s := mustCompile(t, schema)
		list := func(n int) string {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, ",%d", i)
			}
			return "[" + b.String()[1:] + "]"
		}
		for n, more := range map[int]int{MaxProblems: 0, MaxProblems + 1: 1, 50: 50 - MaxProblems} {
			err, ok := checkText(t, s, list(n)).(*Invalid)
			if !ok || len(err.Problems) != MaxProblems || err.More != more || err.Problems[0].Pointer != "/0" {
				t.Errorf("%s: %d problems: have %+v", schema, n, err)
			}
		}
	}
}

// TestExplosiveSchemas has schemas whose plain evaluation takes time exponential in the value's
// depth or in the schema's size. They come to an end.
func TestExplosiveSchemas(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds, by its nature")
	}
	nested := strings.Repeat(`{"a":`, 60) + `"leaf"` + strings.Repeat("}", 60)
	var chain strings.Builder
	for i := range 60 {
		fmt.Fprintf(&chain, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i,
			i+1, i+1)
	}
	numbers := strings.Repeat("1.25,", 9_999) + "1.25"
	texts := `["` + strings.Repeat("x", 2<<20) + `"]`
	values := `{"a":[` + strings.Repeat("0,", 900_000) + `0]}`
	many := func(sub string) string { return `{"allOf":[` + strings.Repeat(sub+",", 999) + sub + `]}` }
	long := `"` + strings.Repeat("é", 1<<20) + `"`
	const twice = `"properties":{"a":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}`
	defs := `"$defs":{` + chain.String() + `"d60":{"type":"object"}},"$ref":"#/$defs/d0"`
	for name, test := range map[string]struct{ schema, value string }{
		"refers to itself twice": {`{` + twice + `}`, nested},
		"any of itself": {`{"properties":{"a":{"anyOf":[` +
			`{"allOf":[{"$ref":"#"},{"required":["b"]}]},` +
			`{"allOf":[{"$ref":"#"},{"required":["c"]}]}]}}}`, nested},
		"chain of definitions": {`{` + defs + `}`, `{}`},
		"enum of numbers":      {`{"items":{"enum":[` + numbers + `]}}`, `[` + numbers + `]`},
		"pattern":              {`{"items":{"pattern":"(x+x+)+y.{900}"}}`, texts},
		"much passed over":     {many("true"), values},
		"much refused":         {many(`{"type":"string"}`), values},
		"much not allowed":     {many(`{"additionalProperties":false}`), values},
		"characters counted":   {many(`{"minLength":1}`), long},
		"texts of an enum":     {many(`{"enum":["x"]}`), long},
		"names looked up": {many(`{"properties":{"a":{}}}`),
			`{` + long + `:1}`},
		"multiples": {`{"items":` + many(`{"multipleOf":1.5e-300}`) + `}`,
			`[` + strings.Repeat("1.5e300,", 999) + `1.5e300]`},
		"rare, characters counted": {`{"uniqueItems":true,` + many(`{"minLength":1}`)[1:], long},
		"rare, value is a pattern": {`{"$schema":"http://json-schema.org/draft-07/schema#",` +
			`"items":{"format":"regex"}}`, `[` + strings.Repeat(`"x{1000}x{999}",`, 999) + `"x"]`},
		"rare, twice": {`{"propertyNames":{"maxLength":5},` + twice + `}`, nested},
		"rare, chain": {`{"propertyNames":{},` + defs + `}`, `{}`},
		"rare, enum": {`{"uniqueItems":true,"items":{"enum":[` + numbers + `]}}`,
			`[` + numbers + `]`},
		"rare, pattern": {`{"uniqueItems":true,"items":{"pattern":"(x+x+)+y.{900}"}}`, texts},
	} {
		t.Run(name, func(t *testing.T) {
			err := checkText(t, mustCompile(t, test.schema), test.value)
			if err == nil || !strings.Contains(err.Error(), "too many steps") {
				t.Errorf("have %v", err)
			}
		})
	}
}

func TestEndlessSchema(t *testing.T) {
	for _, text := range []string{
		`{"$ref":"#"}`,
		`{"allOf":[{"anyOf":[{"$ref":"#"}]}]}`,
		`{"properties":{"a":{"not":{"$ref":"#/properties/a"}}}}`,
		`{"uniqueItems":true,"if":{"$ref":"#"}}`,
		`{"dependentSchemas":{"a":{"$ref":"#"}}}`,
		`{"$dynamicAnchor":"a","allOf":[{"$dynamicRef":"#a"}]}`,
		`{"propertyNames":{"not":{"$ref":"#/propertyNames"}}}`,
	} {
		if _, err := Compile(text); err != errEndless {
			t.Errorf("%s: have %v", text, err)
		}
	}
}

func TestSchemaChain(t *testing.T) {
	for _, rare := range []string{"", `"uniqueItems":true,`} {
		chain := func(n int) string {
			var b strings.Builder
			for i := 1; i < n-1; i++ {
				fmt.Fprintf(&b, `"d%d":{"$ref":"#/$defs/d%d"},`, i, i+1)
			}
			return fmt.Sprintf(`{%s"$ref":"#/$defs/d1","$defs":{%s"d%d":{}}}`, rare, b.String(), n-1)
		}
		if _, err := Compile(chain(maxSchemaChain)); err != nil {
			t.Errorf("at the limit: %v", err)
		}
		if _, err := Compile(chain(maxSchemaChain + 1)); err != errLongChain {
			t.Errorf("past the limit: have %v", err)
		}
	}
}

func TestPatternCode(t *testing.T) {
	pattern := func(n int) string { // of n thousand instructions
		return `{"pattern":"` + strings.Repeat("x{1000}", n) + `"}`
	}
	if _, err := Compile(pattern(maxPatternCode / 1000)); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	_, err := Compile(pattern(maxPatternCode/1000 + 1))
	if err == nil || !strings.Contains(err.Error(), "more than 32768 instructions") {
		t.Errorf("past the limit: have %v", err)
	}
	_, err = Compile(`{"pattern":"("}`)
	if want := `at /pattern: pattern "(": error parsing regexp: missing closing ): ` + "`(`"; err == nil ||
		err.Error() != want {
		t.Errorf("no pattern: have %v, want %s", err, want)
	}
}

// TestFormatRegexDoesNotWearOut has values that are patterns, each another one. They are no part of
// the schema and so count against none of its limits.
func TestFormatRegexDoesNotWearOut(t *testing.T) {
	s := asRare(t, `{"$schema":"http://json-schema.org/draft-07/schema#","format":"regex"}`)
	for i := range 100 {
		v, err := pack(fmt.Sprintf(`"x{900}%d"`, i))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.check(v); err != nil {
			t.Fatalf("value %d: %v", i, err)
		}
	}
}

func TestRareNodes(t *testing.T) {
	s := mustCompile(t, `{"contains":{"type":"number"}}`)
	list := func(n int) string { return "[" + strings.Repeat("1,", n-2) + "1]" }
	if err := checkText(t, s, list(maxRareNodes)); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	if err := checkText(t, s, list(maxRareNodes+1)); err == nil {
		t.Error("past the limit: no error")
	}
}

// TestRoadsAgree holds random schemas and values against both roads.
func TestRoadsAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	common := 0
	for range 800 {
		text := randomSchema(rng, 3)
		s, err := Compile(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if s.Text != text {
			t.Errorf("%s has become %s", text, s.Text)
		}
		if !s.common {
			continue
		}
		common++
		rare := asRare(t, text)
		for range 10 {
			value := randomValue(rng, 3)
			v, err := pack(value)
			if err != nil {
				t.Fatal(err)
			}
			a, b := s.Check(v), rare.check(v)
			if (a == nil) != (b == nil) {
				t.Errorf("%s with %s:\ncommon: %v\nlibrary: %v", text, value, a, b)
			}
		}
	}
	if common < 400 {
		t.Errorf("only %d schemas by the common road", common)
	}
}

func pick(rng *rand.Rand, list ...string) string { return list[rng.IntN(len(list))] }

func randomSchema(rng *rand.Rand, depth int) string {
	sub := func() string {
		if depth == 0 {
			return pick(rng, "true", "false", `{"type":"integer"}`, `{"maxLength":1}`, `{"minimum":1}`)
		}
		return randomSchema(rng, depth-1)
	}
	keywords := []func() string{
		func() string {
			return `"type":` + pick(rng, `"object"`, `"array"`, `"integer"`, `["string","null"]`)
		},
		func() string { return `"enum":` + pick(rng, `[1,"a",null]`, `[1.0,2]`, `[true,"b"]`) },
		func() string { return `"const":` + pick(rng, `1`, `"a"`, `false`) },
		func() string { return `"minimum":` + pick(rng, `0`, `1.5`, `2`) },
		func() string { return `"exclusiveMaximum":` + pick(rng, `1`, `2.0`, `0.1`) },
		func() string { return `"multipleOf":` + pick(rng, `2`, `0.5`, `0.1`) },
		func() string { return `"minLength":` + pick(rng, `1`, `2`) },
		func() string { return `"pattern":` + pick(rng, `"^a"`, `"b$"`) },
		func() string { return `"required":` + pick(rng, `["a"]`, `["b","a"]`, `[]`) },
		func() string { return `"properties":{"a":` + sub() + `,"c":` + sub() + `}` },
		func() string { return `"patternProperties":{"^a":` + sub() + `,"b":` + sub() + `}` },
		func() string { return `"additionalProperties":` + sub() },
		func() string { return `"maxProperties":` + pick(rng, `1`, `2`) },
		func() string { return `"items":` + sub() },
		func() string { return `"prefixItems":[` + sub() + `,` + sub() + `]` },
		func() string { return `"minItems":` + pick(rng, `1`, `2`) },
		func() string { return `"allOf":[` + sub() + `,` + sub() + `]` },
		func() string { return `"anyOf":[` + sub() + `,` + sub() + `]` },
		func() string { return `"oneOf":[` + sub() + `,` + sub() + `]` },
		func() string { return `"not":` + sub() },
		func() string { return `"if":` + sub() + `,"then":` + sub() + `,"else":` + sub() },
	}
	var parts []string
	for _, i := range rng.Perm(len(keywords))[:1+rng.IntN(3)] {
		parts = append(parts, keywords[i]())
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func randomValue(rng *rand.Rand, depth int) string {
	if depth > 0 {
		switch rng.IntN(4) {
		case 0:
			var fields []string
			for _, name := range []string{"a", "b", "ab", "c"} {
				if rng.IntN(2) == 0 {
					fields = append(fields, `"`+name+`":`+randomValue(rng, depth-1))
				}
			}
			return "{" + strings.Join(fields, ",") + "}"
		case 1:
			items := make([]string, rng.IntN(4))
			for i := range items {
				items[i] = randomValue(rng, depth-1)
			}
			return "[" + strings.Join(items, ",") + "]"
		}
	}
	return pick(rng, "null", "true", "false", "0", "1", "2", "-3", "1.0", "0.1", "1.5", `""`, `"a"`,
		`"ab"`, `"é"`)
}

// FuzzSchema holds any schema and any value against both roads: neither panics, and they agree.
func FuzzSchema(f *testing.F) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		f.Add(randomSchema(rng, 2), randomValue(rng, 2))
	}
	f.Add(`{"$defs":{"a":{"items":{"$ref":"#/$defs/a"}}},"$ref":"#/$defs/a"}`, `[[],[[]]]`)
	f.Add(`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{},{"const":1}]}`, `[1,1]`)
	f.Fuzz(func(t *testing.T, text, value string) {
		s, err := Compile(text)
		if err != nil {
			return
		}
		v, err := pack(value)
		if err != nil {
			return
		}
		a := s.Check(v)
		if !s.common {
			return
		}
		rare, err := newRareSchema(text)
		if err != nil {
			t.Fatal(err)
		}
		b := rare.check(v)
		for _, err := range []error{a, b} {
			if err != nil && strings.Contains(err.Error(), "too many") {
				return
			}
		}
		if (a == nil) != (b == nil) {
			t.Errorf("%s with %s:\ncommon: %v\nlibrary: %v", text, value, a, b)
		}
	})
}
