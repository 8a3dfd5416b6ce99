package main

import (
	"slices"
	"testing"
)

func TestNearNames(t *testing.T) {
	names := []string{"jq", "html_to_markdown", "date_add", "date_diff", "date_now", "diff_texts"}
	for _, c := range []struct {
		name string
		want []string
	}{
		{"qj", []string{"jq"}},
		{"date_ad", []string{"date_add"}},
		{"html2markdown", []string{"html_to_markdown"}},
		{"date", []string{"date_add", "date_now", "date_diff"}},
		{"diff", []string{"date_diff", "diff_texts"}},
		{"weather", nil},
		{"", nil},
	} {
		if got := nearNames(c.name, names); !slices.Equal(got, c.want) {
			t.Errorf("nearNames(%q) = %q, want %q", c.name, got, c.want)
		}
	}
}
