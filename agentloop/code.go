package agentloop

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/wasmagent/wasmagent/plugins"
)

// variant is one kind of error: its name, how to find it in an error, and whether a model is told.
type variant struct {
	code  string
	feeds bool // only of errors that plugins.FaultOf does not know
	find  func(error) error
}

// variants are looked for in this order. Those that a tool may end with come before tool itself,
// and what wraps others comes before those.
var variants = []variant{
	{"other", false, findOuter[*OtherError]},
	{"sdk", false, findOuter[*SdkError]},
	{"unknown_tool", false, find[*UnknownToolError]},
	{"denied", true, find[*DeniedError]},
	{"subagent_depth_exceeded", true, find[*SubagentDepthError]},
	{"subagent_concurrency_exceeded", true, find[*SubagentConcurrencyError]},
	{"subagent_background_policy_missing", true, findThis(ErrSubagentBackgroundPolicy)},
	{"subagent_definition_not_found", true, find[*SubagentDefinitionError]},
	{"subagent_not_found", true, find[*SubagentNotFoundError]},
	{"background_job_concurrency_exceeded", true, find[*BackgroundJobConcurrencyError]},
	{"background_job_not_found", true, find[*BackgroundJobNotFoundError]},
	{"reduction", false, find[*ReductionError]},
	{"invalid_arguments", false, findInvalidArguments},
	{"tool", false, find[*ToolError]},
	{"interchange", false, find[*InterchangeError]},
	{"missing_api_key", false, find[*MissingAPIKeyError]},
	{"http", false, find[*HTTPError]},
	{"provider", false, find[*StatusError]},
	{"decode", false, find[*DecodeError]},
	{"invalid_session", false, find[*InvalidSessionError]},
	{"max_iterations", false, find[*MaxIterationsError]},
	{"context_limit_exceeded", false, find[*ContextLimitError]},
	{"io", false, findIO},
	{"invalid_arguments", false, findFault(plugins.FaultCaller)},
	{"tool", false, findFault(plugins.FaultWorld)},
	{"cancelled", false, findThis(context.Canceled)},
	{"cancelled", false, findThis(context.DeadlineExceeded)},
}

// Code gives the stable name of an error: "" for none, and "other" for one that is none of this
// package's. There may be more names later.
func Code(err error) string {
	v, _ := variantOf(err)
	return v.code
}

// FeedsModel reports whether err is told to the model as the result of its call, so that the loop
// goes on; any other error ends the run. It is the only place that decides.
func FeedsModel(err error) bool {
	v, _ := variantOf(err)
	switch plugins.FaultOf(err) {
	case plugins.FaultNone:
		return false
	case plugins.FaultHost:
		return v.feeds
	}
	// A hook or a run may fail with an error of a tool's: it is theirs then.
	return v.code != "other" && v.code != "sdk"
}

// SdkCode gives the stable name of an SdkError's cause, or "" when err is none.
func SdkCode(err error) string {
	if e, ok := errors.AsType[*SdkError](err); ok {
		return e.Name
	}
	return ""
}

// variantOf gives the variant that an error is of, and the error of it in the chain.
func variantOf(err error) (variant, error) {
	if err == nil {
		return variant{}, nil
	}
	for _, v := range variants {
		if found := v.find(err); found != nil {
			return v, found
		}
	}
	return variant{code: "other"}, err
}

func find[E error](err error) error {
	if e, ok := errors.AsType[E](err); ok {
		return e
	}
	return nil
}

func findThis(target error) func(error) error {
	return func(err error) error {
		if errors.Is(err, target) {
			return target
		}
		return nil
	}
}

// findOuter finds an OtherError or SdkError only above all else: inside a ToolError it is the
// tool's, and inside one another the outer one counts.
func findOuter[E error](err error) error {
	for ; err != nil; err = errors.Unwrap(err) {
		switch err.(type) {
		case E:
			return err
		case *OtherError, *SdkError:
			return nil
		}
	}
	return nil
}

// findFault finds what package plugins has no ToolError for, such as a key that is in use.
func findFault(fault plugins.Fault) func(error) error {
	return func(err error) error {
		if plugins.FaultOf(err) == fault {
			return err
		}
		return nil
	}
}

func findInvalidArguments(err error) error {
	e, ok := errors.AsType[*ToolError](err)
	if ok && (e.Kind == plugins.ErrInvalidInput || e.Kind == plugins.ErrMissingIdempotencyKey) {
		return e
	}
	return nil
}

func findIO(err error) error {
	for _, f := range [...]func(error) error{
		find[*IOError], find[*fs.PathError], find[*os.LinkError], find[*os.SyscallError],
	} {
		if found := f(err); found != nil {
			return found
		}
	}
	return nil
}
