package plugins

import (
	"errors"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/transcode"
)

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

// maxRefusals is how many calls in a row a tool may refuse input that its own schema allows before
// the fault is the tool's.
const maxRefusals = 2

// FaultOf says who must act on err. It is the only place that routes. A tool's own time limit
// matches context.DeadlineExceeded too, so nothing here asks for context errors before it has
// asked for a ToolError; what is none of the known is the host's.
func FaultOf(err error) Fault {
	tool, isTool := errors.AsType[*ToolError](err)
	switch {
	case err == nil:
		return FaultNone
	case is[*hostFault](err):
		return FaultHost
	case isTool:
		return tool.fault()
	case is[*UnknownToolError](err), is[*CollisionError](err):
		return FaultCaller
	case is[*InFlightError](err), is[*RunBusyError](err):
		return FaultWorld
	}
	return FaultHost
}

func (e *ToolError) fault() Fault {
	switch e.Kind {
	case ErrInvalidInput:
		if e.Refused >= maxRefusals {
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
type CauseNamer interface {
	error
	CauseName() string
}

// CauseOf gives the stable wire name of what stopped a call. Of a ToolError it is schema, carriage,
// guest_input, key, failed, panic, output_schema, guest_output, no_json, no_reply, contract,
// bad_msgpack, bad_envelope or the word of a CauseNamer, such as trap.unreachable. Of the other
// errors in errors.go it is unknown_tool, collision, in_flight, unresolved, run_busy, diverged,
// needs_reconciliation, unknown_rule or ledger_required. It is "" for all else.
func CauseOf(err error) string {
	tool, ok := errors.AsType[*ToolError](err)
	if !ok {
		return refusalOf(err)
	}
	if named, ok := errors.AsType[CauseNamer](tool.Err); ok {
		return named.CauseName()
	}
	switch {
	case is[*SchemaError](tool.Err) && tool.Kind == ErrMalformedResult:
		return "output_schema"
	case is[*SchemaError](tool.Err):
		return "schema"
	case is[*transcode.CarriageError](tool.Err):
		return "carriage"
	case is[*abi.Failure](tool.Err) && tool.Kind == ErrOutputSerialization:
		return "guest_output"
	}
	return defaultCause[tool.Kind]
}

// refusalOf names why a call was not even tried, or gives "".
func refusalOf(err error) string {
	if held, ok := errors.AsType[*InFlightError](err); ok && held.Unresolved {
		return "unresolved"
	}
	switch {
	case is[*UnknownToolError](err):
		return "unknown_tool"
	case is[*CollisionError](err):
		return "collision"
	case is[*InFlightError](err):
		return "in_flight"
	case is[*RunBusyError](err):
		return "run_busy"
	case is[*DivergedError](err):
		return "diverged"
	case is[*ReconciliationError](err):
		return "needs_reconciliation"
	case is[*RuleError](err):
		return "unknown_rule"
	case errors.Is(err, ErrLedgerRequired):
		return "ledger_required"
	}
	return ""
}

// defaultCause names a cause that has no type of its own, such as a native tool's error.
var defaultCause = map[Kind]string{
	ErrInvalidInput:          "guest_input",
	ErrMissingIdempotencyKey: "key",
	ErrHandler:               "failed",
	ErrMalformedResult:       "bad_envelope",
	ErrOutputSerialization:   "no_json",
}

// is reports whether err is or wraps an E.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
