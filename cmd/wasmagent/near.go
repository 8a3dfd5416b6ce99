package main

import (
	"slices"
	"strings"
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
		far := distance(name, strings.ToLower(n))
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

// distance counts the insertions, deletions, replacements and swaps of neighbours that turn a into
// b.
func distance(a, b string) int {
	prev2, prev := []int(nil), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], prev2[j-2]+1)
			}
		}
		prev2, prev = prev, row
	}
	return prev[len(b)]
}
