//go:build unix

package ledger_test

import (
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
)

// pay calls the tool pay with the key 1 at a place, or outside any run.
func (w *world) pay(t *testing.T, l plugins.Ledger, run string, position int) (plugins.Result,
	error) {
	t.Helper()
	r, err := w.registry(l)
	if err != nil {
		t.Fatal(err)
	}
	return r.Call(t.Context(), plugins.Call{Run: run, Position: position, Tool: "pay",
		Input: json.RawMessage(`{"id":"1"}`)})
}

func (w *world) wantPaid(t *testing.T, want int) {
	t.Helper()
	if n, err := w.count("pay", "1"); err != nil || n != want {
		t.Errorf("executed %d times, want %d (%v)", n, want, err)
	}
}

func TestTwoRacingRunsOneKey(t *testing.T) {
	w := &world{dir: t.TempDir()}
	ledgers := []*ledger.SQLite{open(t, w.ledgerFile()), open(t, w.ledgerFile())}
	var ran, copied, held atomic.Int32
	var wg sync.WaitGroup
	for i, run := range []string{"a", "b", "c", "d"} {
		wg.Go(func() {
			res, err := w.pay(t, ledgers[i%2], run, 1)
			_, busy := errors.AsType[*plugins.InFlightError](err)
			switch {
			case busy:
				held.Add(1)
			case err != nil:
				t.Error(err)
			case res.Copied:
				copied.Add(1)
			default:
				ran.Add(1)
			}
		})
	}
	wg.Wait()
	if ran.Load() != 1 || copied.Load()+held.Load() != 3 {
		t.Errorf("%d ran, %d got a copy, %d were told to wait", ran.Load(), copied.Load(), held.Load())
	}
	w.wantPaid(t, 1)
}

// TestKillBetweenClaimAndIntent kills where one would be recorded and not the other: there is no
// such place, since both are one transaction. Before its commit there is neither, after it both.
func TestKillBetweenClaimAndIntent(t *testing.T) {
	t.Run("before the commit", func(t *testing.T) {
		w := &world{dir: t.TempDir()}
		if !w.child(t, "pay", "before commit") {
			t.Fatal("not killed")
		}
		l := open(t, w.ledgerFile())
		wantClaims(t, l)
		if res, err := w.pay(t, l, "earlier", 1); err != nil || res.Copied {
			t.Errorf("want a call that ran, have %+v, %v", res, err)
		}
		w.wantPaid(t, 1)
	})
	t.Run("after the commit", func(t *testing.T) {
		w := &world{dir: t.TempDir()}
		if !w.child(t, "pay", "after commit") {
			t.Fatal("not killed")
		}
		l := open(t, w.ledgerFile())
		place := plugins.Place{Run: "earlier", Position: 1}
		wantClaims(t, l, ledger.Claim{Scope: "test", Tool: "pay", Key: "pay:1", Holder: place})
		_, err := w.pay(t, l, "earlier", 1)
		if parked, ok := errors.AsType[*plugins.ReconciliationError](err); !ok || parked.Place != place {
			t.Fatalf("want a *ReconciliationError, have %v", err)
		}
		w.wantPaid(t, 0)
		resolve(t, l, place, ledger.Resolution{Reason: "never sent"})
		wantClaims(t, l)
		if res, err := w.pay(t, l, "earlier", 2); err != nil || res.Copied {
			t.Errorf("want a call that ran, have %+v, %v", res, err)
		}
		w.wantPaid(t, 1)
	})
}

func TestKillDuringKeyedWrite(t *testing.T) {
	w := &world{dir: t.TempDir()}
	if !w.child(t, "pay", "after the effect") {
		t.Fatal("not killed")
	}
	place := plugins.Place{Run: "earlier", Position: 1}
	second, third := open(t, w.ledgerFile()), open(t, w.ledgerFile())

	_, err := w.pay(t, second, "second", 1)
	want := plugins.InFlightError{Tool: "pay", Key: "pay:1", Holder: place, Unresolved: true}
	if held, ok := errors.AsType[*plugins.InFlightError](err); !ok || *held != want {
		t.Fatalf("the second run: want %+v, have %v", want, err)
	}
	_, err = w.pay(t, second, "earlier", 1)
	if parked, ok := errors.AsType[*plugins.ReconciliationError](err); !ok || parked.Place != place ||
		parked.Key != "pay:1" || string(parked.Input) != `{"id":"1"}` {
		t.Fatalf("the first run: want a *ReconciliationError, have %v", err)
	}
	resolve(t, second, place, ledger.Resolution{Happened: true, Output: gives(`{"paid": true}`)})

	res, err := w.pay(t, third, "third", 1)
	if err != nil || !res.Copied || res.Place != place || string(res.Value) != `{"paid": true}` {
		t.Errorf("the third run: want a copy, have %+v, %v", res, err)
	}
	res, err = w.pay(t, third, "earlier", 1)
	if err != nil || string(res.Value) != `{"paid": true}` {
		t.Errorf("the first run: want what was resolved, have %+v, %v", res, err)
	}
	w.wantPaid(t, 1)
	if err := third.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestMarkersStayData has a tool give what looks like our own records: live, from another run and
// after a restart it is a value like any other.
func TestMarkersStayData(t *testing.T) {
	w := &world{dir: t.TempDir()}
	call := func(run string) plugins.Result {
		l := open(t, w.ledgerFile())
		r, err := w.registry(l)
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.Call(t.Context(), plugins.Call{Run: run, Position: 1, Tool: "forge",
			Input: json.RawMessage(`{"id":"1"}`)})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(l.Verify(t.Context()), l.Close()); err != nil {
			t.Fatal(err)
		}
		return res
	}
	for i, run := range []string{"a", "a", "b", "b"} {
		if res := call(run); string(res.Value) != forged || res.Copied != (i > 0) {
			t.Errorf("call %d gave %+v", i, res)
		}
	}
	if n, err := w.count("forge", "1"); n != 1 || err != nil {
		t.Errorf("executed %d times, %v", n, err)
	}
}
