package pluginstest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
)

// Ledger tests that what open gives, a new and empty ledger each time, keeps to what plugins.Ledger
// promises, and to what plugins.Recaller does if it is one.
func Ledger(t *testing.T, open func() plugins.Ledger) {
	t.Helper()
	t.Run("table", func(t *testing.T) {
		l := open()
		for n, r := range rows(ended, failed, refused, cancelled, running) {
			t.Run(r.String(), func(t *testing.T) {
				r.begin(t, l, n)
				r.check(t, l, n)
			})
		}
	})
	for name, test := range map[string]func(*testing.T, plugins.Ledger){
		"every call has an ID and a place": callsDiffer,
		"content is copied":                contentIsCopied,
		"what is given is nobody else's":   copyIsOwn,
		"a copy stays in its run":          copyStays,
		"no outcome holds the key":         unknownHolds,
		"scope, tool and key all tell":     slotsDiffer,
		"the recorded key is the key":      keyStays,
		"a key that came later is claimed": lateKey,
		"the more careful effect counts":   carefulEffect,
		"a call is ended once":             endedOnce,
		"a call after its caller left":     cancelledBegin,
		"a run has positions":              positions,
		"many claim at once":               manyClaim,
		"many come to one place at once":   manyComeToOnePlace,
	} {
		t.Run(name, func(t *testing.T) { test(t, open()) })
	}
}

// Store is a ledger that outlives its process.
type Store struct {
	Open func() plugins.Ledger               // a new and empty one
	Join func(plugins.Ledger) plugins.Ledger // opens the same once more, as another process would
	Die  func(plugins.Ledger)                // ends the process of one, whatever that has begun
}

// DurableLedger tests the same as Ledger, and what becomes of calls whose process died.
func DurableLedger(t *testing.T, s Store) {
	t.Helper()
	Ledger(t, s.Open)
	t.Run("after a death", func(t *testing.T) { s.tableAfterDeath(t) })
	t.Run("a run has one process", func(t *testing.T) { s.runIsBusy(t) })
	t.Run("two processes claim at once", func(t *testing.T) {
		l := s.Open()
		claimAll(t, l, s.Join(l))
	})
}

// tableAfterDeath makes every first call with one process and every second one with another.
func (s *Store) tableAfterDeath(t *testing.T) {
	first := s.Open()
	second := s.Join(first)
	all := rows(ended, failed, refused, cancelled, crashed)
	for n, r := range all {
		r.begin(t, first, n)
	}
	s.Die(first)
	for n, r := range all {
		t.Run(r.String(), func(t *testing.T) { r.check(t, second, n) })
	}
}

func (s *Store) runIsBusy(t *testing.T) {
	first := s.Open()
	in := intentOf("a", "{}")
	in.Run, in.Position = "mine", 1
	finish(t, first, mustRun(t, first, in), done("1"))
	second := s.Join(first)
	for _, position := range []int{1, 2} {
		in.Position = position
		_, err := second.Begin(t.Context(), in)
		if busy, ok := errors.AsType[*plugins.RunBusyError](err); !ok || busy.Run != "mine" {
			t.Errorf("position %d: want a *RunBusyError, have %v", position, err)
		}
	}
	s.Die(first)
	in.Position = 1
	wantDone(t, second, in, "1", plugins.Place{Run: "mine", Position: 1})
}

// intentOf makes a call of one tool outside any run.
func intentOf(key, input string) plugins.Intent {
	return plugins.Intent{
		Scope:     "here",
		Tool:      "pay",
		Key:       "pay:" + key,
		CallID:    "call of " + input,
		Effect:    abi.EffectWrite,
		Input:     json.RawMessage(input),
		InputHash: sha256.Sum256([]byte(input)),
	}
}

// mustRun begins a call that may run.
func mustRun(t *testing.T, l plugins.Ledger, in plugins.Intent) string {
	t.Helper()
	got, err := l.Begin(t.Context(), in)
	switch {
	case err != nil:
		t.Fatal(err)
	case got.Done || got.ID == "":
		t.Fatalf("want a call that may run and an ID, have %+v", got)
	}
	return got.ID
}

func finish(t *testing.T, l plugins.Ledger, id string, c plugins.Completion) {
	t.Helper()
	if err := l.End(t.Context(), id, c); err != nil {
		t.Fatal(err)
	}
}

// done is a completion with a value.
func done(value string) plugins.Completion {
	out := plugins.Output{Value: json.RawMessage(value)}
	return plugins.Completion{State: plugins.Done, Output: out, Attempts: 1}
}

// wantDone begins a call that is done already.
func wantDone(t *testing.T, l plugins.Ledger, in plugins.Intent, value string,
	from plugins.Place) plugins.Begun {
	t.Helper()
	got, err := l.Begin(t.Context(), in)
	switch {
	case err != nil:
		t.Fatal(err)
	case !got.Done || got.Err != nil || string(got.Output.Value) != value || got.Place != from:
		t.Fatalf("want %s from %s, have %+v", value, from, got)
	}
	return got
}

func callsDiffer(t *testing.T, l plugins.Ledger) {
	ids, places := map[string]bool{}, map[plugins.Place]bool{}
	for n := range 3 {
		got, err := l.Begin(t.Context(), intentOf(fmt.Sprint(n), "{}"))
		if err != nil {
			t.Fatal(err)
		}
		if ids[got.ID] || places[got.Place] || got.Place.Run == "" || got.Place.Position != 1 {
			t.Errorf("have %+v after %v, %v", got, ids, places)
		}
		ids[got.ID], places[got.Place] = true, true
	}
}

func contentIsCopied(t *testing.T, l plugins.Ledger) {
	in := intentOf("a", "{}")
	content := []abi.Block{
		{Type: "text", Text: "seen\xff\x00"},
		{Type: "image", Data: []byte{1, 0, 255}, MIME: "image/png", Name: "a.png"},
		{Type: "file", Data: []byte{}},
	}
	finish(t, l, mustRun(t, l, in), plugins.Completion{State: plugins.Done,
		Output: plugins.Output{Content: content}, Attempts: 1})
	got, err := l.Begin(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if want := (plugins.Output{Content: content}); !reflect.DeepEqual(got.Output, want) {
		t.Errorf("copied %+v, want %+v", got.Output, want)
	}
}

// copyIsOwn checks that neither what goes in nor what comes out shares its bytes. The value has
// spaces, which must stay.
func copyIsOwn(t *testing.T, l plugins.Ledger) {
	in := intentOf("a", "[1]")
	in.Run, in.Position = "mine", 1
	id := mustRun(t, l, in)
	in.Input[1] = '9'
	value := []byte(`[ "<first>" ]`)
	finish(t, l, id, done(string(value)))
	value[1] = 'X'
	place := plugins.Place{Run: "mine", Position: 1}
	wantDone(t, l, in, `[ "<first>" ]`, place).Output.Value[1] = 'X'
	wantDone(t, l, in, `[ "<first>" ]`, place)
}

// copyStays checks that a run has what it was given, and where that is from.
func copyStays(t *testing.T, l plugins.Ledger) {
	in := intentOf("a", "{}")
	in.Run, in.Position = "first", 1
	from := plugins.Place{Run: "first", Position: 1}
	finish(t, l, mustRun(t, l, in), done("1"))
	for _, run := range []string{"second", "third", "second"} {
		in.Run = run
		wantDone(t, l, in, "1", from)
	}
	in.Tool = "refund"
	_, err := l.Begin(t.Context(), in)
	if _, ok := errors.AsType[*plugins.DivergedError](err); !ok {
		t.Errorf("want a *DivergedError, have %v", err)
	}
}

func unknownHolds(t *testing.T, l plugins.Ledger) {
	in := intentOf("a", "{}")
	finish(t, l, mustRun(t, l, in), plugins.Completion{State: plugins.Unknown,
		Err: errors.New("lost"), Attempts: 1})
	for _, input := range []string{"{}", "[]"} {
		_, err := l.Begin(t.Context(), intentOf("a", input))
		held, ok := errors.AsType[*plugins.InFlightError](err)
		if !ok || !held.Unresolved || held.Key != "pay:a" || held.Tool != "pay" {
			t.Errorf("want an unresolved *InFlightError, have %v", err)
		}
	}
}

func slotsDiffer(t *testing.T, l plugins.Ledger) {
	in := intentOf("a", "{}")
	finish(t, l, mustRun(t, l, in), done("1"))
	scope, tool, key := in, in, in
	scope.Scope, tool.Tool, key.Key = "there", "refund", "pay:b"
	for _, other := range []plugins.Intent{scope, tool, key} {
		mustRun(t, l, other)
	}
}

// keyStays checks that a call which is run again has the key it had.
func keyStays(t *testing.T, l plugins.Ledger) {
	in := intentOf("a", "{}")
	in.Run, in.Position, in.Effect = "mine", 1, abi.EffectIdempotent
	stopped := plugins.Completion{State: plugins.Released, Err: context.Canceled, Attempts: 1}
	finish(t, l, mustRun(t, l, in), stopped)
	in.Key = "pay:b"
	got, err := l.Begin(t.Context(), in)
	if err != nil || got.Key != "pay:a" {
		t.Fatalf("want the key pay:a, have %+v, %v", got, err)
	}
	in = intentOf("a", "{}")
	_, err = l.Begin(t.Context(), in)
	if _, ok := errors.AsType[*plugins.InFlightError](err); !ok {
		t.Errorf("the recorded key is not held: %v", err)
	}
}

// lateKey checks that a call which had no key, and gets one before it is run again, has it only if
// nobody else does.
func lateKey(t *testing.T, l plugins.Ledger) {
	stopped := plugins.Completion{State: plugins.Released, Err: context.Canceled, Attempts: 1}
	late := func(run, key string) plugins.Intent {
		in := intentOf(key, "{}")
		in.Run, in.Position, in.Effect, in.Key = run, 1, abi.EffectIdempotent, ""
		finish(t, l, mustRun(t, l, in), stopped)
		in.Key = "pay:" + key
		return in
	}
	id := mustRun(t, l, late("first", "a"))
	_, err := l.Begin(t.Context(), late("second", "a"))
	if held, ok := errors.AsType[*plugins.InFlightError](err); !ok || held.Holder.Run != "first" {
		t.Errorf("the key of a call that runs: %v", err)
	}
	finish(t, l, id, done("1"))
	from := plugins.Place{Run: "first", Position: 1}
	wantDone(t, l, late("third", "a"), "1", from)
	wantDone(t, l, intentOf("a", "{}"), "1", from)
}

// carefulEffect checks that a call which began as a write is one, whatever its tool is now, and
// that one which is a write now is not run again either.
func carefulEffect(t *testing.T, l plugins.Ledger) {
	stopped := plugins.Completion{State: plugins.Unknown, Err: context.Canceled, Attempts: 1}
	for n, effects := range [][2]abi.Effect{
		{abi.EffectWrite, abi.EffectRead}, {abi.EffectRead, abi.EffectWrite},
	} {
		in := intentOf("", "{}")
		in.Key, in.Run, in.Position, in.Effect = "", fmt.Sprintf("run-%d", n), 1, effects[0]
		finish(t, l, mustRun(t, l, in), stopped)
		in.Effect = effects[1]
		_, err := l.Begin(t.Context(), in)
		if _, ok := errors.AsType[*plugins.ReconciliationError](err); !ok {
			t.Errorf("first %s, then %s: want a *ReconciliationError, have %v", effects[0],
				effects[1], err)
		}
	}
}

func endedOnce(t *testing.T, l plugins.Ledger) {
	in := intentOf("a", "{}")
	in.Run, in.Position = "mine", 1
	id := mustRun(t, l, in)
	finish(t, l, id, done("1"))
	if err := l.End(t.Context(), id, done("2")); err == nil {
		t.Error("a second end was taken")
	}
	if err := l.End(t.Context(), "no such call", done("2")); err == nil {
		t.Error("the end of no call was taken")
	}
	wantDone(t, l, in, "1", plugins.Place{Run: "mine", Position: 1})
}

func cancelledBegin(t *testing.T, l plugins.Ledger) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Begin(ctx, intentOf("a", "{}")); !errors.Is(err, context.Canceled) {
		t.Errorf("want context.Canceled, have %v", err)
	}
	mustRun(t, l, intentOf("a", "{}"))
}

func positions(t *testing.T, l plugins.Ledger) {
	for _, place := range []plugins.Place{{Run: "mine"}, {Run: "mine", Position: -1}, {Position: 1}} {
		in := intentOf("a", "{}")
		in.Run, in.Position = place.Run, place.Position
		if _, err := l.Begin(t.Context(), in); err == nil {
			t.Errorf("a call at %s was taken", place)
		}
	}
	in := intentOf("a", "{}")
	in.Run, in.Position = "mine", 1_000_000
	mustRun(t, l, in)
}

func manyClaim(t *testing.T, l plugins.Ledger) { claimAll(t, l) }

// claimAll lets every goroutine claim every key: each runs once, and all the others find it held or
// settled.
func claimAll(t *testing.T, ledgers ...plugins.Ledger) {
	const workers, keys = 8, 64
	var ran [keys]atomic.Int32
	var wg sync.WaitGroup
	for worker := range workers {
		l := ledgers[worker%len(ledgers)]
		wg.Go(func() {
			for key := range keys {
				got, err := l.Begin(t.Context(), intentOf(fmt.Sprint(key), "{}"))
				_, held := errors.AsType[*plugins.InFlightError](err)
				switch {
				case held, err == nil && got.Done:
					continue
				case err != nil:
					t.Error(err)
					return
				}
				ran[key].Add(1)
				if err := l.End(t.Context(), got.ID, done(fmt.Sprint(key))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for key := range keys {
		if n := ran[key].Load(); n != 1 {
			t.Errorf("key %d ran %d times", key, n)
		}
	}
}

func manyComeToOnePlace(t *testing.T, l plugins.Ledger) {
	in := intentOf("a", "{}")
	in.Run, in.Position, in.Key = "mine", 1, ""
	var ran, held atomic.Int32
	var wg sync.WaitGroup
	const workers = 16
	for range workers {
		wg.Go(func() {
			_, err := l.Begin(t.Context(), in)
			if _, ok := errors.AsType[*plugins.InFlightError](err); ok {
				held.Add(1)
			} else if err == nil {
				ran.Add(1)
			} else {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if ran.Load() != 1 || held.Load() != workers-1 {
		t.Errorf("%d ran and %d were told that it runs", ran.Load(), held.Load())
	}
}
