package ledger_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"strconv"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
	"github.com/wasmagent/wasmagent/plugins/pluginstest"
)

func TestMemory(t *testing.T) {
	pluginstest.Ledger(t, func() plugins.Ledger { return new(ledger.Memory) })
}

func claim(key string) plugins.Intent {
	return plugins.Intent{Tool: "pay", Key: key, InputHash: sha256.Sum256([]byte(key))}
}

func done(value string) plugins.Completion {
	out := plugins.Output{Value: json.RawMessage(value)}
	return plugins.Completion{State: plugins.Done, Output: out}
}

func TestMemoryHoldsNoMoreKeysThanItMay(t *testing.T) {
	m := &ledger.Memory{Keys: 2}
	for i := range 2 {
		if _, err := m.Begin(t.Context(), claim(strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Begin(t.Context(), claim("2")); !errors.Is(err, ledger.ErrFull) {
		t.Errorf("want ErrFull, have %v", err)
	}
	var inFlight *plugins.InFlightError
	if _, err := m.Begin(t.Context(), claim("0")); !errors.As(err, &inFlight) {
		t.Errorf("a key that is held already: want an *InFlightError, have %v", err)
	}
}

func TestMemoryHoldsNoMoreBytesThanItMay(t *testing.T) {
	m := &ledger.Memory{Bytes: 8}
	for i, value := range []string{"1234567", "8"} { // one byte short of the limit, then at it
		c, err := m.Begin(t.Context(), claim(strconv.Itoa(i)))
		if err != nil {
			t.Fatal(err)
		}
		if err := m.End(t.Context(), c.ID, done(value)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Begin(t.Context(), claim("2")); !errors.Is(err, ledger.ErrFull) {
		t.Errorf("want ErrFull, have %v", err)
	}
	if !m.Release("", "pay", "0") {
		t.Fatal("no key to release")
	}
	if _, err := m.Begin(t.Context(), claim("2")); err != nil {
		t.Errorf("after a release: %v", err)
	}
}

// TestMemoryCountsRuns checks that the calls of runs count too, whatever became of them, and that
// neither a replay nor a call that is run again needs room.
func TestMemoryCountsRuns(t *testing.T) {
	m := &ledger.Memory{Keys: 3}
	read := intent("a", 1)
	read.Effect, read.Key = abi.EffectRead, ""
	end(t, m, begin(t, m, read), plugins.Completion{State: plugins.Released, Err: context.Canceled})
	end(t, m, begin(t, m, intent("a", 2)), paid)
	failed := intent("a", 3)
	failed.Effect = abi.EffectIdempotent
	end(t, m, begin(t, m, failed), gaveUp)
	for _, in := range []plugins.Intent{intent("a", 4), claim("b")} {
		if _, err := m.Begin(t.Context(), in); !errors.Is(err, ledger.ErrFull) {
			t.Errorf("want ErrFull, have %v", err)
		}
	}
	for in, want := range map[*plugins.Intent]string{&read: "runs", &failed: "down"} {
		if have := sees(t, m, *in); have != want {
			t.Errorf("position %d: %s, want %s", in.Position, have, want)
		}
	}
	copied := intent("a", 2)
	copied.Run, copied.Position = "", 0
	if have := sees(t, m, copied); have != `"paid"` {
		t.Errorf("a copy outside any run: %s", have)
	}
	copied.Run, copied.Position = "b", 1
	if _, err := m.Begin(t.Context(), copied); !errors.Is(err, ledger.ErrFull) {
		t.Errorf("a copy that a run keeps: want ErrFull, have %v", err)
	}
}

// TestMemoryCountsBytes checks that a call counts for its input until it is known what became of
// it, and then for that.
func TestMemoryCountsBytes(t *testing.T) {
	m := &ledger.Memory{Bytes: 20}
	in := intent("a", 1)
	in.Input = bytes.Repeat([]byte("1"), 20)
	b := begin(t, m, in)
	next := func(want error) {
		t.Helper()
		probe := claim("probe")
		b, err := m.Begin(t.Context(), probe)
		if !errors.Is(err, want) {
			t.Errorf("want %v, have %v", want, err)
		}
		if err == nil {
			end(t, m, b, plugins.Completion{State: plugins.Released, Err: toolDown})
		}
	}
	next(ledger.ErrFull)
	end(t, m, b, left)
	next(ledger.ErrFull) // who finds out what became of it needs the input
	m = &ledger.Memory{Bytes: 20}
	end(t, m, begin(t, m, in), paid)
	next(nil)
}

func TestMemoryRelease(t *testing.T) {
	m := new(ledger.Memory)
	if m.Release("", "pay", "a") {
		t.Error("released a key that nobody claimed")
	}
	c, err := m.Begin(t.Context(), claim("a"))
	if err != nil {
		t.Fatal(err)
	}
	if m.Release("", "pay", "a") {
		t.Error("released the key of a running call")
	}
	if err := m.End(t.Context(), c.ID, plugins.Completion{State: plugins.Unknown}); err != nil {
		t.Fatal(err)
	}
	if !m.Release("", "pay", "a") {
		t.Error("did not release a key whose call has ended")
	}
	if _, err := m.Begin(t.Context(), claim("a")); err != nil {
		t.Error(err)
	}
}
