package loader

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseArgument(t *testing.T) {
	text := func(s string) ArgumentPart { return ArgumentPart{Text: s} }
	prop := func(s string) ArgumentPart { return ArgumentPart{Property: s} }
	long := strings.Repeat("a", 64)
	for in, want := range map[string][]ArgumentPart{
		"":                 nil,
		"-c":               {text("-c")},
		"{code}":           {prop("code")},
		"--out={a}-{b_2}.": {text("--out="), prop("a"), text("-"), prop("b_2"), text(".")},
		"{{}}":             {text("{}")},
		"{{a}}":            {text("{a}")},
		"{{{a}}}":          {text("{"), prop("a"), text("}")},
		"{{print $1}}":     {text("{print $1}")},
		"{" + long + "}":   {prop(long)},
	} {
		if have, err := ParseArgument(in); err != nil || !reflect.DeepEqual(have, want) {
			t.Errorf("%q: %q, %v", in, have, err)
		}
	}
	for in, want := range map[string]string{
		"{":               `at "{"`,
		"a}":              `at "}"`,
		"{}":              "belongs to no {property}",
		"{a b}":           `at "{a b}"`,
		"{1}":             "belongs to no",
		"{a":              "belongs to no",
		"{" + long + "a}": "…",
		"a\x00":           "zero byte",
	} {
		if have, err := ParseArgument(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v", in, have, err)
		}
	}
}
