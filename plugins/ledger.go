package plugins

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"strconv"

	"github.com/wasmagent/wasmagent/abi"
)

// Ledger records calls before they run and after, and lets only one call at a time have a key. Each
// method is atomic, whoever else uses the same ledger. Package plugins/ledger has implementations,
// and pluginstest.Ledger tests any.
type Ledger interface {
	// Begin records the intent to run a call and claims its key, if it has one, in one step. What it
	// finds decides: the call must run and then be ended under the ID given; or it is done already,
	// and what became of it is given; or it may not run: a *CollisionError, an *InFlightError, a
	// *RunBusyError, a *DivergedError or a *ReconciliationError, and nothing is recorded. Any other
	// error is the ledger's own: nothing may run.
	Begin(ctx context.Context, in Intent) (Begun, error)

	// End records how the call that was begun under this ID ended and settles its claim, in one step.
	End(ctx context.Context, id string, c Completion) error
}

// Recaller is what a Ledger may be, too.
type Recaller interface {
	// Recall tells what became of the call at a place of a run, and records nothing. It is Done as
	// Begin says it of the same call; or it may be running still: an *InFlightError, a *RunBusyError;
	// or it is a write of which nobody knows whether it happened: a *ReconciliationError. In every
	// other case it is not Done: nothing is recorded of it, or it can be called again.
	Recall(ctx context.Context, at Place) (Begun, error)
}

// Intent is a call that is about to run. A claim is unique over Scope, Tool and Key.
type Intent struct {
	Run              string // "": a run of this one call, which the ledger names
	Position         int    // in Run, from 1; 0 exactly when Run is ""
	Scope, Tool, Key string // Key "": nothing is claimed; calls that only read never claim
	CallID           string
	Effect           abi.Effect
	Input            json.RawMessage   // as the tool will see it; not kept by reference
	InputHash        [sha256.Size]byte // the same for the same input, however it is written
}

// Begun is a call that may run, or that is Done: by this very run and position, or by another that
// had the same key and input.
type Begun struct {
	ID     string // to End it by; "" when it is Done
	Key    string // to run with: a call that is run again keeps the one it had, if it had any
	Done   bool
	Output Output // when it is Done and gave a result
	Err    error  // when it is Done and failed: a *ToolError with a *RecordedError as its cause
	Place  Place  // where it is recorded, by this call or by the one that it is copied from
}

// Completion is how a call ended.
type Completion struct {
	State    State
	Output   Output // when Err is nil
	Err      error  // one that is no *ToolError tells nothing of the tool: its caller left, say
	Attempts int
}

// Place is where a call is recorded: a run, such as an agent's session, and its place in it.
type Place struct {
	Run      string
	Position int // from 1
}

// String gives RUN#POSITION.
func (p Place) String() string { return p.Run + "#" + strconv.Itoa(p.Position) }

// State is what becomes of a call's claim.
type State uint8

const (
	Unknown  State = iota // the effect may have happened: the claim holds until somebody resolves it
	Done                  // the output is copied to later calls with the same input
	Released              // the key is free again
)

// stateAfter is what becomes of a claim by the tool's effect and the way its call ended. Only a
// refusal that is the end itself, and not the cause of another, says that nothing happened.
func stateAfter(effect abi.Effect, err error) State {
	tool, isTool := err.(*ToolError)
	switch {
	case err == nil:
		return Done
	case effect == abi.EffectIdempotent, effect == abi.EffectRead:
		return Released
	case isTool && tool.Kind == ErrInvalidInput && !is[*hostFault](err):
		return Released
	}
	return Unknown
}
