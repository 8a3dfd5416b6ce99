package plugins

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
)

// Recorded is a call's failure as a ledger keeps it: all that its texts and its routing are made
// of, as plain values. It is a *ToolError's, or with no Kind the text of an error that tells
// nothing of the tool: its caller left, say, or the host had a fault.
type Recorded struct {
	Kind     string `json:"kind,omitempty"`  // its wire name, such as handler
	Cause    string `json:"cause,omitempty"` // its wire name, such as failed
	Tool     string `json:"tool,omitempty"`
	Effect   string `json:"effect,omitempty"`
	Plugin   string `json:"plugin,omitempty"`
	Origin   string `json:"origin,omitempty"` // what Plugin is; "" is a plugin
	Digest   string `json:"digest,omitempty"`
	Refused  int    `json:"refused,omitempty"`
	Attempts int    `json:"attempts,omitempty"`
	Text     string `json:"text,omitempty"`  // the cause's, for the operator
	Model    string `json:"model,omitempty"` // ModelText

	// The guest's own report, when that is the cause: an *abi.Failure.
	Code      string `json:"code,omitempty"`
	Message   string `json:"message,omitempty"`
	Pointer   string `json:"pointer,omitempty"`
	Permanent bool   `json:"permanent,omitempty"`
	Details   []byte `json:"details,omitempty"` // msgpack
}

// RecordedError is the cause of a *ToolError that a ledger kept: it has the name and the texts of
// the cause that there was.
type RecordedError struct {
	Cause   string       // its stable wire name
	Text    string       // the operator's
	Model   string       // the model's, of the whole ToolError
	Failure *abi.Failure // the guest's own report, when that was the cause
}

func (e *RecordedError) Error() string     { return e.Text }
func (e *RecordedError) CauseName() string { return e.Cause }

// Unwrap gives the guest's own report.
func (e *RecordedError) Unwrap() error {
	if e.Failure == nil {
		return nil
	}
	return e.Failure
}

// Record takes down err, how a call ended, so that Recorded.Err can give it again. It must not be
// nil.
func Record(err error) Recorded {
	tool, ok := errors.AsType[*ToolError](err)
	if !ok || is[*hostFault](err) {
		return Recorded{Text: valid(err.Error())}
	}
	r := Recorded{
		Kind:     tool.Kind.Error(),
		Cause:    CauseOf(tool),
		Tool:     tool.Tool,
		Effect:   tool.Effect.String(),
		Plugin:   tool.Plugin,
		Origin:   tool.Origin,
		Digest:   tool.Digest,
		Refused:  tool.Refused,
		Attempts: tool.Attempts,
		Model:    ModelText(tool),
	}
	if tool.Err != nil {
		r.Text = valid(tool.Err.Error())
	}
	if f, ok := errors.AsType[*abi.Failure](tool.Err); ok {
		r.Code, r.Message, r.Pointer = valid(f.Code), valid(f.Message), valid(f.Pointer)
		r.Permanent, r.Details = f.Permanent, f.Details
	}
	return r
}

// Err gives the failure that was recorded: a *ToolError with the kind, the cause's name and both
// texts of the one that there was; without a Kind, an error that has only the text.
func (r Recorded) Err() error {
	if r.Kind == "" {
		return errors.New(r.Text)
	}
	kind, effect, err := r.words()
	if err != nil {
		return HostFault(err)
	}
	return &ToolError{
		Tool: r.Tool, Kind: kind, Effect: effect, Plugin: r.Plugin, Origin: r.Origin, Digest: r.Digest,
		Refused: r.Refused, Attempts: r.Attempts,
		Err: &RecordedError{Cause: r.Cause, Text: r.Text, Model: r.Model, Failure: r.failure()},
	}
}

// failure is the guest's own report, or nil.
func (r Recorded) failure() *abi.Failure {
	if r.Code == "" && r.Message == "" && r.Pointer == "" && !r.Permanent && r.Details == nil {
		return nil
	}
	return &abi.Failure{
		Code: r.Code, Message: r.Message, Permanent: r.Permanent, Pointer: r.Pointer,
		Details: r.Details,
	}
}

// words reads the wire names of r.
func (r Recorded) words() (Kind, abi.Effect, error) {
	kind := slices.Index(kindNames[:], r.Kind)
	if kind < 1 {
		return 0, 0, fmt.Errorf("a failure of the unknown kind %q is recorded", r.Kind)
	}
	effect, ok := abi.ParseEffect(r.Effect)
	if !ok {
		return 0, 0, fmt.Errorf("a failure of a tool of the unknown effect %q is recorded", r.Effect)
	}
	return Kind(kind), effect, nil
}

// valid makes a text one that JSON can carry.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
