package pluginstest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
)

// end is what became of the first of two calls.
type end string

const (
	ended     end = "gave a result"
	failed    end = "failed"
	refused   end = "refused its arguments"
	cancelled end = "was stopped by its caller"
	running   end = "is running"
	crashed   end = "died with its process"
)

// found is what the second call finds.
type found string

const (
	runs       found = "runs"
	replayed   found = "replayed"
	copied     found = "copied"
	collides   found = "collision"
	inFlight   found = "in flight"
	unresolved found = "unresolved"
	diverged   found = "diverged"
	parked     found = "reconciliation"
)

// row is a pair of calls.
type row struct {
	effect abi.Effect
	keyed  bool
	first  end
	second string // how the second call differs from the first
}

// The ways in which a second call differs from the first.
const (
	same       = "in the same place"
	otherInput = "in the same place with another input"
	otherTool  = "in the same place of another tool"
	otherScope = "in the same place of a namesake"
	otherPlace = "in another place of the run"
	otherRun   = "in another run"
	changedRun = "in another run with another input"
	noRun      = "outside any run"
)

// want is the table that every ledger follows.
func (r row) want() found {
	switch r.second {
	case same:
		return r.wantSame()
	case otherInput, otherTool:
		return diverged
	case otherScope:
		return r.wantNamesake()
	}
	if !r.keyed || r.effect == abi.EffectRead {
		return runs
	}
	changed := r.second == changedRun
	switch {
	case r.first == ended && changed:
		return collides
	case r.first == ended:
		return copied
	case r.first == running:
		return inFlight
	case r.first == refused, r.effect == abi.EffectIdempotent:
		return runs
	}
	return unresolved
}

// wantSame is what the same call of the same run finds.
func (r row) wantSame() found {
	switch {
	case r.first == running:
		return inFlight
	case r.first != crashed && r.first != cancelled:
		return replayed
	case r.effect == abi.EffectWrite:
		return parked
	}
	return runs
}

// wantNamesake is what a tool of the same name in another scope finds: what is known belongs to the
// run, but it may not run in the other one's place.
func (r row) wantNamesake() found {
	if r.first == crashed || r.first == cancelled {
		return diverged
	}
	return r.wantSame()
}

func (r row) String() string {
	key := "without a key"
	if r.keyed {
		key = "with a key"
	}
	return fmt.Sprintf("%s %s, the first %s, the second %s: %s", r.effect, key, r.first, r.second,
		r.want())
}

// rows are all pairs whose first call ended in one of these ways.
func rows(first ...end) []row {
	var all []row
	for _, effect := range []abi.Effect{abi.EffectRead, abi.EffectIdempotent, abi.EffectWrite} {
		for _, keyed := range []bool{false, true} {
			for _, e := range first {
				for _, second := range []string{same, otherInput, otherTool, otherScope, otherPlace,
					otherRun, changedRun, noRun} {
					all = append(all, row{effect, keyed, e, second})
				}
			}
		}
	}
	return all
}

// firstCall is the first call of the nth row.
func (r row) firstCall(n int) plugins.Intent {
	in := plugins.Intent{
		Run: fmt.Sprintf("first-%d", n), Position: 1,
		Scope: "here", Tool: "pay", CallID: "a", Effect: r.effect,
		Input: json.RawMessage(`{"id":1}`), InputHash: sha256.Sum256([]byte("1")),
	}
	if r.keyed {
		in.Key = fmt.Sprintf("pay:%d", n)
	}
	return in
}

func (r row) secondCall(n int) plugins.Intent {
	in := r.firstCall(n)
	switch r.second {
	case otherTool:
		in.Tool = "refund"
	case otherScope:
		in.Scope = "there"
	case otherPlace:
		in.Position = 7
	case otherRun, changedRun:
		in.Run = fmt.Sprintf("second-%d", n)
	case noRun:
		in.Run, in.Position = "", 0
	}
	if r.second == otherInput || r.second == changedRun {
		in.Input, in.InputHash = json.RawMessage(`{"id":2}`), sha256.Sum256([]byte("2"))
	}
	return in
}

var errRefused = &plugins.ToolError{Tool: "pay", Kind: plugins.ErrInvalidInput,
	Effect: abi.EffectWrite, Err: &abi.Failure{Message: "no such account", Pointer: "/id"}}

var errFailed = &plugins.ToolError{Tool: "pay", Kind: plugins.ErrHandler, Effect: abi.EffectWrite,
	Attempts: 2, Err: &abi.Failure{Code: "busy", Message: "try later", Permanent: true}}

// completion is how the first call ended, settled as a registry does.
func (r row) completion() plugins.Completion {
	c := plugins.Completion{State: plugins.Unknown, Attempts: 1}
	switch r.first {
	case ended:
		return done(`"first"`)
	case failed:
		c.Err = errFailed
	case refused:
		c.Err, c.State = errRefused, plugins.Released
	case cancelled:
		c.Err = fmt.Errorf("tool %q: %w", "pay", context.Canceled)
	}
	if r.effect != abi.EffectWrite {
		c.State = plugins.Released
	}
	return c
}

// begin makes the first call and ends it.
func (r row) begin(t *testing.T, l plugins.Ledger, n int) {
	t.Helper()
	in := r.firstCall(n)
	id := mustRun(t, l, in)
	if r.first != running && r.first != crashed {
		finish(t, l, id, r.completion())
	}
}

// check makes the second call, twice unless it may run: what is refused leaves nothing behind.
func (r row) check(t *testing.T, l plugins.Ledger, n int) {
	t.Helper()
	in := r.secondCall(n)
	if look, ok := l.(plugins.Recaller); ok && r.second == same {
		r.checkRecall(t, look, n)
	}
	begun, err := l.Begin(t.Context(), in)
	if have := r.what(t, in, n, begun, err); have != r.want() {
		t.Fatalf("have %s: %+v, %v", have, begun, err)
	}
	if r.want() != runs {
		again, err := l.Begin(t.Context(), in)
		if have := r.what(t, in, n, again, err); have != r.want() {
			t.Fatalf("the second time: have %s: %+v, %v", have, again, err)
		}
		return
	}
	finish(t, l, begun.ID, done(`"second"`))
	if in.Run != "" {
		wantDone(t, l, in, `"second"`, begun.Place)
	}
}

// checkRecall looks at the first call's place: that tells what its call would find.
func (r row) checkRecall(t *testing.T, l plugins.Recaller, n int) {
	t.Helper()
	in := r.secondCall(n)
	b, err := l.Recall(t.Context(), plugins.Place{Run: in.Run, Position: in.Position})
	if err == nil && !b.Done && b.ID == "" {
		equal(t, runs, r.want())
	} else if have := r.what(t, in, n, b, err); have != r.want() {
		t.Errorf("a look has %s: %+v, %v", have, b, err)
	}
	b, err = l.Recall(t.Context(), plugins.Place{Run: in.Run, Position: 99})
	if err != nil || b.Done {
		t.Errorf("a look at no call has %+v, %v", b, err)
	}
}

// what names what a call found, and checks what came with it.
func (r row) what(t *testing.T, in plugins.Intent, n int, b plugins.Begun, err error) found {
	t.Helper()
	first := r.firstCall(n)
	place := plugins.Place{Run: first.Run, Position: 1}
	switch e := err.(type) {
	case nil:
	case *plugins.CollisionError:
		equal(t, *e, plugins.CollisionError{Tool: in.Tool, Key: in.Key, Holder: place})
		return collides
	case *plugins.InFlightError:
		equal(t, *e, plugins.InFlightError{Tool: in.Tool, Key: in.Key, Holder: place,
			Unresolved: e.Unresolved})
		if e.Unresolved {
			return unresolved
		}
		return inFlight
	case *plugins.DivergedError:
		equal(t, *e, plugins.DivergedError{Place: place, Tool: in.Tool, Recorded: first.Tool})
		return diverged
	case *plugins.ReconciliationError:
		if e.Place != place || e.Tool != in.Tool || e.Key != first.Key ||
			string(e.Input) != string(first.Input) {
			t.Errorf("have %+v", e)
		}
		return parked
	default:
		t.Fatalf("an unknown error: %v", err)
	}
	if !b.Done {
		mine := plugins.Place{Run: in.Run, Position: in.Position}
		if b.ID == "" || b.Key != in.Key || in.Run != "" && b.Place != mine || b.Place.Run == "" {
			t.Errorf("have %+v", b)
		}
		return runs
	}
	if b.ID != "" || b.Key != in.Key || b.Place != place {
		t.Errorf("have %+v", b)
	}
	r.checkAnswer(t, b)
	if r.second == same || r.second == otherScope {
		return replayed
	}
	return copied
}

// checkAnswer checks that what is given for the first call is what became of it.
func (r row) checkAnswer(t *testing.T, b plugins.Begun) {
	t.Helper()
	c := r.completion()
	if c.Err == nil {
		if b.Err != nil || string(b.Output.Value) != string(c.Output.Value) {
			t.Errorf("have %+v, want %+v", b, c)
		}
		return
	}
	sameFailure(t, b.Err, c.Err)
}

// sameFailure checks that a failure that was recorded is the one there was, for all who act on it.
func sameFailure(t *testing.T, have, want error) {
	t.Helper()
	if have == nil {
		t.Fatalf("no failure, want %v", want)
	}
	tool, _ := errors.AsType[*plugins.ToolError](want)
	equal(t, errors.Is(have, tool.Kind), true)
	equal(t, plugins.CauseOf(have), plugins.CauseOf(want))
	equal(t, plugins.FaultOf(have), plugins.FaultOf(want))
	equal(t, plugins.ModelText(have), plugins.ModelText(want))
	equal(t, have.Error(), want.Error())
}

func equal[T comparable](t *testing.T, have, want T) {
	t.Helper()
	if have != want {
		t.Errorf("have %+v, want %+v", have, want)
	}
}
