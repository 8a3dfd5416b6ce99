package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// splitLines cuts text after every newline; only the last line may lack one.
func splitLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// edit replaces the old lines [from, to) by the new lines [newFrom, newTo).
type edit struct{ from, to, newFrom, newTo int }

// diffLines gives the edits that turn a into b, in order and never touching each other.
//
// The library stops looking for common lines after some hundred differences, so that its time
// stays linear. The texts are therefore first cut at the lines that occur exactly once on both
// sides; what lies between two such anchors is small.
func diffLines(a, b []string) []edit {
	var edits []edit
	fromA, fromB := 0, 0
	gap := func(toA, toB int) {
		for _, d := range lcs.DiffLines(a[fromA:toA], b[fromB:toB]) {
			e := edit{fromA + d.Start, fromA + d.End, fromB + d.ReplStart, fromB + d.ReplEnd}
			if last := len(edits) - 1; last >= 0 && edits[last].to == e.from {
				edits[last].to, edits[last].newTo = e.to, e.newTo
				continue
			}
			edits = append(edits, e)
		}
	}
	for _, an := range anchors(a, b) {
		gap(an.a, an.b)
		fromA, fromB = an.a+1, an.b+1
	}
	gap(len(a), len(b))
	return edits
}

// anchor is a line that is at index a of the old text and at index b of the new one.
type anchor struct{ a, b int }

// anchors gives the longest rising run of the lines that occur once in a and once in b.
func anchors(a, b []string) []anchor {
	type seen struct{ timesA, timesB, a, b int }
	lines := make(map[string]*seen, len(a))
	for i, line := range a {
		s := lines[line]
		if s == nil {
			s = new(seen)
			lines[line] = s
		}
		s.timesA++
		s.a = i
	}
	for i, line := range b {
		if s := lines[line]; s != nil {
			s.timesB++
			s.b = i
		}
	}
	var unique []anchor
	for _, line := range a {
		if s := lines[line]; s.timesA == 1 && s.timesB == 1 {
			unique = append(unique, anchor{s.a, s.b})
		}
	}
	return longestRise(unique)
}

// longestRise gives the longest subsequence of list, which rises in a, that rises in b too.
func longestRise(list []anchor) []anchor {
	var ends []int // ends[n]: index of the anchor with the smallest b that ends a run of n+1
	before := make([]int, len(list))
	for i, an := range list {
		n, _ := slices.BinarySearchFunc(ends, an.b, func(end, b int) int {
			return cmp.Compare(list[end].b, b)
		})
		before[i] = -1
		if n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		} else {
			ends[n] = i
		}
	}
	run := make([]anchor, len(ends))
	if len(ends) == 0 {
		return run
	}
	for n, i := len(ends)-1, ends[len(ends)-1]; n >= 0; n, i = n-1, before[i] {
		run[n] = list[i]
	}
	return run
}

// hunksOf groups edits into hunks with up to context unchanged lines around them.
func hunksOf(a, b []string, edits []edit, context int) []hunk {
	var hunks []hunk
	for len(edits) > 0 {
		n := 1
		for n < len(edits) && edits[n].from-edits[n-1].to <= 2*context {
			n++
		}
		hunks = append(hunks, newHunk(a, b, edits[:n], context))
		edits = edits[n:]
	}
	return hunks
}

func newHunk(a, b []string, edits []edit, context int) hunk {
	first, last := edits[0], edits[len(edits)-1]
	lead := min(context, first.from)
	h := hunk{oldStart: first.from - lead + 1, newStart: first.newFrom - lead + 1}
	at := first.from - lead
	for _, e := range edits {
		h.add(' ', a[at:e.from])
		h.add('-', a[e.from:e.to])
		h.add('+', b[e.newFrom:e.newTo])
		at = e.to
	}
	h.add(' ', a[at:min(len(a), last.to+context)])
	// A side without lines is written as the line that it follows.
	if h.oldCount == 0 {
		h.oldStart--
	}
	if h.newCount == 0 {
		h.newStart--
	}
	return h
}

// unified writes the hunks as a unified diff; no hunks give "".
func unified(oldName, newName string, hunks []hunk) string {
	if len(hunks) == 0 {
		return ""
	}
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", oldName, newName)
	for _, h := range hunks {
		out.WriteString(h.header() + "\n")
		for _, l := range h.lines {
			out.WriteByte(l.op)
			out.WriteString(l.text)
			if !strings.HasSuffix(l.text, "\n") {
				out.WriteString("\n" + noNewline + "\n")
			}
		}
	}
	return out.String()
}
