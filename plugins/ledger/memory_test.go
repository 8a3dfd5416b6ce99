package ledger_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"strconv"
	"testing"

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
