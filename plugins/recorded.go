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
	Kind     string       `json:"kind,omitempty"`  // wire names, such as handler and failed
	Cause    string       `json:"cause,omitempty"` //
	Tool     string       `json:"tool,omitempty"`
	Effect   string       `json:"effect,omitempty"`
	Plugin   string       `json:"plugin,omitempty"`
	Digest   string       `json:"digest,omitempty"`
	Refused  int          `json:"refused,omitempty"`
	Attempts int          `json:"attempts,omitempty"`
	Text     string       `json:"text,omitempty"`    // the cause's, for the operator
	Model    string       `json:"model,omitempty"`   // ModelText
	Failure  *abi.Failure `json:"failure,omitempty"` // the guest's own report, when that is the cause
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
	failure, _ := errors.AsType[*abi.Failure](tool.Err)
	return Recorded{
		Kind:     tool.Kind.Error(),
		Cause:    CauseOf(tool),
		Tool:     tool.Tool,
		Effect:   tool.Effect.String(),
		Plugin:   tool.Plugin,
		Digest:   tool.Digest,
		Refused:  tool.Refused,
		Attempts: tool.Attempts,
		Text:     valid(tool.causeText()),
		Model:    ModelText(tool),
		Failure:  failure,
	}
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
		Tool: r.Tool, Kind: kind, Effect: effect, Plugin: r.Plugin, Digest: r.Digest,
		Refused: r.Refused, Attempts: r.Attempts,
		Err: &RecordedError{Cause: r.Cause, Text: r.Text, Model: r.Model, Failure: r.Failure},
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
