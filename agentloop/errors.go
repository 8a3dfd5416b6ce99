package agentloop

import (
	"errors"
	"fmt"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/agentloop/interchange"
	"github.com/wasmagent/wasmagent/agentloop/jobs"
	"github.com/wasmagent/wasmagent/agentloop/provider"
	"github.com/wasmagent/wasmagent/agentloop/session"
	"github.com/wasmagent/wasmagent/agentloop/subagents"
	"github.com/wasmagent/wasmagent/plugins"
)

// This page has every error of an agent. Code gives each its stable name, and FeedsModel tells
// which ones a model is told of and which end a run.

// Errors of a model's provider. They end a run.
type (
	MissingAPIKeyError = provider.MissingAPIKeyError
	HTTPError          = provider.HTTPError
	StatusError        = provider.StatusError
	DecodeError        = provider.DecodeError
)

// Errors of a call. A model is told of them.
type (
	UnknownToolError = plugins.UnknownToolError

	// ToolError is a call that gave no result. The kinds ErrInvalidInput and
	// ErrMissingIdempotencyKey are arguments that were wrong (Code: invalid_arguments), also when
	// the loop itself or a built-in tool finds them so; the others are a tool that failed (tool).
	ToolError = plugins.ToolError

	// DeniedError is a call that was not allowed. It did not run.
	DeniedError struct{ Tool, Reason string }
)

// InvalidSessionError is a stored session that breaks its own rules.
type InvalidSessionError = session.InvalidError

// InterchangeError is a session of another agent's that cannot be imported, or one that cannot be
// exported.
type InterchangeError = interchange.Error

// NewToolError is a tool's failure in a few words.
func NewToolError(tool, message string) *ToolError {
	return &ToolError{Tool: tool, Kind: plugins.ErrHandler, Effect: abi.EffectRead,
		Err: errors.New(message)}
}

// NewInvalidArguments is arguments that a tool, or whoever stands before it, cannot take.
func NewInvalidArguments(tool, message string) *ToolError {
	return &ToolError{Tool: tool, Kind: plugins.ErrInvalidInput, Err: arguments(message)}
}

// arguments is what is wrong with arguments that were never shown to a tool.
type arguments string

func (e arguments) Error() string     { return string(e) }
func (e arguments) CauseName() string { return "carriage" }

// MaxIterationsError is a run that used up its round trips without an answer. What it gathered is
// in the history, and a later run goes on from there.
type MaxIterationsError struct{ N int }

// ContextLimitError is a request that does not fit into the model's context. It was not sent.
type ContextLimitError struct {
	ProjectedTokens int // of messages and tools, without the reserve
	ReserveTokens   int // kept free for the answer
	ContextLimit    int
	Model           string
}

// IOError is a file operation outside a tool that failed, such as recording the conversation.
type IOError struct{ Err error }

// SdkError is a call of this API that cannot be carried out, or of package sdk, which drives loops.
// Name is a stable name, the one that SdkCode gives. Code names only the outermost variant: what is
// behind an SdkError is named by Code of its Err.
type SdkError struct {
	Name string // SdkBusy and so on
	Err  error
}

// The names of an SdkError. They never change; there may be more later.
const (
	SdkUnauthorized      = "unauthorized" // the model's key is missing, or its provider refuses it
	SdkInvalidArgument   = "invalid_argument"
	SdkNotFound          = "not_found" // a conversation, a run, a question
	SdkBusy              = "busy"
	SdkUnsupportedAction = "unsupported_action"
	SdkExecution         = "execution" // a run, or what was asked for, ended in the error Err
	SdkClosed            = "closed"
)

// ErrBusy is a second Run of a Loop while one runs.
var ErrBusy error = &SdkError{SdkBusy, errors.New("the loop is running already; " +
	"wait until its run has ended")}

// OtherError is an error of a caller's own model or hook that is none of the others.
type OtherError struct {
	Where string // model, approval, hook before a tool, hook after a tool
	Err   error
}

// Errors of subagents and background jobs, which a model asks for by tools.
type (
	SubagentDepthError            = subagents.DepthError
	SubagentConcurrencyError      = subagents.ConcurrencyError
	SubagentDefinitionError       = subagents.DefinitionError
	SubagentNotFoundError         = subagents.NotFoundError
	BackgroundJobConcurrencyError = jobs.ConcurrencyError
	BackgroundJobNotFoundError    = jobs.NotFoundError
)

// ErrSubagentBackgroundPolicy is a background subagent where nothing says who answers for it.
var ErrSubagentBackgroundPolicy = subagents.ErrBackgroundPolicy

func (e *DeniedError) Error() string {
	return fmt.Sprintf("tool %q was not run, the call is denied: %s", e.Tool, e.Reason)
}

func (e *MaxIterationsError) Error() string {
	return "no answer after " + count(e.N, "round trip") + " with the model"
}

func (e *ContextLimitError) Error() string {
	return fmt.Sprintf("the request does not fit into the context of model %q and was not sent: "+
		"%d tokens projected + %d kept for the answer > %d", e.Model, e.ProjectedTokens,
		e.ReserveTokens, e.ContextLimit)
}

func (e *IOError) Error() string { return e.Err.Error() }
func (e *IOError) Unwrap() error { return e.Err }

func (e *SdkError) Error() string { return e.Err.Error() }
func (e *SdkError) Unwrap() error { return e.Err }

func (e *OtherError) Error() string { return fmt.Sprintf("%s: %v", e.Where, e.Err) }
func (e *OtherError) Unwrap() error { return e.Err }
