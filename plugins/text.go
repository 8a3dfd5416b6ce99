package plugins

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins/internal/schema"
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
		fmt.Fprintf(&b, " of %s %q (%s)", e.origin(), e.Plugin, shortDigest(e.Digest))
	case e.Plugin != "":
		fmt.Fprintf(&b, " of %s %q", e.origin(), e.Plugin)
	}
	fmt.Fprintf(&b, ": %s (%s)", e.Kind.Error(), CauseOf(e))
	if e.Refused >= maxRefusals {
		fmt.Fprintf(&b, ", refused %d times in a row although the schema allows it", e.Refused)
	}
	if e.Attempts > 1 {
		fmt.Fprintf(&b, " after %d attempts", e.Attempts)
	}
	if s := e.aftermath(); s != "" {
		b.WriteString(", " + s)
	}
	if e.Place != (Place{}) {
		b.WriteString(", recorded at " + e.Place.String())
	}
	if failure, ok := errors.AsType[*abi.Failure](e.Err); ok && failure.Pointer != "" {
		b.WriteString(": at " + clean(failure.Pointer))
	}
	if e.Err != nil {
		if text := cleanLines(e.Err.Error()); text != "" {
			b.WriteString(": " + text)
		}
	}
	return b.String()
}

// origin is what Plugin is.
func (e *ToolError) origin() string { return cmp.Or(e.Origin, "plugin") }

// shortDigest keeps the algorithm and the first twelve digits of a digest, enough to tell a file.
func shortDigest(digest string) string {
	const digits = 12
	if i := strings.IndexByte(digest, ':') + 1 + digits; i < len(digest) {
		return digest[:i]
	}
	return digest
}

// cleanLines makes a text safe to show and keeps its lines, which a guest's stack has, with their
// tabs as two spaces each. All but the first are indented, so that none of them can pass for a line
// of ours.
func cleanLines(s string) string {
	const maxTabs = 4
	lines := strings.Split(strings.TrimSpace(s), "\n")
	kept := lines[:0]
	for _, line := range lines {
		tabs := len(line) - len(strings.TrimLeft(line, "\t"))
		if line = clean(line); line != "" {
			kept = append(kept, strings.Repeat("  ", min(tabs, maxTabs))+line)
		}
	}
	return strings.Join(kept, "\n  ")
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
	same := schema.Invalid{More: e.More}
	for _, p := range e.Problems {
		same.Problems = append(same.Problems, schema.Problem(p))
	}
	return same.Error()
}

func (p Problem) String() string { return schema.Problem(p).String() }

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

func (e *RuleError) Error() string {
	names := make([]string, len(e.Tools))
	for i, name := range e.Tools {
		names[i] = fmt.Sprintf("%q", clip(name, maxName))
	}
	return fmt.Sprintf("there are rules for %s, but no such tools; %s", someOf(names),
		haveTools(e.Have))
}

func haveTools(names []string) string {
	if len(names) == 0 {
		return "there are no tools at all"
	}
	return "there are " + someOf(names)
}

// someOf lists names, at most maxNamed of them.
func someOf(names []string) string {
	if n := len(names) - maxNamed; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), n)
	}
	return strings.Join(names, ", ")
}

func (e *CollisionError) Error() string {
	return fmt.Sprintf("tool %q was not run: its key %q was used by an earlier call (%s) with "+
		"different arguments", e.Tool, clip(e.Key, maxName), e.Holder)
}

func (e *InFlightError) Error() string {
	state := "is still running; try again later"
	if e.Unresolved {
		state = "ended without a known outcome; somebody must find out what happened"
	}
	key := ""
	if e.Key != "" {
		key = fmt.Sprintf(" that holds its key %q", clip(e.Key, maxName))
	}
	return fmt.Sprintf("tool %q was not run: the call (%s)%s %s", e.Tool, e.Holder, key, state)
}

func (e *RunBusyError) Error() string {
	return fmt.Sprintf("the run %q is in use by another process; try again when it has ended",
		clip(e.Run, maxName))
}

func (e *DivergedError) Error() string {
	recorded := fmt.Sprintf("a call of %q", clip(e.Recorded, maxName))
	if e.Recorded == e.Tool {
		recorded = "a call with other arguments or of another plugin"
	}
	return fmt.Sprintf("tool %q was not run: %s is recorded at %s, so the run does not go on as it "+
		"went before", e.Tool, recorded, e.Place)
}

// maxShown is how much of a call's input the text of an error shows, in characters.
const maxShown = 200

func (e *ReconciliationError) Error() string {
	key := ""
	if e.Key != "" {
		key = fmt.Sprintf(" with the key %q", clip(e.Key, maxName))
	}
	return fmt.Sprintf("tool %q was not run: its call at %s%s began, and nobody knows whether its "+
		"effect happened; find out and record it; its input was %s", e.Tool, e.Place, key,
		clip(string(e.Input), maxShown))
}
