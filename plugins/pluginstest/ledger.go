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
// promises.
func Ledger(t *testing.T, open func() plugins.Ledger) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, plugins.Ledger){
		"a free key runs":                       freeKeyRuns,
		"a settled key is copied":               settledIsCopied,
		"content is copied":                     contentIsCopied,
		"a copy is nobody else's":               copyIsOwn,
		"another input collides":                otherInputCollides,
		"a running call holds its key":          runningHolds,
		"an unknown outcome holds its key":      unknownHolds,
		"a released key runs again":             releasedRuns,
		"scope, tool and key all tell":          slotsDiffer,
		"a claim is settled once":               settledOnce,
		"a claim after its caller left is none": cancelledClaim,
		"many claim at once":                    manyClaim,
	} {
		t.Run(name, func(t *testing.T) { test(t, open()) })
	}
}

// claimOf makes a claim of one tool's key.
func claimOf(key, input string) plugins.Intent {
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

// mustRun claims a key that has to be free.
func mustRun(t *testing.T, l plugins.Ledger, c plugins.Intent) string {
	t.Helper()
	got, err := l.Begin(t.Context(), c)
	switch {
	case err != nil:
		t.Fatal(err)
	case got.Done || got.ID == "":
		t.Fatalf("want a free key and an ID, have %+v", got)
	}
	return got.ID
}

func settle(t *testing.T, l plugins.Ledger, id string, s plugins.Completion) {
	t.Helper()
	if err := l.End(t.Context(), id, s); err != nil {
		t.Fatal(err)
	}
}

// done is a settlement with a value.
func done(value string) plugins.Completion {
	out := plugins.Output{Value: json.RawMessage(value)}
	return plugins.Completion{State: plugins.Done, Output: out, Attempts: 1}
}

func mustCopy(t *testing.T, l plugins.Ledger, c plugins.Intent, value string) plugins.Begun {
	t.Helper()
	got, err := l.Begin(t.Context(), c)
	switch {
	case err != nil:
		t.Fatal(err)
	case !got.Done || string(got.Output.Value) != value:
		t.Fatalf("want %s copied, have %+v", value, got)
	}
	return got
}

func freeKeyRuns(t *testing.T, l plugins.Ledger) {
	a := mustRun(t, l, claimOf("a", "{}"))
	b := mustRun(t, l, claimOf("b", "{}"))
	if a == b {
		t.Errorf("two claims have the ID %q", a)
	}
}

func settledIsCopied(t *testing.T, l plugins.Ledger) {
	c := claimOf("a", "{}")
	settle(t, l, mustRun(t, l, c), done(`{"ok":1}`))
	mustCopy(t, l, c, `{"ok":1}`)
	mustCopy(t, l, c, `{"ok":1}`)
}

func contentIsCopied(t *testing.T, l plugins.Ledger) {
	c := claimOf("a", "{}")
	content := []abi.Block{
		{Type: "text", Text: "seen"},
		{Type: "image", Data: []byte{1, 0, 255}, MIME: "image/png", Name: "a.png"},
	}
	settle(t, l, mustRun(t, l, c), plugins.Completion{State: plugins.Done,
		Output: plugins.Output{Content: content}, Attempts: 1})
	got, err := l.Begin(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if want := (plugins.Output{Content: content}); !reflect.DeepEqual(got.Output, want) {
		t.Errorf("copied %+v, want %+v", got.Output, want)
	}
}

func copyIsOwn(t *testing.T, l plugins.Ledger) {
	c := claimOf("a", "[1]")
	id := mustRun(t, l, c)
	c.Input[1] = '9'
	value := []byte(`"first"`)
	settle(t, l, id, done(string(value)))
	value[1] = 'X'
	mustCopy(t, l, c, `"first"`).Output.Value[1] = 'X'
	mustCopy(t, l, c, `"first"`)
}

func otherInputCollides(t *testing.T, l plugins.Ledger) {
	first, second := claimOf("a", `{"id":1}`), claimOf("a", `{"id":"1"}`)
	settle(t, l, mustRun(t, l, first), done("1"))
	_, err := l.Begin(t.Context(), second)
	var collision *plugins.CollisionError
	if !errors.As(err, &collision) {
		t.Fatalf("want a *CollisionError, have %v", err)
	}
	want := plugins.CollisionError{Tool: "pay", Key: "pay:a", Holder: collision.Holder}
	if *collision != want {
		t.Errorf("have %+v, want %+v", *collision, want)
	}
	mustCopy(t, l, first, "1")
}

func runningHolds(t *testing.T, l plugins.Ledger) {
	c := claimOf("a", "{}")
	id := mustRun(t, l, c)
	wantInFlight(t, l, c, false)
	wantInFlight(t, l, claimOf("a", "[]"), false)
	settle(t, l, id, done("1"))
	mustCopy(t, l, c, "1")
}

func wantInFlight(t *testing.T, l plugins.Ledger, c plugins.Intent, unresolved bool) {
	t.Helper()
	_, err := l.Begin(t.Context(), c)
	var inFlight *plugins.InFlightError
	if !errors.As(err, &inFlight) {
		t.Fatalf("want an *InFlightError, have %v", err)
	}
	want := plugins.InFlightError{Tool: c.Tool, Key: c.Key, Holder: inFlight.Holder,
		Unresolved: unresolved}
	if *inFlight != want {
		t.Errorf("have %+v, want %+v", *inFlight, want)
	}
}

func unknownHolds(t *testing.T, l plugins.Ledger) {
	c := claimOf("a", "{}")
	settle(t, l, mustRun(t, l, c), plugins.Completion{State: plugins.Unknown,
		Err: errors.New("lost"), Attempts: 1})
	wantInFlight(t, l, c, true)
	wantInFlight(t, l, claimOf("a", "[]"), true)
}

func releasedRuns(t *testing.T, l plugins.Ledger) {
	c := claimOf("a", "{}")
	settle(t, l, mustRun(t, l, c), plugins.Completion{State: plugins.Released,
		Err: errors.New("no"), Attempts: 1})
	other := claimOf("a", "[]")
	settle(t, l, mustRun(t, l, other), done("2"))
	mustCopy(t, l, other, "2")
}

func slotsDiffer(t *testing.T, l plugins.Ledger) {
	c := claimOf("a", "{}")
	settle(t, l, mustRun(t, l, c), done("1"))
	scope, tool, key := c, c, c
	scope.Scope, tool.Tool, key.Key = "there", "refund", "pay:b"
	for _, other := range []plugins.Intent{scope, tool, key} {
		mustRun(t, l, other)
	}
}

func settledOnce(t *testing.T, l plugins.Ledger) {
	id := mustRun(t, l, claimOf("a", "{}"))
	settle(t, l, id, done("1"))
	if err := l.End(t.Context(), id, done("2")); err == nil {
		t.Error("a second settlement was taken")
	}
	if err := l.End(t.Context(), "no such claim", done("2")); err == nil {
		t.Error("the settlement of no claim was taken")
	}
	mustCopy(t, l, claimOf("a", "{}"), "1")
}

func cancelledClaim(t *testing.T, l plugins.Ledger) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Begin(ctx, claimOf("a", "{}")); !errors.Is(err, context.Canceled) {
		t.Errorf("want context.Canceled, have %v", err)
	}
	mustRun(t, l, claimOf("a", "{}"))
}

// manyClaim lets every goroutine claim every key: each runs once, and all the others find it held
// or settled.
func manyClaim(t *testing.T, l plugins.Ledger) {
	const workers, keys = 8, 64
	var ran [keys]atomic.Int32
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for key := range keys {
				got, err := l.Begin(t.Context(), claimOf(fmt.Sprint(key), "{}"))
				var inFlight *plugins.InFlightError
				switch {
				case errors.As(err, &inFlight), err == nil && got.Done:
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
