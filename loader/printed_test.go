package loader

import (
	"slices"
	"strings"
	"testing"
)

func TestPrinted(t *testing.T) {
	full := strings.Repeat("x", maxPrinted)
	for _, c := range []struct {
		name   string
		writes []string // to stderr when they begin with "!"
		want   []string
	}{
		{"nothing", nil, nil},
		{"lines", []string{"a\nb\n"}, []string{"stdout a", "stdout b"}},
		{"a line in pieces", []string{"a", "b", "\nc"}, []string{"stdout ab", "stdout c"}},
		{"two streams", []string{"a", "!b", "c\n", "!d\n"}, []string{"stdout ac", "stderr bd"}},
		{"empty lines", []string{"\n\n a\n\n"}, []string{"stdout a"}},
		{"hostile", []string{"\x1b[31mred\u202e\xff\n"}, []string{"stdout red\uFFFD"}},
		{"the longest line", []string{full + "\n"}, []string{"stdout " + full}},
		{"one byte more", []string{full + "y\n"}, []string{"stdout " + full, "stdout y"}},
		{"no end", []string{full, full, "!z"},
			[]string{"stdout " + full, "stdout " + full, "stderr z"}},
	} {
		var got []string
		p := &printed{log: func(stream, line string) { got = append(got, stream+" "+line) }}
		for _, w := range c.writes {
			text, stderr := strings.CutPrefix(w, "!")
			p.write(stderr, []byte(text))
		}
		p.end()
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %.80q, want %.80q", c.name, got, c.want)
		}
	}
}
