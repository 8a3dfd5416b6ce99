package plugins

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/wasmagent/wasmagent/abi"
)

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
	if err == nil {
		return ""
	}
	return cut(clean(modelText(err)))
}

func modelText(err error) string {
	if is[*hostFault](err) {
		return "the call could not be carried out: the host has a fault of its own"
	}
	if e, ok := errors.AsType[*ToolError](err); ok {
		return e.modelText()
	}
	if e, ok := errors.AsType[*UnknownToolError](err); ok {
		return e.Error()
	}
	if e, ok := errors.AsType[*CollisionError](err); ok {
		return e.Error()
	}
	if e, ok := errors.AsType[*InFlightError](err); ok {
		return e.Error()
	}
	if e, ok := errors.AsType[*RunBusyError](err); ok {
		return e.Error()
	}
	if e, ok := errors.AsType[*ReconciliationError](err); ok {
		return fmt.Sprintf("tool %q was not run: its call began before, and nobody knows whether its "+
			"effect happened; a person must find out", clip(e.Tool, maxName))
	}
	if is[*DivergedError](err) {
		return "the call could not be carried out: the run does not go on as it went before"
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return "the call was stopped by its caller"
	}
	return "the call could not be carried out"
}

func (e *ToolError) modelText() string {
	if recorded, ok := errors.AsType[*RecordedError](e.Err); ok {
		return recorded.Model
	}
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
		fmt.Fprintf(&b, "%s is broken: %s; do not call it again with these arguments", name,
			e.sandboxText(cause))
	}
	if s := e.aftermath(); s != "" {
		b.WriteString("; " + s)
	}
	return b.String()
}

func (e *ToolError) inputText(name, cause string) string {
	switch {
	case e.Refused >= maxRefusals:
		return fmt.Sprintf("%s is broken: it refuses arguments that its own schema allows; "+
			"do not call it again with these arguments; %s", name, e.report())
	case cause == "schema":
		return fmt.Sprintf("%s was not run: the arguments do not match its schema: %s", name,
			e.causeText())
	case cause == "carriage", cause == "limit.request":
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
		return "its result does not match its own schema: " + quote(e.causeText())
	case cause == "no_json":
		return "its result has no JSON form: " + quote(e.causeText())
	case cause == "server": // nobody reports its own end
		return fmt.Sprintf("server %q did not carry it out: ", clip(e.Plugin, maxName)) +
			quote(e.causeText())
	}
	return e.report()
}

// report quotes what the tool says of itself.
func (e *ToolError) report() string {
	who := fmt.Sprintf("%s %q", e.origin(), clip(e.Plugin, maxName))
	if e.Plugin == "" {
		who = "it"
	}
	failure, ok := errors.AsType[*abi.Failure](e.Err)
	if ok && failure.Pointer != "" {
		who += " reported at " + quote(clip(failure.Pointer, maxName))
	} else {
		who += " reported"
	}
	return who + ": " + quote(e.causeText())
}

// quote makes a quotation of a stranger's words. Quotation marks inside become single ones, so that
// nothing in it can end it, however the text around is cut.
func quote(s string) string { return `"` + strings.ReplaceAll(clean(s), `"`, `'`) + `"` }

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
