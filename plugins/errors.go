package plugins

import "errors"

// Kind is what became of a call that gave no result. It is itself an error, so that
// errors.Is(err, ErrHandler) asks for the class.
type Kind uint8

const (
	ErrInvalidInput          Kind = iota + 1 // the tool was not run
	ErrMissingIdempotencyKey                 // the tool was not run
	ErrHandler                               // ran; its own work failed
	ErrMalformedResult                       // ran; what came back cannot be read as a result
	ErrOutputSerialization                   // ran; its value has no JSON form
)

// Error gives the kind's stable wire name, such as invalid_input.
func (k Kind) Error() string { return "" }

// ToolError is a call that gave no result: which tool, which kind, and the typed cause.
type ToolError struct {
	Tool string
	Kind Kind
	Err  error // *SchemaError, *KeyError, *abi.Failure, *MalformedError, *host.TrapError, ...
}

func (e *ToolError) Error() string { return "" }

func (e *ToolError) Unwrap() []error { return []error{e.Kind, e.Err} }

// CauseNamer is an error that has a stable wire name as a cause, such as "limit.memory".
type CauseNamer interface{ CauseName() string }

// Fault says who must act on an error.
type Fault uint8

const (
	FaultNone   Fault = iota // no error
	FaultCaller              // the arguments or the name are wrong: feed back
	FaultWorld               // the tool's own work failed: feed back
	FaultTool                // the tool is broken: feed back, log for the operator
	FaultHost                // everything else: end the run
)

// FaultOf is the only place that routes.
func FaultOf(err error) Fault { return FaultHost }

var (
	ErrLedgerRequired = errors.New("the tool declares an idempotency key, and there is no ledger")
	ErrClosed         = errors.New("closed")
)
