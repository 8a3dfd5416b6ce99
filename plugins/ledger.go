package plugins

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"

	"github.com/wasmagent/wasmagent/abi"
)

// Ledger is where the keys of calls are claimed before they run and settled after. Each method is
// atomic, whoever else uses the same ledger. Package plugins/ledger has implementations, and
// pluginstest.Ledger tests any.
type Ledger interface {
	// Claim takes a key for one call. What it finds decides: free, and the call must run and then
	// be settled under the ID given; settled with the same input, and its output is given; else a
	// *CollisionError or an *InFlightError, and nothing is recorded. Any other error is the ledger's
	// own: nothing may run.
	Claim(ctx context.Context, c Claim) (Claimed, error)

	// Settle ends the claim that was given this ID.
	Settle(ctx context.Context, id string, s Settlement) error
}

// Claim asks for a key. It is unique over Scope, Tool and Key.
type Claim struct {
	Scope, Tool, Key string
	CallID           string
	Effect           abi.Effect
	Input            json.RawMessage   // as the tool will see it; not kept by reference
	InputHash        [sha256.Size]byte // the same for the same input, however it is written
}

// Claimed is a claim that was granted, or found settled.
type Claimed struct {
	ID      string // of the claim, to settle it by
	Settled bool   // an earlier call with the same input is done; its output is Output
	Output  Output
	From    string // the CallID of that earlier call
}

// Settlement is how a claimed call ended.
type Settlement struct {
	State    State
	Output   Output // when State is Done
	Err      error  // when it is not
	Attempts int
}

// State is what becomes of a claim.
type State uint8

const (
	Unknown  State = iota // the effect may have happened: the claim holds until somebody resolves it
	Done                  // the output is copied to later calls with the same input
	Released              // the key is free again
)

// stateAfter is what becomes of a claim by the tool's effect and the way its call ended.
func stateAfter(effect abi.Effect, err error) State {
	tool, isTool := errors.AsType[*ToolError](err)
	switch {
	case err == nil:
		return Done
	case effect == abi.EffectIdempotent:
		return Released
	case isTool && tool.Kind == ErrInvalidInput:
		return Released
	}
	return Unknown
}
