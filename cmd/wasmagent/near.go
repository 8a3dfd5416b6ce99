package main

import (
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/internal/near"
)

// nearest is how many near names are suggested at most.
const nearest = 3

// nearHint suggests the names that are near a mistyped one, else gives otherwise.
func nearHint(name string, names []string, otherwise string) string {
	near := nearNames(name, names)
	if len(near) == 0 {
		return otherwise
	}
	for i, n := range near {
		near[i] = `"` + n + `"`
	}
	return "did you mean " + strings.Join(near, " or ") + "?"
}

// nearNames gives the names that are one slip away in three characters, or begin or end alike, the
// nearest first.
func nearNames(name string, names []string) []string {
	type candidate struct {
		name string
		far  int
	}
	var found []candidate
	name = strings.ToLower(name)
	for _, n := range names {
		far := near.Distance(name, strings.ToLower(n))
		alike := len(name) >= 2 && (strings.HasPrefix(n, name) || strings.HasSuffix(n, name))
		if far <= max(1, len(name)/3) || alike {
			found = append(found, candidate{n, far})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		if a.far != b.far {
			return a.far - b.far
		}
		return strings.Compare(a.name, b.name)
	})
	var near []string
	for _, c := range found[:min(nearest, len(found))] {
		near = append(near, c.name)
	}
	return near
}
