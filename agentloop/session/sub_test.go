package session

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

// TestSub pins that a subagent's session is begun once and then gone on with, and which ones are
// refused.
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
	create(t, d, "trip-s1", said("mine")).Close()
	create(t, d, "trip-s4-s5").Close()
	for _, agent := range []string{"s1", "s4-s5"} {
		if _, err := top.Sub(agent); !errors.Is(err, fs.ErrExist) {
			t.Errorf("somebody else's: %v", err)
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

// TestSubName pins the edge: a name that is too long becomes a digest.
func TestSubName(t *testing.T) {
	longest := strings.Repeat("a", MaxName-len("-s1"))
	if name := subName(longest, "s1"); name != longest+"-s1" {
		t.Error(name)
	}
	name := subName(longest, "s12")
	if checkName(name) != nil || !strings.HasPrefix(name, "sub-") || name == subName(longest, "s13") {
		t.Error(name)
	}
}
