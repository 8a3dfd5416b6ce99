package main

import (
	"encoding/json"
	"testing"

	"github.com/wasmagent/wasmagent/plugins"
)

// Each kind of error is shown once, and every input is JSON.
func TestDemoCalls(t *testing.T) {
	shown := map[plugins.Kind]int{}
	for _, c := range demoCalls {
		shown[c.Fails]++
		if !json.Valid([]byte(c.Input)) {
			t.Errorf("%s: the input is not JSON: %s", c.Tool, c.Input)
		}
		if (c.Section == demoBad) != (c.Fails != 0) {
			t.Errorf("%s: under %q, and fails with %v", c.Tool, c.Section, c.Fails)
		}
	}
	for kind := range toolExits {
		if shown[kind] != 1 {
			t.Errorf("%v is shown %d times, want once", kind, shown[kind])
		}
	}
}

func TestShellQuote(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"a/b.c", "a/b.c"}, {"", "''"}, {"a b", "'a b'"}, {"it's", `'it'\''s'`}, {"$x", "'$x'"},
		{`{"a":1}`, `'{"a":1}'`}, {"run#1", "run#1"}, {"#1", "'#1'"},
	} {
		if got := shellQuote(c.in); got != c.want {
			t.Errorf("shellQuote(%q) = %s, want %s", c.in, got, c.want)
		}
	}
}
