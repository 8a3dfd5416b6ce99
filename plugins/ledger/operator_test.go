package ledger_test

import (
	"crypto/sha256"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
)

var at1 = plugins.Place{Run: "a", Position: 1}

// leave has a process of its own begin a call and end it, unless c is nil: then it dies first.
func leave(t *testing.T, path string, in plugins.Intent, c *plugins.Completion) {
	t.Helper()
	l := open(t, path)
	b := begin(t, l, in)
	if c != nil {
		end(t, l, b, *c)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// sees names what a call finds.
func sees(t *testing.T, l plugins.Ledger, in plugins.Intent) string {
	t.Helper()
	b, err := l.Begin(t.Context(), in)
	held, inFlight := errors.AsType[*plugins.InFlightError](err)
	_, parked := errors.AsType[*plugins.ReconciliationError](err)
	_, collides := errors.AsType[*plugins.CollisionError](err)
	switch {
	case collides:
		return "collision"
	case parked:
		return "parked"
	case inFlight && held.Unresolved:
		return "unresolved"
	case inFlight:
		return "in flight"
	case errors.Is(err, ledger.ErrAbandoned):
		return "abandoned"
	case err != nil:
		return err.Error()
	case !b.Done:
		return "runs"
	case b.Err != nil:
		recorded, _ := errors.AsType[*plugins.RecordedError](b.Err)
		return recorded.Text
	case b.Output.Content != nil:
		return "content " + b.Output.Content[0].Text
	}
	return string(b.Output.Value)
}

func TestResolve(t *testing.T) {
	idempotent, read, unkeyed := intent("a", 1), intent("a", 1), intent("a", 1)
	idempotent.Effect, read.Effect, unkeyed.Key = abi.EffectIdempotent, abi.EffectRead, ""
	happened := ledger.Resolution{Happened: true, Output: gives(`{"id": 7}`)}
	quiet := ledger.Resolution{Happened: true}
	blocks := ledger.Resolution{Happened: true,
		Output: plugins.Output{Content: []abi.Block{{Type: "text", Text: "seen"}}}}
	not := ledger.Resolution{Reason: `no "entry"`}
	const didNot = `an operator recorded that it did not happen: "no \"entry\""`
	tests := []struct {
		name  string
		in    plugins.Intent
		first *plugins.Completion // nil: a crash
		how   ledger.Resolution
		same  string // what its own place then gets
		next  string // and the next call with its key
	}{
		{"a write that died, happened", intent("a", 1), nil, happened, `{"id": 7}`, `{"id": 7}`},
		{"a write that died, happened, no output", intent("a", 1), nil, quiet, `null`, `null`},
		{"a write that died, happened, content", intent("a", 1), nil, blocks, "content seen",
			"content seen"},
		{"a write that died, did not happen", intent("a", 1), nil, not, didNot, "runs"},
		{"an unkeyed write that died, happened", unkeyed, nil, happened, `{"id": 7}`, "runs"},
		{"an unkeyed write that died, did not happen", unkeyed, nil, not, didNot, "runs"},
		{"a stopped write, happened", intent("a", 1), &left, happened, `{"id": 7}`, `{"id": 7}`},
		{"a stopped write, did not happen", intent("a", 1), &left, not, didNot, "runs"},
		{"a failed write, happened", intent("a", 1), &down, happened, "down", `{"id": 7}`},
		{"a failed write, did not happen", intent("a", 1), &down, not, "down", "runs"},
		{"an idempotent call that died, happened", idempotent, nil, happened, `{"id": 7}`, `{"id": 7}`},
		{"a read that died, happened", read, nil, happened, `{"id": 7}`, "runs"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "l.db")
			leave(t, path, test.in, test.first)
			l := open(t, path)
			resolve(t, l, at1, test.how)
			if have := sees(t, l, test.in); have != test.same {
				t.Errorf("its own place gets %s, want %s", have, test.same)
			}
			next := test.in
			next.Run, next.Position = "", 0
			if have := sees(t, l, next); have != test.next {
				t.Errorf("the next call gets %s, want %s", have, test.next)
			}
			if err := l.Resolve(t.Context(), at1, test.how); !errors.Is(err, ledger.ErrSettled) {
				t.Errorf("a second time: want ErrSettled, have %v", err)
			}
			if err := l.Verify(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestResolveRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	l, other := open(t, path), open(t, path)
	end(t, l, begin(t, l, intent("a", 1)), paid)
	end(t, l, begin(t, l, intent("a", 2)), gaveUp)
	running := begin(t, l, intent("a", 3))
	for _, test := range []struct {
		place plugins.Place
		want  error
	}{
		{at1, ledger.ErrSettled},
		{plugins.Place{Run: "a", Position: 2}, ledger.ErrSettled},
		{plugins.Place{Run: "a", Position: 4}, ledger.ErrNotFound},
		{plugins.Place{Run: "b", Position: 1}, ledger.ErrNotFound},
	} {
		err := l.Resolve(t.Context(), test.place, ledger.Resolution{Happened: true})
		if !errors.Is(err, test.want) {
			t.Errorf("%s: want %v, have %v", test.place, test.want, err)
		}
	}
	for _, l := range []*ledger.SQLite{l, other} {
		err := l.Resolve(t.Context(), running.Place, ledger.Resolution{Happened: true})
		if _, ok := errors.AsType[*plugins.InFlightError](err); !ok {
			t.Errorf("a running call: want an *InFlightError, have %v", err)
		}
	}
	long := strings.Repeat("x", ledger.MaxReason+1)
	for _, how := range []ledger.Resolution{
		{},
		{Reason: "no", Output: gives("1")},
		{Happened: true, Output: gives("{")},
		{Happened: true, Output: plugins.Output{Value: []byte("1"), Content: []abi.Block{}}},
		{Reason: long},
		{Happened: true, Reason: long},
	} {
		if err := l.Resolve(t.Context(), running.Place, how); err == nil {
			t.Errorf("%+v was taken", how)
		}
	}
	end(t, l, running, down)
	resolve(t, other, running.Place, ledger.Resolution{Reason: long[1:]})
}

func TestRelease(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	leave(t, path, intent("a", 1), nil)
	l, other := open(t, path), open(t, path)
	end(t, l, begin(t, l, intent("a", 2)), paid)
	begin(t, l, intent("a", 3))
	for n, want := range []string{"parked", `"paid"`} {
		in := intent("a", n+1)
		if err := other.Release(t.Context(), in.Scope, in.Tool, in.Key, "I know"); err != nil {
			t.Fatal(err)
		}
		if have := sees(t, l, in); have != want {
			t.Errorf("its own place gets %s, want %s", have, want)
		}
		in.Run, in.Position = "", 0
		if have := sees(t, l, in); have != "runs" {
			t.Errorf("the next call gets %s", have)
		}
	}
	in := intent("a", 3)
	for _, l := range []*ledger.SQLite{l, other} {
		err := l.Release(t.Context(), in.Scope, in.Tool, in.Key, "")
		if _, ok := errors.AsType[*plugins.InFlightError](err); !ok {
			t.Errorf("a running call: want an *InFlightError, have %v", err)
		}
	}
	if err := l.Release(t.Context(), "s", "pay", "pay:z", ""); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("want ErrNotFound, have %v", err)
	}
	if err := l.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestLostClaim has a call that died, the release of its key by an operator, and another run that
// takes the key. The call's own place gets a copy of what that gave; else a write still waits for
// its resolution.
func TestLostClaim(t *testing.T) {
	other := func(id string) *plugins.Intent {
		in := intent("a", 1)
		in.Run, in.InputHash = "b", sha256.Sum256([]byte(id))
		return &in
	}
	same := intent("a", 1)
	same.Run = "b"
	tests := []struct {
		name       string
		next       *plugins.Intent // nil: nobody takes the key
		done       bool
		write, put string // what the place of a write and of an idempotent call gets
	}{
		{"the key is free", nil, false, "parked", "runs"},
		{"the same input gave a result", &same, true, `"paid"`, `"paid"`},
		{"the same input is running", &same, false, "parked", "in flight"},
		{"another input gave a result", other("x"), true, "parked", "collision"},
	}
	for _, test := range tests {
		for _, effect := range []abi.Effect{abi.EffectWrite, abi.EffectIdempotent} {
			t.Run(test.name+", "+effect.String(), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "l.db")
				in := intent("a", 1)
				in.Effect = effect
				leave(t, path, in, nil)
				l := open(t, path)
				if err := l.Release(t.Context(), in.Scope, in.Tool, in.Key, ""); err != nil {
					t.Fatal(err)
				}
				if test.next != nil {
					if b := begin(t, l, *test.next); test.done {
						end(t, l, b, paid)
					}
				}
				want := test.write
				if effect == abi.EffectIdempotent {
					want = test.put
				}
				if have := sees(t, l, in); have != want {
					t.Errorf("have %s, want %s", have, want)
				}
				if want == "parked" { // its resolution does nothing to what is another call's now
					resolve(t, l, at1, ledger.Resolution{Reason: "no"})
				}
				if err := l.Verify(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestRunAgainKeepsTheClaim checks that a call which is run again neither gives up its key nor
// claims it a second time, and claims one that it gets only then.
func TestRunAgainKeepsTheClaim(t *testing.T) {
	for _, first := range []string{"pay:a1", ""} {
		path := filepath.Join(t.TempDir(), "l.db")
		in := intent("a", 1)
		in.Effect, in.Key = abi.EffectIdempotent, first
		leave(t, path, in, nil)
		l := open(t, path)
		in.Key = "pay:a1"
		end(t, l, begin(t, l, in), paid)
		var kinds []string
		for r, err := range l.Records(t.Context(), "a") {
			if err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, r.Kind)
		}
		if have := strings.Join(kinds, " "); have != "intent intent completion" {
			t.Errorf("first %q: recorded %s", first, have)
		}
		wantClaims(t, l, ledger.Claim{Scope: "s", Tool: "pay", Key: "pay:a1", Holder: at1, Settled: true})
		if err := l.Verify(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestAbandon(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	idempotent := intent("a", 2)
	idempotent.Effect = abi.EffectIdempotent
	l := open(t, path)
	begin(t, l, intent("a", 1))
	begin(t, l, idempotent)
	end(t, l, begin(t, l, intent("a", 3)), paid)
	other := open(t, path)
	for _, l := range []*ledger.SQLite{l, other} {
		err := l.Abandon(t.Context(), "a", "")
		if _, ok := errors.AsType[*plugins.RunBusyError](err); !ok {
			t.Errorf("a running run: want a *RunBusyError, have %v", err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := other.Abandon(t.Context(), "a", "lost"); err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]string{1: "unresolved", 2: "runs", 3: `"paid"`} {
		in := intent("a", n)
		if have := sees(t, other, in); have != "abandoned" {
			t.Errorf("call %d of the run: %s", n, have)
		}
		in.Run, in.Position = "", 0
		if n == 2 {
			in.Effect = abi.EffectIdempotent
		}
		if have := sees(t, other, in); have != want {
			t.Errorf("the key of call %d: %s, want %s", n, have, want)
		}
	}
	if err := other.Abandon(t.Context(), "a", ""); !errors.Is(err, ledger.ErrAbandoned) {
		t.Errorf("want ErrAbandoned, have %v", err)
	}
	if err := other.Abandon(t.Context(), "b", ""); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("want ErrNotFound, have %v", err)
	}
	for p, err := range other.Recover(t.Context()) {
		if err != nil || p.Place != at1 {
			t.Errorf("nobody waits for %s (%v)", p.Place, err)
		}
	}
	resolve(t, other, at1, ledger.Resolution{Reason: "no"}) // a given up run's write is still resolved
	if err := other.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}
