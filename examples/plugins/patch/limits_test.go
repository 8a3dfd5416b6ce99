package main

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestSizes(t *testing.T) {
	for _, limit := range []int{maxTextBytes, maxDiffBytes} {
		if err := checkSize("/text", strings.Repeat("a", limit), limit); err != nil {
			t.Errorf("at the limit: %v", err)
		}
		if err := checkSize("/text", strings.Repeat("a", limit+1), limit); err == nil {
			t.Errorf("%d bytes passed", limit+1)
		}
	}
	if _, err := diffTexts(nil, DiffInput{Context: maxContext}); err != nil {
		t.Errorf("context %d: %v", maxContext, err)
	}
	if _, err := diffTexts(nil, DiffInput{Context: maxContext + 1}); err == nil {
		t.Errorf("context %d passed", maxContext+1)
	}
	diffFrame := len("--- old\n+++ new\n@@ -0,0 +1 @@\n+\n")
	line := strings.Repeat("a", maxDiffBytes-diffFrame) + "\n"
	in := DiffInput{New: line, OldName: "old", NewName: "new"}
	out, err := diffTexts(nil, in)
	if err != nil || len(out.Diff) != maxDiffBytes {
		t.Errorf("a diff of %d bytes: %v", len(out.Diff), err)
	}
	in.New = "a" + in.New
	if _, err := diffTexts(nil, in); err == nil {
		t.Error("a diff of one byte more passed")
	}
}

func TestShift(t *testing.T) {
	hunks, err := parse("@@ -1 +1 @@\n-x\n+y\n")
	if err != nil {
		t.Fatal(err)
	}
	for lines, ok := range map[int]bool{maxShift: true, maxShift + 1: false} {
		_, _, err := apply(strings.Repeat("a\n", lines)+"x\n", hunks)
		if (err == nil) != ok {
			t.Errorf("a hunk %d lines off: %v", lines, err)
		}
	}
}

// TestRoundTrip makes diffs of many texts with much in common, and applies them both ways.
func TestRoundTrip(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text := func(lines, words int) string {
		var b strings.Builder
		for range random.IntN(lines + 1) {
			b.WriteString(strings.Repeat("x", random.IntN(words)) + "\n")
		}
		return strings.TrimSuffix(b.String(), strings.Repeat("\n", random.IntN(2)))
	}
	for range 3000 {
		old, next := text(30, 4), text(30, 4)
		if random.IntN(2) == 0 { // mostly equal, with unique lines
			old = text(10, 40) + "\n" + text(40, 50)
			next = strings.Replace(old, "xx", text(2, 60), 1+random.IntN(3))
		}
		a, b := splitLines(old), splitLines(next)
		diff := unified("a", "b", hunksOf(a, b, diffLines(a, b), random.IntN(4)))
		if old == next {
			if diff != "" {
				t.Fatalf("equal texts have the diff\n%s", diff)
			}
			continue
		}
		hunks, err := parse(diff)
		if err != nil {
			t.Fatalf("%v in\n%s", err, diff)
		}
		if got, moved, err := apply(old, hunks); err != nil || got != next || moved != nil {
			t.Fatalf("%q to %q: got %q, moved %v, %v by\n%s", old, next, got, moved, err, diff)
		}
		for i := range hunks {
			hunks[i] = hunks[i].reversed()
		}
		if got, _, err := apply(next, hunks); err != nil || got != old {
			t.Fatalf("%q back to %q: got %q, %v by\n%s", next, old, got, err, diff)
		}
	}
}

// TestManyChanges holds the size of a diff with far more changes than the library looks for.
func TestManyChanges(t *testing.T) {
	var old, next strings.Builder
	for i := range 5000 {
		line := strings.Repeat("x", i%7) + string(rune('a'+i%26)) + strings.Repeat("y", i/26) + "\n"
		old.WriteString(line)
		if i%10 == 0 {
			line = "changed\n"
		}
		next.WriteString(line)
	}
	out, err := diffTexts(nil, DiffInput{Old: old.String(), New: next.String()})
	if err != nil {
		t.Fatal(err)
	}
	if out.Added != 500 || out.Removed != 500 {
		t.Errorf("%d lines added, %d removed; 500 changed", out.Added, out.Removed)
	}
}

func TestConflictDetails(t *testing.T) {
	_, err := applyPatch(nil, ApplyInput{Text: "a\n", Diff: "@@ -1 +1 @@\n-b\n+c\n"})
	var c *conflict
	if errors.As(err, &c) {
		t.Fatal("a conflict must reach the caller as a failure")
	}
	_, _, err = apply("a\n", []hunk{{1, 1, 1, 1, []hunkLine{{'-', "b\n"}, {'+', "c\n"}}}})
	if !errors.As(err, &c) || c.Hunk != 1 || c.Line != 1 || c.Found != "a\n" || c.Expected != "b\n" {
		t.Errorf("%+v, %v", c, err)
	}
}
