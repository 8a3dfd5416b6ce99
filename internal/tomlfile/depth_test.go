package tomlfile

import (
	"strings"
	"testing"
)

func TestDepth(t *testing.T) {
	deep := strings.Repeat("a.", MaxDepth+1) + "a = 1"
	open := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for in, want := range map[string]int{
		strings.Repeat("a.", MaxDepth) + "a = 1": 0,
		deep:                                     1,
		"# x\n\n" + deep:                         3,
		"[" + deep:                               1,
		"a = " + open(MaxDepth):                  0,
		"a = " + open(MaxDepth+1):                1,
		"a = [\n" + open(MaxDepth) + "\n]":       2,
		"a = " + strings.Repeat("{ a = ", MaxDepth+1): 1,
		"# " + deep + "\na = 1":                       0,
		`a = "` + deep + `"`:                          0,
		`a = '` + deep + `'`:                          0,
		`a = "\"` + deep + `"`:                        0,
		`a = '\'` + "\n" + deep:                       2,
		`a = ""` + "\n" + deep:                        2,
		`a = """` + deep + "\n\"\"\"":                 0,
		`a = """x"""""` + "\n" + deep:                 2, // two of the five quotes are the string's
		`a = '''x''''` + "\n" + deep:                  2,
		`a = """\"""` + deep + `"""`:                  0,
		`a = "x` + "\n" + deep:                        0, // no TOML: the library stops
		`a = """` + deep:                              0,
		strings.Repeat("1.5,\n", 20):                  0,
		strings.Repeat(`"a".`, MaxDepth+1):            1,
	} {
		if have := TooDeep(in); have != want {
			t.Errorf("%q: line %d, want %d", in, have, want)
		}
	}
}
