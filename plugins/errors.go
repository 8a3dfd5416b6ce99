package plugins

import (
	"encoding/json"
	"errors"

	"github.com/wasmagent/wasmagent/abi"
)

// Kind is what became of a call that gave no result. It is itself an error, so that
// errors.Is(err, ErrHandler) asks for the class.
type Kind uint8

const (
	// The arguments are wrong. The tool was not run, unless the cause is an *abi.Failure, whose
	// name is guest_input: then it looked at them and refused.
	ErrInvalidInput          Kind = iota + 1
	ErrMissingIdempotencyKey      // the arguments yield no key; the tool was not run
	ErrHandler                    // ran; its own work failed
	ErrMalformedResult            // ran; what came back cannot be read as a result
	ErrOutputSerialization        // ran; its value has no JSON form
)

// ToolError is a call that gave no result: which tool, which kind, and the typed cause. Its text
// is for the operator and complete; ModelText gives the model's.
type ToolError struct {
	Tool     string
	Kind     Kind
	Effect   abi.Effect // the tool's: after a write, the texts say that it may have happened
	Plugin   string     // whose tool it is; "" for a native one
	Origin   string     // what Plugin is, a word such as server; "" is a plugin
	Digest   string     // of the plugin's code
	Refused  int        // calls in a row whose input the schema allowed and the tool did not
	Attempts int        // how often the tool was run; 0: it was not
	Place    Place      // where the call is recorded, if it is
	Err      error      // the cause: one of the types below, an *abi.Failure, a host's error
}

// Unwrap makes both the kind and the cause reachable.
func (e *ToolError) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// SchemaError is a value that its schema does not allow.
type SchemaError struct {
	Pointer  string    // JSON pointer of the first problem; "" is the whole value
	Problems []Problem // sorted by place, at most MaxProblems
	More     int       // problems that are not listed
}

// Problem is one thing wrong with a value.
type Problem struct{ Pointer, Detail string }

// KeyError is an input that yields no idempotency key at the declared path.
type KeyError struct{ Path, Detail string }

// MalformedError is a reply that cannot be read as a result.
type MalformedError struct {
	Name   string // no_reply, contract, bad_msgpack or bad_envelope
	Detail string
	Offset int // byte of the reply; -1 when the detail is not about one
}

// PanicError is a panic of a native tool.
type PanicError struct {
	Value any
	Stack []byte
}

// UnknownToolError is a call of a tool that is not there.
type UnknownToolError struct {
	Tool string
	Have []string // the tools that are, sorted
}

// CollisionError is a key that was used before with another input. Nothing ran and nothing is
// copied.
type CollisionError struct {
	Tool, Key string
	Holder    Place
}

// InFlightError is a call, or its key, that another one holds: it runs now, or it ended in a way
// that leaves open whether its effect happened. Nothing ran.
type InFlightError struct {
	Tool, Key  string // Key is "" when the very call, which has none, runs elsewhere
	Holder     Place
	Unresolved bool // the holder has ended and its outcome is not known
}

// RunBusyError is a run that belongs to somebody else who is still at it. Nothing ran.
type RunBusyError struct{ Run string }

// DivergedError is a run that comes to a place where another call is recorded: what drives it does
// not do again what it did before. Nothing ran.
type DivergedError struct {
	Place          Place
	Tool, Recorded string // the tools; the same name: other arguments, or of another plugin
}

// ReconciliationError is a write that began and of which nobody knows whether it happened, since
// its process died or its caller left. Nothing runs in its place until somebody records what
// happened.
type ReconciliationError struct {
	Place     Place
	Tool, Key string // Key may be ""
	Input     json.RawMessage
}

// RuleError is rules of the operator's for tools that are not there. Nothing runs until they are.
type RuleError struct {
	Tools []string // that the rules are for, sorted
	Have  []string // the tools that are there, sorted
}

// ErrLedgerRequired is a call that has a key, or belongs to a run, in a registry without a ledger.
// Nothing ran.
var ErrLedgerRequired = errors.New("the call must be recorded and the registry has no ledger")

// HostFault marks err as the host's own: the engine, the ledger or the disk is broken.
func HostFault(err error) error {
	if err == nil {
		return nil
	}
	return &hostFault{err}
}

type hostFault struct{ err error }

func (e *hostFault) Error() string { return e.err.Error() }
func (e *hostFault) Unwrap() error { return e.err }
