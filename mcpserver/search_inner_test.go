package mcpserver

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
)

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "",
		"weather_get":              "weather get",
		"  Notes, NOTES; glass a2": "note note glass a2",
		"Straßen-Übersicht":        "straßen übersicht",
		"as is 天気":                 "as is 天気",
		"\xff\x00":                 "",
	} {
		if have := strings.Join(wordsOf(text), " "); have != want {
			t.Errorf("%q: have %q", text, have)
		}
	}
}

// TestSearchIsStable pins that equal tools come by name, and that a tool's own name comes first.
func TestSearchIsStable(t *testing.T) {
	var specs []abi.ToolSpec
	for i := range 30 {
		specs = append(specs, abi.ToolSpec{Name: fmt.Sprintf("t%02d", i), Description: "the same words"})
	}
	specs = append(specs, abi.ToolSpec{Name: "words", Description: strings.Repeat("and more ", 100)})
	x := newIndex(specs)
	for range 10 {
		found := x.search("words")
		if len(found) != 31 || found[0].Name != "words" || !slices.IsSortedFunc(found[1:],
			func(a, b abi.ToolSpec) int { return strings.Compare(a.Name, b.Name) }) {
			t.Fatalf("have %v", found)
		}
	}
	if found := newIndex(nil).search("a"); len(found) != 0 {
		t.Errorf("found %v in nothing", found)
	}
}

func BenchmarkSearch(b *testing.B) {
	var specs []abi.ToolSpec
	for i := range 1000 {
		specs = append(specs, abi.ToolSpec{Name: fmt.Sprintf("tool_%d", i),
			Description: fmt.Sprintf("Reads the table number %d and writes a report of its rows.", i)})
	}
	b.Run("index", func(b *testing.B) {
		for b.Loop() {
			newIndex(specs)
		}
	})
	x := newIndex(specs)
	b.Run("search", func(b *testing.B) {
		for b.Loop() {
			x.search("report of table 512")
		}
	})
}
