package ledger

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/wasmagent/wasmagent/plugins"
)

// Begin implements plugins.Ledger. The claim and the intent are one transaction, and on the disk
// when it returns.
func (l *SQLite) Begin(ctx context.Context, in plugins.Intent) (begun plugins.Begun, err error) {
	defer l.wrap(&err)
	if err := l.mayWrite(); err != nil {
		return begun, err
	}
	if err := checkIntent(&in); err != nil {
		return begun, err
	}
	var intent *Record
	err = l.w.commit(ctx, func(t *tx) (err error) {
		begun, intent, err = l.begin(t, &in)
		return err
	}, func() { l.forget(intent) })
	if err != nil {
		return plugins.Begun{}, err
	}
	return begun, nil
}

// Recall implements plugins.Recaller.
func (l *SQLite) Recall(ctx context.Context, at plugins.Place) (begun plugins.Begun, err error) {
	defer l.wrap(&err)
	if err := l.mayWrite(); err != nil {
		return begun, err
	}
	err = l.w.commit(ctx, func(t *tx) error {
		s := &sight{}
		if err := l.lookAtRun(t, at, s); err != nil {
			return err
		}
		done, err := s.recall(at)
		if err == nil && done {
			begun, err = l.replay(t, s.history.answer)
		}
		return err
	}, nil)
	if err != nil {
		return plugins.Begun{}, err
	}
	return begun, nil
}

// begin is Begin in a transaction.
func (l *SQLite) begin(t *tx, in *plugins.Intent) (plugins.Begun, *Record, error) {
	s, err := l.look(t, in)
	if err != nil {
		return plugins.Begun{}, nil, err
	}
	v, err := decide(in, &s.situation)
	if err != nil {
		return plugins.Begun{}, nil, err
	}
	switch v.step {
	case stepReplay:
		begun, err := l.replay(t, s.history.answer)
		return begun, nil, err
	case stepCopy:
		begun, err := l.copy(t, in, &v, s.claim)
		return begun, nil, err
	}
	begun, intent := l.start(t, in, &v, s.claim)
	return begun, intent, t.err
}

// sight is what the ledger holds about a call that wants to begin.
type sight struct {
	situation
	history *history // of its place
	claim   *claim   // of its key
}

// look finds out what decide must know.
func (l *SQLite) look(t *tx, in *plugins.Intent) (_ *sight, err error) {
	s := &sight{}
	if in.Run != "" {
		if err := l.lookAtRun(t, plugins.Place{Run: in.Run, Position: in.Position}, s); err != nil {
			return nil, err
		}
	}
	at, claims := slotOf(in, s.past)
	if !claims || s.past != nil && s.past.known {
		return s, t.err
	}
	if s.claim = t.claim(at); s.claim != nil {
		s.holder, err = l.holder(t, s.claim)
	}
	if err == nil {
		err = t.err
	}
	return s, err
}

// lookAtRun finds out what is known of a call's run and of its place in it.
func (l *SQLite) lookAtRun(t *tx, place plugins.Place, s *sight) (err error) {
	run := t.run(place.Run)
	if !run.found {
		return t.err
	}
	s.abandoned = run.abandoned
	if run.owner != l.owner.name {
		if s.busy, err = aliveIn(l.owners(), run.owner); err != nil {
			return err
		}
	}
	if s.history, err = t.history(place); err != nil || s.history == nil {
		return err
	}
	s.history.alive = !s.history.ended && l.isRunning(place)
	s.past = &s.history.past
	return nil
}

// holder is what a claim says of its call. Whether an unsettled one may go on is up to the records.
func (l *SQLite) holder(t *tx, c *claim) (*holder, error) {
	h := &holder{place: c.place, hash: c.hash, settled: c.settled != 0}
	if h.settled {
		return h, nil
	}
	past, err := t.history(c.place)
	if err != nil {
		return nil, err
	}
	if past == nil || past.intent == nil {
		return nil, &TamperError{Run: c.place.Run, Position: c.place.Position,
			Detail: fmt.Sprintf("it holds the key %q and has no intent", c.slot.key)}
	}
	h.effect, h.ended = past.effect, past.ended
	if !h.ended {
		h.alive, err = l.isAlive(past.intent)
	}
	return h, err
}

// isAlive reports whether the call of an intent, which has not ended, may still be running.
func (l *SQLite) isAlive(intent *Record) (bool, error) {
	if l.owner != nil && intent.Who == l.owner.name {
		return l.isRunning(intent.place()), nil
	}
	return aliveIn(l.owners(), intent.Who)
}

func (l *SQLite) isRunning(p plugins.Place) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running[p]
}

// start records the intent of a call that may run, and its claim.
func (l *SQLite) start(t *tx, in *plugins.Intent, v *verdict, held *claim) (plugins.Begun,
	*Record) {
	if v.free {
		l.letGo(t, held, l.owner.name, "its process ended and its tool may be called again")
	}
	name, position := in.Run, in.Position
	if name == "" {
		name, position = newRun(), 1
	}
	r := &Record{Kind: KindIntent, Position: position, Who: l.owner.name,
		Scope: v.slot.scope, Tool: v.slot.tool, Key: v.slot.key, CallID: clipID(in.CallID),
		Effect: v.effect, Input: in.Input, InputHash: in.InputHash}
	t.add(t.run(name), r)
	if v.claim {
		t.take(v.slot, r)
	}
	begun := plugins.Begun{ID: fmt.Sprintf("%s/%d", r.place(), r.Number), Key: v.slot.key,
		Place: r.place()}
	r.Input = nil // not needed any more, and not ours
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[begun.ID], l.running[r.place()] = r, true
	return begun, r
}

// newRun names the run of a single call.
func newRun() string { return "call-" + strings.ToLower(rand.Text()[:runChars]) }

const runChars = 16 // 80 bits

// letGo frees the slot that a call holds.
func (l *SQLite) letGo(t *tx, c *claim, who, reason string) {
	r := &Record{Kind: KindRelease, Position: c.place.Position, Who: who, Scope: c.slot.scope,
		Tool: c.slot.tool, Key: c.slot.key, State: plugins.Released, InputHash: c.hash,
		Reason: reason}
	t.add(t.run(c.place.Run), r)
	t.settle(r)
}

// forget undoes what start did outside the transaction.
func (l *SQLite) forget(intent *Record) {
	if intent == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.running, intent.place())
	delete(l.open, fmt.Sprintf("%s/%d", intent.place(), intent.Number))
}

// replay gives what a record says became of its call.
func (l *SQLite) replay(t *tx, r *Record) (plugins.Begun, error) {
	begun := plugins.Begun{Done: true, Key: r.Key, Output: r.Output, Err: r.err(), Place: r.place()}
	if r.Kind != KindCopy {
		return begun, nil
	}
	from, err := t.record(r.From.Run, r.FromRow)
	if err != nil {
		return plugins.Begun{}, err
	}
	begun.Output, begun.Place = from.Output, r.From
	return begun, nil
}

// copy gives a call the result of the one that holds its key, and records that in the call's run,
// if it has one.
func (l *SQLite) copy(t *tx, in *plugins.Intent, v *verdict, c *claim) (plugins.Begun, error) {
	from, err := t.record(c.place.Run, c.settled)
	if err != nil {
		return plugins.Begun{}, err
	}
	if from.slot() != v.slot || from.InputHash != in.InputHash || from.State != plugins.Done ||
		from.Position != c.place.Position {
		return plugins.Begun{}, &TamperError{from.Run, from.Position, from.Number,
			fmt.Sprintf("it does not settle the key %q, which says so", v.slot.key)}
	}
	if in.Run != "" {
		t.add(t.run(in.Run), &Record{Kind: KindCopy, Position: in.Position, Who: l.owner.name,
			Scope: v.slot.scope, Tool: v.slot.tool, Key: v.slot.key, CallID: clipID(in.CallID),
			Effect: v.effect, InputHash: in.InputHash, State: plugins.Done,
			From: c.place, FromRow: from.Number})
	}
	return plugins.Begun{Done: true, Key: v.slot.key, Output: from.Output, Place: c.place}, t.err
}

// End implements plugins.Ledger. The completion and the claim's settlement are one transaction.
func (l *SQLite) End(ctx context.Context, id string, c plugins.Completion) (err error) {
	defer l.wrap(&err)
	l.mu.Lock()
	intent := l.open[id]
	delete(l.open, id)
	l.mu.Unlock()
	if intent == nil {
		return fmt.Errorf("%w: no call is open under the ID %q", ErrNotFound, id)
	}
	defer l.forget(intent)
	tooLarge := checkCompletion(&c)
	err = l.w.commit(ctx, func(t *tx) error {
		l.complete(t, intent, &c)
		return t.err
	}, nil)
	if err == nil {
		err = tooLarge
	}
	return err
}

// complete records how a call ended.
func (l *SQLite) complete(t *tx, intent *Record, c *plugins.Completion) {
	r := &Record{Kind: KindCompletion, Position: intent.Position, Who: l.owner.name,
		Scope: intent.Scope, Tool: intent.Tool, Key: intent.Key, CallID: intent.CallID,
		Effect: intent.Effect, InputHash: intent.InputHash, State: c.State, Attempts: c.Attempts}
	if c.Err == nil {
		r.Output = c.Output
	} else {
		failure := plugins.Record(c.Err)
		r.Failure = &failure
	}
	t.add(t.run(intent.Run), r)
	t.settle(r)
}

// wrap says whose error it is, unless it is one that callers of tools act on.
func (l *SQLite) wrap(err *error) {
	if *err == nil || isRefusal(*err) {
		return
	}
	*err = fmt.Errorf("ledger %s: %w", l.path, *err)
}
