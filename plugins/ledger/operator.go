package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
)

// Resolution is what an operator found out about a call of which nobody knew whether it happened.
type Resolution struct {
	Happened bool
	Output   plugins.Output // its result, when it happened; without any it is the value null
	Reason   string         // how the operator knows; required when it did not happen
}

// Resolve records what became of a call: one whose process died, one whose caller left, or a write
// that failed and holds its key. If it happened, its key is settled, and later calls get the output
// given here; if not, its key is free. The run of a call that had no outcome gets the output too,
// or a failure that says that an operator recorded that it did not happen; a run that was told of a
// failure keeps that. A call that may still be running is refused with a *plugins.InFlightError,
// one that is known with ErrSettled.
func (l *SQLite) Resolve(ctx context.Context, at plugins.Place, how Resolution) (err error) {
	defer l.wrap(&err)
	if err := how.check(); err != nil {
		return err
	}
	return l.write(ctx, func(t *tx) error {
		h, err := t.history(at)
		if err != nil {
			return err
		}
		if h == nil {
			return fmt.Errorf("%w: no call %s", ErrNotFound, at)
		}
		if err := l.mayResolve(t, at, h); err != nil {
			return err
		}
		r := &Record{Kind: KindResolution, Position: at.Position, Who: Operator, Scope: h.slot.scope,
			Tool: h.slot.tool, Key: h.slot.key, Effect: h.effect, InputHash: h.hash,
			Reason: how.Reason}
		how.fill(r)
		t.add(t.run(at.Run), r)
		t.settle(r)
		return t.err
	})
}

// check refuses a resolution that says too little or too much.
func (how *Resolution) check() error {
	has := how.Output.Value != nil || how.Output.Content != nil
	switch {
	case len(how.Reason) > MaxReason:
		return &LimitError{"reason", len(how.Reason), MaxReason}
	case !how.Happened && has:
		return errors.New("a call that did not happen has no result")
	case !how.Happened && how.Reason == "":
		return errors.New("a call that did not happen needs a reason")
	case how.Output.Value != nil && how.Output.Content != nil:
		return errors.New("a result is either a value or content")
	case how.Output.Value != nil && !json.Valid(how.Output.Value):
		return errors.New("the result is not JSON")
	case size(how.Output) > MaxOutput:
		return &LimitError{"result", int(size(how.Output)), MaxOutput}
	}
	return nil
}

// fill gives a record what the operator says.
func (how *Resolution) fill(r *Record) {
	if how.Happened {
		r.State, r.Output = plugins.Done, how.Output
		if r.Output.Value == nil && r.Output.Content == nil {
			r.Output.Value = json.RawMessage("null")
		}
		return
	}
	r.State = plugins.Released
	text := "an operator recorded that it did not happen: " +
		strconv.Quote(abi.CleanText(how.Reason, MaxReason))
	r.Failure = &plugins.Recorded{
		Kind:  plugins.ErrHandler.Error(),
		Cause: "failed",
		Tool:  r.Tool,
		// Not write, of which the texts would say that it may have happened.
		Effect: abi.EffectIdempotent.String(),
		Text:   text,
		Model:  fmt.Sprintf("tool %q did not finish: %s", r.Tool, text),
	}
}

// mayResolve refuses to resolve what runs and what is known.
func (l *SQLite) mayResolve(t *tx, at plugins.Place, h *history) error {
	if h.intent != nil && !h.ended {
		alive, err := l.isAlive(h.intent)
		if err != nil {
			return err
		}
		if alive {
			return &plugins.InFlightError{Tool: h.slot.tool, Key: h.slot.key, Holder: at}
		}
	}
	if !h.known {
		return nil
	}
	if h.slot.key != "" {
		if c := t.claim(h.slot); c != nil && c.place == at && c.settled == 0 {
			return nil
		}
	}
	return fmt.Errorf("%w: what became of %s is known", ErrSettled, at)
}

// Release frees a key, whatever became of the call that holds it: the next call with it will run. A
// call that may still be running keeps its key: *plugins.InFlightError. What the call's own run
// gets as its answer is not changed.
func (l *SQLite) Release(ctx context.Context, scope, tool, key, reason string) (err error) {
	defer l.wrap(&err)
	if len(reason) > MaxReason {
		return &LimitError{"reason", len(reason), MaxReason}
	}
	return l.write(ctx, func(t *tx) error {
		c := t.claim(slot{scope, tool, key})
		if c == nil && t.err == nil {
			return fmt.Errorf("%w: nobody holds the key %q of the tool %q", ErrNotFound, key, tool)
		}
		if t.err != nil {
			return t.err
		}
		h, err := l.holder(t, c)
		if err != nil {
			return err
		}
		if h.alive {
			return &plugins.InFlightError{Tool: tool, Key: key, Holder: c.place}
		}
		l.letGo(t, c, Operator, reason)
		return t.err
	})
}

// Abandon gives a run up: nothing begins in it any more, ErrAbandoned. Its keys are settled by the
// rules of a failure: a call that may be repeated lets go of its key, and a write of which nobody
// knows whether it happened holds it until somebody resolves or releases it. A run whose process
// lives is refused with a *plugins.RunBusyError.
func (l *SQLite) Abandon(ctx context.Context, name, reason string) (err error) {
	defer l.wrap(&err)
	if len(reason) > MaxReason {
		return &LimitError{"reason", len(reason), MaxReason}
	}
	return l.write(ctx, func(t *tx) error {
		run := t.run(name)
		if err := l.mayAbandon(t, run); err != nil {
			return err
		}
		free, err := l.repeatable(t, name)
		if err != nil {
			return err
		}
		run.abandoned = true
		t.add(run, &Record{Kind: KindAbandon, Who: Operator, Reason: reason})
		for _, c := range free {
			l.letGo(t, c, Operator, "its run was abandoned")
		}
		return t.err
	})
}

func (l *SQLite) mayAbandon(t *tx, run *run) error {
	switch {
	case t.err != nil:
		return t.err
	case !run.found:
		return fmt.Errorf("%w: no run %q", ErrNotFound, run.name)
	case run.abandoned:
		return fmt.Errorf("run %q: %w", run.name, ErrAbandoned)
	}
	busy, err := l.isBusy(run)
	if err == nil && busy {
		err = &plugins.RunBusyError{Run: run.name}
	}
	return err
}

// isBusy reports whether calls of a run may be running.
func (l *SQLite) isBusy(run *run) (bool, error) {
	if run.owner != l.owner.name {
		return aliveIn(l.owners(), run.owner)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.running {
		if p.Run == run.name {
			return true, nil
		}
	}
	return false, nil
}

// repeatable lists the unsettled claims of a run's idempotent calls.
func (l *SQLite) repeatable(t *tx, name string) ([]*claim, error) {
	held, err := readClaims(context.Background(), t.w.conn, "WHERE run = ? AND settled = 0", name)
	if err != nil {
		t.err = err
		return nil, err
	}
	var free []*claim
	for _, c := range held {
		h, err := t.history(c.place)
		if err != nil {
			return nil, err
		}
		if h != nil && h.effect == abi.EffectIdempotent {
			free = append(free, c)
		}
	}
	return free, nil
}

// write carries out an operator's verb.
func (l *SQLite) write(ctx context.Context, do func(*tx) error) error {
	if err := l.mayWrite(); err != nil {
		return err
	}
	return l.w.commit(ctx, do, nil)
}
