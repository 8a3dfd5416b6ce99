package plugins

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/wasmagent/wasmagent/abi"
)

// Tool is something that can be called, at any time and by any number of callers at once. Invoke
// returns a *ToolError, an error marked by HostFault, or the context's own error when the caller
// has ended the call; any other error is taken for the tool's own report: ErrHandler.
type Tool interface {
	Spec() abi.ToolSpec
	Invoke(ctx context.Context, call Call) (Output, error)
}

// Scoper is a Tool that says whose keys it claims: two tools of one name with different scopes
// never see one another's. Without it a tool's scope is Options.Scope.
type Scoper interface{ Scope() string }

// Ruler is a Tool that brings the operator's word about itself along. Where Options.Rules names the
// tool, that counts instead.
type Ruler interface{ Rule() Rule }

// Call is one call of a tool. A caller sets ID, Tool, Input and, for a call that a ledger has to
// know when it comes again, Run and Position; the registry sets Packed, Key and Attempt.
type Call struct {
	ID, Tool string
	Run      string          // a durable run, such as an agent's session; "": none
	Position int             // the call's place in the run, from 1; 0 without one
	Input    json.RawMessage // absent means {}; not changed, not kept
	Packed   abi.Raw         // Input as msgpack, good until Invoke returns
	Key      string          // the idempotency key; "" when unkeyed
	Attempt  int             // from 1

	// What a caller hears while the tool runs. None may block: the tool waits for it.
	Progress func(abi.Progress)                 // nil: not wanted
	Log      func(level abi.Level, text string) // nil: the host's logger
	Output   func(stderr bool, b []byte)        // what it prints, raw; b may be kept; nil: not wanted

	// Started is called once, when nothing stands in the way of the tool any more: not for a call
	// that is refused, nor for one whose result is recorded. Nil: not wanted.
	Started func()
}

// Output is what a tool gives back: either a JSON value or content blocks.
type Output struct {
	Value   json.RawMessage
	Content []abi.Block
}

// Result is a call that succeeded.
type Result struct {
	Output
	Key      string
	Attempts int      // how often the tool was run for it; 0 when Copied
	Copied   bool     // the ledger had it: nothing ran
	Place    Place    // where it is recorded, by this call or the earlier one; zero if nowhere
	Notes    []string // what the registry did to the arguments or noticed about the result

	// OutputSchema is the one that the result matches: of the very tool that ran, which may have
	// been replaced since. "": it has none, or a copied result does not match it.
	OutputSchema string
}

// Options of a Registry. Nil and zero fields are the documented defaults.
type Options struct {
	Ledger Ledger          // records calls; nil refuses every call that needs one
	Rules  map[string]Rule // by tool name
	Scope  string          // whose keys these are, for tools that are no Scoper
	Logger *slog.Logger    // one line a call: debug, or warn and error by fault; nil discards

	// RetryWait is about how long a call waits before its second attempt; before its third it waits
	// twice as long. 0 is DefaultRetryWait.
	RetryWait time.Duration
}

// Rule is what the operator decides about one tool. Nothing that a plugin says can set any of it.
// The zero value decides nothing.
type Rule struct {
	// Key is the path of the input field that identifies a call, such as order.id; "" is none. Its
	// names look up fields of objects as they are; nothing is escaped, trimmed or an array's index.
	Key string

	// Effect is what repeating a call may do; nil is what the tool's own Spec says. A plugin that is
	// linked to nothing which it could change counts as read there, whatever it declares: then a Key
	// alone is derived and handed over, but nothing is recorded, and each call runs.
	Effect *abi.Effect

	// RetryTimeouts makes the tool's own time limit a failure that may be tried again.
	RetryTimeouts bool
}
