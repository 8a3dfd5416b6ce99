package session

import (
	"errors"
	"strings"
	"testing"
)

// TestSub pins that a subagent's session is begun once and then gone on with, and what is refused.
func TestSub(t *testing.T) {
	d := openDir(t)
	top := create(t, d, "trip", said("go"))
	for n := range 2 {
		sub, err := top.Sub("s3.2")
		if err != nil {
			t.Fatal(err)
		}
		want := Parent{ID: top.Header().ID, Name: "trip", Agent: "s3.2"}
		if sub.Name() != "trip-s3-2" || *sub.Header().Parent != want || len(sub.Messages()) != n {
			t.Errorf("%s, %+v, %d messages", sub.Name(), sub.Header().Parent, len(sub.Messages()))
		}
		if err := sub.Append(t.Context(), said("look")); err != nil {
			t.Error(err)
		}
		if _, err := top.Sub("s3.2"); !isBusy(err) {
			t.Errorf("it is open: %v", err)
		}
		if err := sub.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := d.SetArchived("trip-s3-2", true); err != nil {
		t.Fatal(err)
	}
	if _, err := top.Sub("s3.2"); !errors.Is(err, ErrArchived) {
		t.Errorf("%v", err)
	}
}

func isBusy(err error) bool {
	busy := new(BusyError)
	return errors.As(err, &busy)
}

// TestSubOfATakenName pins that a session of somebody else's which has the name neither is gone on
// with nor stands in the way: the subagent's has another one.
func TestSubOfATakenName(t *testing.T) {
	d := openDir(t)
	top := create(t, d, "trip", said("go"))
	create(t, d, "trip-s1", said("mine")).Close()
	create(t, d, "trip-s4-s5").Close()
	seen := map[string]bool{}
	for _, agent := range []string{"s1", "s4-s5"} {
		for n := range 2 {
			sub, err := top.Sub(agent)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(sub.Name(), "sub-") || seen[sub.Name()] != (n > 0) ||
				sub.Header().Parent.Agent != agent || len(sub.Messages()) != 0 {
				t.Errorf("%s is %s, %+v", agent, sub.Name(), sub.Header().Parent)
			}
			seen[sub.Name()] = true
			if err := sub.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestSubName pins the edge: a name that is too long becomes a digest.
func TestSubName(t *testing.T) {
	d := openDir(t)
	longest := strings.Repeat("a", MaxName-len("-s1"))
	top := create(t, d, longest)
	seen := map[string]bool{}
	for agent, want := range map[string]string{"s1": longest + "-s1", "s12": "", "s13": ""} {
		sub, err := top.Sub(agent)
		if err != nil {
			t.Fatal(err)
		}
		if name := sub.Name(); seen[name] || want != "" && name != want ||
			want == "" && !strings.HasPrefix(name, "sub-") {
			t.Errorf("%s: %s", agent, name)
		}
		seen[sub.Name()] = true
		sub.Close()
	}
}
