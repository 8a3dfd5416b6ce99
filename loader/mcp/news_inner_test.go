package mcp

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// Each thing is told once, newsBurst of them at a time, and the next one that is told has the number
// of those that were not.
func TestNews(t *testing.T) {
	n := newNews()
	said, dropped := 0, int64(0)
	log := func(d int64) {
		said++
		dropped += d
	}
	for range 2 {
		for i := range newsBurst {
			n.once(fmt.Sprint("tool", i), "bad", log)
		}
	}
	if said != newsBurst || dropped != 0 {
		t.Errorf("%d lines of %d, %d dropped", said, newsBurst, dropped)
	}
	for i := range 1000 {
		n.once(fmt.Sprint("other", i), "bad", log)
	}
	if said > newsBurst+NewsPerMinute {
		t.Errorf("%d lines at once", said)
	}
	n.limit = newLineLimit()
	n.limit.dropped.Store(7)
	n.once("tool1", "worse", log)
	if dropped < 7 {
		t.Errorf("%d dropped", dropped)
	}
	n.forget("tool1", "worse")
	before := said
	n.once("tool1", "worse", log)
	if said != before+1 {
		t.Error("what was forgotten is not told again")
	}
}

// What was told is remembered up to maxTold things.
func TestNewsForgets(t *testing.T) {
	n := newNews()
	for i := range maxTold {
		n.once(fmt.Sprint("tool", i), "bad", func(int64) {})
	}
	if len(n.told) != maxTold {
		t.Errorf("%d things are remembered", len(n.told))
	}
	n.once("one more", "bad", func(int64) {})
	if len(n.told) != 1 {
		t.Errorf("%d things are remembered after one more", len(n.told))
	}
}

func TestSome(t *testing.T) {
	names := strings.Split(strings.Repeat("x", maxNamed), "")
	if got := some(names); len(got) != maxNamed {
		t.Errorf("at the limit: %v", got)
	}
	if got := some(append(names, "x", "x")); len(got) != maxNamed+1 || got[maxNamed] != "and 2 more" {
		t.Errorf("past the limit: %v", got)
	}
}

// The latest values of a secret are looked for, and so many of them.
func TestMaxKnown(t *testing.T) {
	s := newSource(Server{Name: "s", Limits: Limits{}.orDefaults()}, nil)
	defer s.Close()
	value := func(i int) string { return fmt.Sprintf("the secret number %d", i) }
	for i := range maxKnown + 1 {
		s.opts.Secret = secretOf(value(i))
		for range 2 {
			if _, err := s.secret(t.Context(), "t"); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range maxKnown + 1 {
		if found := s.scrub(value(i)) != value(i); found != (i > 0) {
			t.Errorf("value %d: found %v", i, found)
		}
	}
}

// A text that is too long to be looked at whole is not cut inside a secret.
func TestShownAtItsEdge(t *testing.T) {
	s := newSource(Server{Name: "s", Limits: Limits{}.orDefaults()}, nil)
	defer s.Close()
	s.opts.Secret = secretOf("s3cr3t-token")
	if _, err := s.secret(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	const max = 100
	hidden := strings.Repeat("\u200b", 8*max/3-2) // what is not shown, up to just before the edge
	for cut := range 20 {
		text := s.shown(hidden+strings.Repeat("x", cut)+"s3cr3t-token and more "+hidden, max)
		if strings.Contains(text, "s3") {
			t.Errorf("after %d more: %q", cut, text)
		}
	}
	if text := s.shown("é"+strings.Repeat("x", max), max); len([]rune(text)) != max {
		t.Errorf("%d characters", len([]rune(text)))
	}
}

func secretOf(value string) func(context.Context, string) (string, error) {
	return func(context.Context, string) (string, error) { return value, nil }
}
