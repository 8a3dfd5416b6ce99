package plugins

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/wasmagent/wasmagent/abi"
)

// The operator's texts: complete, each cause printed once.

var kindNames = [...]string{
	ErrInvalidInput:          "invalid_input",
	ErrMissingIdempotencyKey: "missing_idempotency_key",
	ErrHandler:               "handler",
	ErrMalformedResult:       "malformed_result",
	ErrOutputSerialization:   "output_serialization",
}

// Error gives the kind's stable wire name, such as invalid_input.
func (k Kind) Error() string {
	if k == 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("kind_%d", uint8(k))
	}
	return kindNames[k]
}

func (e *ToolError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "tool %q", e.Tool)
	switch {
	case e.Plugin != "" && e.Digest != "":
		fmt.Fprintf(&b, " of plugin %q (%s)", e.Plugin, e.Digest)
	case e.Plugin != "":
		fmt.Fprintf(&b, " of plugin %q", e.Plugin)
	}
	fmt.Fprintf(&b, ": %s (%s)", e.Kind.Error(), CauseOf(e))
	if e.Err != nil {
		fmt.Fprintf(&b, ": %s", e.Err)
	}
	var failure *abi.Failure
	if errors.As(e.Err, &failure) && failure.Pointer != "" {
		fmt.Fprintf(&b, " at %s", failure.Pointer)
	}
	if e.Refused >= MaxRefusals {
		fmt.Fprintf(&b, "; refused %d times in a row although the schema allows it", e.Refused)
	}
	if s := e.aftermath(); s != "" {
		b.WriteString("; " + s)
	}
	return b.String()
}

// aftermath is what is known of a write's effect once the call has failed.
func (e *ToolError) aftermath() string {
	if e.Effect != abi.EffectWrite {
		return ""
	}
	switch e.Kind {
	case ErrHandler, ErrMalformedResult:
		return "its effect may or may not have happened"
	case ErrOutputSerialization:
		return "its effect has happened"
	}
	return ""
}

func (e *SchemaError) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(p.String())
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "; and %d more", e.More)
	}
	return b.String()
}

func (p Problem) String() string {
	if p.Pointer == "" {
		return "at the top: " + p.Detail
	}
	return "at " + p.Pointer + ": " + p.Detail
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("its idempotency key is the field %q, but %s", e.Path, e.Detail)
}

// CauseName is the word of the contract that was broken.
func (e *MalformedError) CauseName() string { return e.Name }

func (e *MalformedError) Error() string {
	if e.Offset < 0 {
		return e.Detail
	}
	return fmt.Sprintf("%s at byte %d", e.Detail, e.Offset)
}

// CauseName is panic.
func (e *PanicError) CauseName() string { return "panic" }

func (e *PanicError) Error() string { return fmt.Sprintf("the tool panicked: %v", e.Value) }

// Unwrap gives the panic's value when it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// maxNamed is how many of the existing tools an error names.
const maxNamed = 20

func (e *UnknownToolError) Error() string {
	return fmt.Sprintf("there is no tool %q; %s", clip(e.Tool, maxName), haveTools(e.Have))
}

func haveTools(names []string) string {
	switch n := len(names); {
	case n == 0:
		return "there are no tools at all"
	case n > maxNamed:
		return fmt.Sprintf("there are %s and %d more", strings.Join(names[:maxNamed], ", "), n-maxNamed)
	}
	return "there are " + strings.Join(names, ", ")
}

// Limits of the model's texts, in characters.
const (
	MaxModelText  = 512 // of one text; longer ones keep their head and tail
	modelTextHead = 320
	modelTextTail = 128
	maxName       = 64 // of a name that somebody made up
)

// ModelText is err for the model: short, the same for the same failure, without stacks, what a
// guest says as a quotation, free of characters that cannot be seen, at most MaxModelText
// characters. It is "" when err is nil.
func ModelText(err error) string {
	var (
		host      *hostFault
		tool      *ToolError
		unknown   *UnknownToolError
		collision *CollisionError
		inFlight  *InFlightError
	)
	var text string
	switch {
	case err == nil:
		return ""
	case errors.As(err, &host):
		text = "the call could not be carried out: the host has a fault of its own"
	case errors.As(err, &tool):
		text = tool.modelText()
	case errors.As(err, &unknown):
		text = unknown.Error()
	case errors.As(err, &collision):
		text = collision.Error()
	case errors.As(err, &inFlight):
		text = inFlight.Error()
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		text = "the call was stopped by its caller"
	default:
		text = "the call could not be carried out"
	}
	return cut(clean(text))
}

func (e *ToolError) modelText() string {
	name := fmt.Sprintf("tool %q", clip(e.Tool, maxName))
	cause := CauseOf(e)
	var b strings.Builder
	switch e.Kind {
	case ErrInvalidInput:
		b.WriteString(e.inputText(name, cause))
	case ErrMissingIdempotencyKey:
		fmt.Fprintf(&b, "%s was not run: %s", name, e.causeText())
	case ErrHandler:
		fmt.Fprintf(&b, "%s failed: %s", name, e.sandboxText(cause))
	default:
		fmt.Fprintf(&b, "%s is broken: %s; do not call it again with this", name,
			e.sandboxText(cause))
	}
	if s := e.aftermath(); s != "" {
		b.WriteString("; " + s)
	}
	return b.String()
}

func (e *ToolError) inputText(name, cause string) string {
	switch {
	case e.Refused >= MaxRefusals:
		return fmt.Sprintf("%s is broken: it refuses arguments that its own schema allows; "+
			"do not call it again with this; %s", name, e.report())
	case cause == "schema":
		return fmt.Sprintf("%s was not run: the arguments do not match its schema: %s", name,
			e.causeText())
	case cause == "carriage":
		return fmt.Sprintf("%s was not run: the arguments cannot be used: %s", name, e.causeText())
	}
	return fmt.Sprintf("%s refused the arguments: %s", name, e.report())
}

// sandboxTexts say what happened without a number that could differ from call to call.
var sandboxTexts = map[string]string{
	"limit.time":   "it did not finish within its time limit",
	"limit.fuel":   "it did not finish within its fuel limit",
	"limit.memory": "it went past its memory limit",
	"limit.stack":  "it went past its stack limit",
	"limit.output": "its result is past its output limit",
	"exit":         "it exited without a reply",
	"no_reply":     "it ended without a reply",
	"panic":        "it crashed",
	"contract":     "it broke the plugin contract",
	"bad_msgpack":  "its reply cannot be read",
	"bad_envelope": "its reply is not one of those it may give",
}

func (e *ToolError) sandboxText(cause string) string {
	if s, ok := sandboxTexts[cause]; ok {
		return s
	}
	trap, isTrap := strings.CutPrefix(cause, "trap.")
	switch {
	case isTrap:
		return fmt.Sprintf("it crashed (%s)", trap)
	case cause == "output_schema":
		return "its result does not match its own schema: " + e.causeText()
	case cause == "no_json":
		return "its result has no JSON form: " + e.causeText()
	}
	return e.report()
}

// report quotes what the tool says of itself. Quotation marks inside become single ones, so that
// nothing it says can end the quotation, however the text is cut.
func (e *ToolError) report() string {
	who := fmt.Sprintf("plugin %q", clip(e.Plugin, maxName))
	if e.Plugin == "" {
		who = "it"
	}
	var failure *abi.Failure
	errors.As(e.Err, &failure)
	said := strings.ReplaceAll(clean(e.causeText()), `"`, `'`)
	if failure != nil && failure.Pointer != "" {
		at := strings.ReplaceAll(clip(failure.Pointer, maxName), `"`, `'`)
		return fmt.Sprintf(`%s reported at "%s": "%s"`, who, at, said)
	}
	return fmt.Sprintf(`%s reported: "%s"`, who, said)
}

func (e *ToolError) causeText() string {
	if e.Err == nil {
		return "no reason given"
	}
	return e.Err.Error()
}

// clean makes text safe to show, whatever its length.
func clean(s string) string { return abi.CleanText(s, len(s)) }

// clip makes a name safe to show and short.
func clip(s string, max int) string { return abi.CleanText(s, max) }

// cut keeps the head and the tail of a text of more than MaxModelText characters.
func cut(s string) string {
	n := utf8.RuneCountInString(s)
	if n <= MaxModelText {
		return s
	}
	r := []rune(s)
	return fmt.Sprintf("%s … [%d characters left out] … %s", string(r[:modelTextHead]),
		n-modelTextHead-modelTextTail, string(r[n-modelTextTail:]))
}
