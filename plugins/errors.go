package plugins

import (
	"errors"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/transcode"
)

// Kind is what became of a call that gave no result. It is itself an error, so that
// errors.Is(err, ErrHandler) asks for the class.
type Kind uint8

const (
	ErrInvalidInput          Kind = iota + 1 // the arguments are wrong; the tool was not run
	ErrMissingIdempotencyKey                 // the arguments yield no key; the tool was not run
	ErrHandler                               // ran; its own work failed
	ErrMalformedResult                       // ran; what came back cannot be read as a result
	ErrOutputSerialization                   // ran; its value has no JSON form
)

// ToolError is a call that gave no result: which tool, which kind, and the typed cause. Its text
// is for the operator and complete; ModelText gives the model's.
type ToolError struct {
	Tool    string
	Kind    Kind
	Effect  abi.Effect // the tool's: after a write, the texts say that it may have happened
	Plugin  string     // whose tool it is; "" for a native one
	Digest  string     // of the plugin's code
	Refused int        // calls in a row whose input the schema allowed and the tool did not
	Err     error      // the cause: one of the types below, an *abi.Failure, a host's error
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

// ErrLedgerRequired is a keyed tool in a registry without a ledger. Nothing ran.
var ErrLedgerRequired = errors.New(
	"the tool declares an idempotency key and the registry has no ledger to claim it in")

// HostFault marks err as the host's own: the engine, the ledger or the disk is broken.
func HostFault(err error) error {
	if err == nil {
		return nil
	}
	return &hostFault{err}
}

// Fault says who must act on an error.
type Fault uint8

const (
	FaultNone   Fault = iota // no error
	FaultCaller              // the arguments or the name are wrong: feed back
	FaultWorld               // the tool's own work failed: feed back
	FaultTool                // the tool is broken: feed back, log for the operator
	FaultHost                // everything else: end the run
)

// String gives the word for f: none, caller, world, tool or host.
func (f Fault) String() string {
	return [...]string{"none", "caller", "world", "tool", "host"}[min(f, FaultHost)]
}

// MaxRefusals is how many calls in a row a tool may refuse input that its own schema allows before
// the fault is the tool's.
const MaxRefusals = 2

// FaultOf says who must act on err. It is the only place that routes. A tool's own time limit
// matches context.DeadlineExceeded too, so nothing here asks for context errors before it has
// asked for a ToolError; what is none of the known is the host's.
func FaultOf(err error) Fault {
	var (
		host      *hostFault
		tool      *ToolError
		unknown   *UnknownToolError
		collision *CollisionError
		inFlight  *InFlightError
	)
	switch {
	case err == nil:
		return FaultNone
	case errors.As(err, &host):
		return FaultHost
	case errors.As(err, &tool):
		return tool.fault()
	case errors.As(err, &unknown), errors.As(err, &collision):
		return FaultCaller
	case errors.As(err, &inFlight):
		return FaultWorld
	}
	return FaultHost
}

func (e *ToolError) fault() Fault {
	switch e.Kind {
	case ErrInvalidInput:
		if e.Refused >= MaxRefusals {
			return FaultTool
		}
		return FaultCaller
	case ErrMissingIdempotencyKey:
		return FaultCaller
	case ErrHandler:
		return FaultWorld
	case ErrMalformedResult, ErrOutputSerialization:
		return FaultTool
	}
	return FaultHost
}

// CauseNamer is an error that has a stable wire name as a cause, such as limit.memory.
type CauseNamer interface{ CauseName() string }

// CauseOf gives the stable wire name of a ToolError's cause, or "" when err is none: schema,
// carriage, guest_input, key, failed, panic, output_schema, guest_output, no_json, no_reply,
// contract, bad_msgpack, bad_envelope, and the words of CauseNamers, such as trap.unreachable.
func CauseOf(err error) string {
	var tool *ToolError
	if !errors.As(err, &tool) {
		return ""
	}
	var (
		named    CauseNamer
		schema   *SchemaError
		carriage *transcode.CarriageError
		failure  *abi.Failure
	)
	switch {
	case errors.As(tool.Err, &named):
		return named.CauseName()
	case errors.As(tool.Err, &schema) && tool.Kind == ErrMalformedResult:
		return "output_schema"
	case errors.As(tool.Err, &schema):
		return "schema"
	case errors.As(tool.Err, &carriage):
		return "carriage"
	case errors.As(tool.Err, &failure) && tool.Kind == ErrOutputSerialization:
		return "guest_output"
	}
	return defaultCause[tool.Kind]
}

// defaultCause names a cause that has no type of its own, such as a native tool's error.
var defaultCause = map[Kind]string{
	ErrInvalidInput:          "guest_input",
	ErrMissingIdempotencyKey: "key",
	ErrHandler:               "failed",
	ErrMalformedResult:       "bad_envelope",
	ErrOutputSerialization:   "no_json",
}

type hostFault struct{ err error }

func (e *hostFault) Error() string { return e.err.Error() }
func (e *hostFault) Unwrap() error { return e.err }
