package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/examples/plugins/internal/markdown"
)

// input gives arguments with the defaults that the schema tells.
func input(change func(*Input)) Input {
	in := Input{HTML: "<p>x", Links: markdown.LinksKeep, Images: markdown.ImagesAlt, MaxChars: 1000}
	change(&in)
	return in
}

func TestLimits(t *testing.T) {
	nested := func(tag string, n int) string { return strings.Repeat("<"+tag+">", n) + "x" }
	address := func(n int) string { return "https://example.org/" + strings.Repeat("a", n-20) }
	for _, test := range []struct {
		name     string
		at, past func(*Input)
	}{
		{"bytes", func(in *Input) { in.HTML = strings.Repeat("a", maxHTMLBytes) },
			func(in *Input) { in.HTML = strings.Repeat("a", maxHTMLBytes+1) }},
		{"characters", func(in *Input) { in.MaxChars = maxChars },
			func(in *Input) { in.MaxChars = maxChars + 1 }},
		{"fewest characters", func(in *Input) { in.MaxChars = 1 },
			func(in *Input) { in.MaxChars = 0 }},
		{"quotations", func(in *Input) { in.HTML = nested("blockquote", markdown.MaxNesting) },
			func(in *Input) { in.HTML = nested("blockquote", markdown.MaxNesting+1) }},
		{"elements", func(in *Input) { in.HTML = nested("div", 500) },
			func(in *Input) { in.HTML = nested("div", 600) }},
		{"names to drop", func(in *Input) { in.Drop = make([]string, maxDropped) },
			func(in *Input) { in.Drop = make([]string, maxDropped+1) }},
		{"address", func(in *Input) { in.BaseURL = address(maxURLBytes) },
			func(in *Input) { in.BaseURL = address(maxURLBytes + 1) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := run(nil, input(test.at)); err != nil {
				t.Errorf("at the limit: %v", err)
			}
			if _, err := run(nil, input(test.past)); err == nil {
				t.Error("past the limit: no error")
			}
		})
	}
}

func TestSpan(t *testing.T) {
	cells := func(span int) int {
		html := fmt.Sprintf("<table><tr><td colspan=%d>a<tr><td>b</table>", span)
		out, err := run(nil, input(func(in *Input) { in.HTML = html; in.MaxChars = maxChars }))
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(out.Markdown, "\n")
		return strings.Count(first, "|") - 1
	}
	for span, want := range map[int]int{1: 1, markdown.MaxSpan: markdown.MaxSpan,
		markdown.MaxSpan + 1: 1, -1: 1} {
		if got := cells(span); got != want {
			t.Errorf("a span of %d gives %d columns, want %d", span, got, want)
		}
	}
}

func TestOpenBrackets(t *testing.T) {
	for n, want := range map[int]string{markdown.MaxOpenBrackets: `1\_\_2`,
		markdown.MaxOpenBrackets + 1: "1__2"} {
		out, err := run(nil, input(func(in *Input) {
			in.HTML = strings.Repeat("[<br>", n) + "<p>1__2 [a] [b]"
			in.MaxChars = maxChars
		}))
		if err != nil || !strings.Contains(out.Markdown, want) {
			t.Errorf("%d brackets: no %q, %v", n, want, err)
		}
	}
}

func TestCutChars(t *testing.T) {
	for _, test := range []struct {
		text  string
		limit int
		want  string
		cut   bool
	}{
		{"", 1, "", false},
		{"äöü", 3, "äöü", false},
		{"äöü!", 3, "äöü", true},
		{"äöü", 1, "ä", true},
		{"one two three\nfour", 15, "one two three", true},
		{"one\ntwo three four", 12, "one\ntwo thre", true},
	} {
		if got, cut := markdown.Cut(test.text, test.limit); got != test.want || cut != test.cut {
			t.Errorf("markdown.Cut(%q, %d) is %q, %t", test.text, test.limit, got, cut)
		}
	}
}

// BenchmarkHostilePage converts pages of the largest size that take long.
func BenchmarkHostilePage(b *testing.B) {
	full := func(s string) string { return strings.Repeat(s, maxHTMLBytes/len(s)-100) }
	for name, html := range map[string]string{
		"nested": strings.Repeat("<blockquote>", markdown.MaxNesting) + full("some words<br>"),
		"brackets": strings.Repeat("[", markdown.MaxOpenBrackets) +
			full("some text, ")[markdown.MaxOpenBrackets:],
		"marks": full("*a _b [c ![d "),
		"rows":  "<table>" + full("<tr><td>x<td>y"),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := run(nil, input(func(in *Input) { in.HTML = html })); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
