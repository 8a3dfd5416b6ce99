package reduce_test

import (
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop/reduce"
)

// TestStub pins what a stub looks like, and what is none.
func TestStub(t *testing.T) {
	const line = "[reduced output r0003-5e1f: 19456 of 20480 bytes left out]"
	want := reduce.Stub{Kind: reduce.Output, ID: "r0003-5e1f",
		Summary: "19456 of 20480 bytes left out"}
	if have, ok := reduce.Parse(line); !ok || have != want || have.String() != line {
		t.Errorf("have %+v, %v", have, ok)
	}
	longest := strings.Repeat("a", reduce.MaxSummary)
	for _, line := range []string{"[reduced turns r9999-ffff:  ]",
		"[reduced input r0001-0000: a[b: c]",
		"[reduced duplicate r0001-0000: " + longest + "]"} {
		if s, ok := reduce.Parse(line); !ok || s.String() != line {
			t.Errorf("%q: %+v, %v", line, s, ok)
		}
	}
	for _, line := range []string{"", "a", line + "\n", " " + line, line[1:], line + line,
		line[:len(line)-1],
		"[reduced output r003-5e1f: x]", "[reduced output r0003-5E1F: x]",
		"[reduced output r0003-5e1f: ]",
		"[reduced output r0003-5e1f: a]b]", "[reduced output r0003-5e1f: a\nb]",
		"[reduced output r0003-5e1f: é]", "[reduced thoughts r0003-5e1f: x]",
		"[reduced output r0003-5e1f: " + longest + "a]"} {
		if s, ok := reduce.Parse(line); ok {
			t.Errorf("%q is taken for %+v", line, s)
		}
	}
}

// FuzzStub reads lines. What is a stub has one form only.
func FuzzStub(f *testing.F) {
	f.Add("[reduced output r0003-5e1f: 19456 of 20480 bytes left out]")
	f.Add("[reduced turns r0001-0000: 3 messages left out with 2 calls: a, b]")
	f.Fuzz(func(t *testing.T, line string) {
		s, ok := reduce.Parse(line)
		if ok && s.String() != line {
			t.Errorf("%q is read as %+v", line, s)
		}
		if again, ok2 := reduce.Parse(s.String()); ok && (!ok2 || again != s) {
			t.Errorf("%+v is read as %+v", s, again)
		}
		if ok && strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("%q is not a line of ASCII", line)
		}
	})
}
