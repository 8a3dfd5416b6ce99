package ledger

import (
	"crypto/sha256"
	"encoding/json"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
)

// slot is what a claim is unique over.
type slot struct{ scope, tool, key string }

// past is what is recorded of a place in a run.
type past struct {
	slot   slot
	hash   [sha256.Size]byte
	effect abi.Effect
	input  json.RawMessage
	ended  bool // the call is over, whether or not anybody knows what became of it
	known  bool // it is known: a result or the tool's failure, live or by an operator's word
	alive  bool // it may still be running
}

// holder is the call that holds a slot.
type holder struct {
	place   plugins.Place
	hash    [sha256.Size]byte
	settled bool // it has a result, which may be copied
	effect  abi.Effect
	ended   bool // as of a past
	alive   bool
}

// situation is all that a ledger knows about a call that wants to begin.
type situation struct {
	busy      bool    // the run belongs to another process that lives
	abandoned bool    // an operator gave the run up
	past      *past   // nil: nothing is recorded of its place
	holder    *holder // nil: nobody holds the slot that slotOf gives
}

// step is what comes of a call that may go on.
type step uint8

const (
	stepRun    step = iota // it runs
	stepReplay             // what is recorded of its place is its answer
	stepCopy               // the slot's holder has its answer
)

// verdict says how a call goes on.
type verdict struct {
	step   step
	slot   slot
	effect abi.Effect
	claim  bool // stepRun: the slot must be taken
	free   bool // stepRun: the slot's holder died and must let go of it first
}

// slotOf is the slot that a call claims, and whether it claims any: a call that is run again keeps
// the one it had. One that had none takes what has been declared since.
func slotOf(in *plugins.Intent, p *past) (slot, bool) {
	s := slot{in.Scope, in.Tool, in.Key}
	if p != nil && p.slot.key != "" {
		s = p.slot
	}
	return s, s.key != "" && effectOf(in, p) != abi.EffectRead
}

// effectOf is the more careful of what a tool was when its call was recorded and what it is now.
func effectOf(in *plugins.Intent, p *past) abi.Effect {
	switch {
	case p == nil || p.effect == in.Effect:
		return in.Effect
	case p.effect == abi.EffectWrite || in.Effect == abi.EffectWrite:
		return abi.EffectWrite
	}
	return abi.EffectIdempotent
}

// decide is the table that every ledger follows: what becomes of a call that wants to begin. An
// error means that it may not run.
func decide(in *plugins.Intent, s *situation) (verdict, error) {
	switch {
	case s.abandoned:
		return verdict{}, ErrAbandoned
	case s.busy:
		return verdict{}, &plugins.RunBusyError{Run: in.Run}
	case s.past == nil:
		return decideSlot(in, s)
	}
	place := plugins.Place{Run: in.Run, Position: in.Position}
	switch p := s.past; {
	case p.slot.tool != in.Tool || p.hash != in.InputHash:
		return verdict{}, &plugins.DivergedError{Place: place, Tool: in.Tool, Recorded: p.slot.tool}
	case p.known:
		return verdict{step: stepReplay, slot: p.slot, effect: p.effect}, nil
	case p.alive:
		return verdict{}, &plugins.InFlightError{Tool: in.Tool, Key: p.slot.key, Holder: place}
	case p.slot.scope != in.Scope: // a namesake, which would settle the other one's key
		return verdict{}, &plugins.DivergedError{Place: place, Tool: in.Tool, Recorded: p.slot.tool}
	}
	// It began, and nobody knows what became of it: its process died, or its caller left.
	v, err := decideSlot(in, s)
	if effectOf(in, s.past) == abi.EffectWrite && (err != nil || v.step == stepRun) {
		return verdict{}, &plugins.ReconciliationError{Place: place, Tool: in.Tool,
			Key: s.past.slot.key, Input: s.past.input}
	}
	return v, err
}

// recall is the part of the table about a call that is only looked at: whether it is done.
func (s *situation) recall(at plugins.Place) (done bool, err error) {
	switch p := s.past; {
	case s.busy:
		return false, &plugins.RunBusyError{Run: at.Run}
	case p == nil, p.known:
		return p != nil, nil
	case p.alive:
		return false, &plugins.InFlightError{Tool: p.slot.tool, Key: p.slot.key, Holder: at}
	case p.effect == abi.EffectWrite && !s.abandoned:
		return false, &plugins.ReconciliationError{Place: at, Tool: p.slot.tool, Key: p.slot.key,
			Input: p.input}
	}
	return false, nil
}

// decideSlot is the part of the table about the slot that a call claims.
func decideSlot(in *plugins.Intent, s *situation) (verdict, error) {
	at, claims := slotOf(in, s.past)
	run := verdict{step: stepRun, slot: at, effect: effectOf(in, s.past)}
	if !claims {
		return run, nil
	}
	switch h := s.holder; {
	case h == nil:
		run.claim = true
		return run, nil
	case h.settled && h.hash == in.InputHash:
		return verdict{step: stepCopy, slot: at, effect: run.effect}, nil
	case h.settled:
		return verdict{}, &plugins.CollisionError{Tool: in.Tool, Key: at.key, Holder: h.place}
	case h.place == plugins.Place{Run: in.Run, Position: in.Position}:
		return run, nil
	case h.effect == abi.EffectIdempotent && !h.alive:
		run.claim, run.free = true, true
		return run, nil
	default:
		return verdict{}, &plugins.InFlightError{Tool: in.Tool, Key: at.key, Holder: h.place,
			Unresolved: h.ended || !h.alive}
	}
}
