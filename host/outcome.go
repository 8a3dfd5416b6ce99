package host

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/tetratelabs/wazero/sys"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host/internal/snapshot"
)

// traps names the engine's traps, which it tells apart by text only.
var traps = []struct{ name, engine string }{
	{"unreachable", "unreachable"},
	{"out_of_bounds", "out of bounds memory access"},
	{"div_by_zero", "integer divide by zero"},
	{"int_overflow", "integer overflow"},
	{"invalid_conversion", "invalid conversion to integer"},
	{"indirect_call", "indirect call type mismatch"},
	{"table", "invalid table access"},
	{"null_reference", "null reference"},
}

const (
	engineStackOverflow = "stack overflow"
	engineHostPanic     = "(recovered by wazero)"
	engineStackTrace    = "wasm stack trace:\n\t"
)

// outcome says what a run's end means, given the engine's error. What ended badly wins over a
// reply; a guest that returned has not ended badly.
func (in *instance) outcome(err error) error {
	if err == nil {
		return nil
	}
	r, stderr := &in.run, in.stderr.text()
	var exit *sys.ExitError
	exited := errors.As(err, &exit)
	switch {
	case errors.Is(err, errStopped):
		return r.stopped(stderr)
	case exited && exit.ExitCode() == 0 && r.inCall() && r.replied:
		return nil
	case exited && exit.ExitCode() != 0 && in.refused() != nil:
		return in.memoryLimit(stderr)
	case exited:
		return &ExitError{Code: exit.ExitCode(), Stderr: stderr}
	}
	if breach, ok := errors.AsType[*ContractError](err); ok {
		breach.Stderr = stderr
		return breach
	}
	if limit, ok := errors.AsType[*LimitError](err); ok {
		limit.Stderr = stderr
		return limit
	}
	return in.trap(err, stderr)
}

func (r *run) stopped(stderr string) error {
	switch r.why {
	case errTime:
		if r.inCall() {
			return &LimitError{Limit: "time", Time: r.limit, Stderr: stderr}
		}
		return &LimitError{Limit: "load", Time: r.limit, Stderr: stderr}
	case errCancelled:
		return cancelled(r.caller)
	}
	return r.why
}

// cancelled is the end of a call whose caller gave up. It matches the context's cause, and its
// error where that is another.
func cancelled(ctx context.Context) error {
	return &callerError{cause: context.Cause(ctx), err: ctx.Err()}
}

type callerError struct{ cause, err error }

func (e *callerError) Error() string   { return "the caller gave up: " + e.cause.Error() }
func (e *callerError) Unwrap() []error { return []error{e.cause, e.err} }

// trap tells the engine's remaining errors apart.
func (in *instance) trap(err error, stderr string) error {
	text := innermost(err).Error()
	if text == engineStackOverflow {
		in.broken = true // the engine keeps the whole stack of an overflow with the function
		return &LimitError{Limit: "stack", Stderr: stderr}
	}
	for _, t := range traps {
		if t.engine != text {
			continue
		}
		trap := &TrapError{Trap: t.name, Function: in.trapFunction(err), Stderr: stderr}
		switch {
		case in.refused() == nil:
		case t.name == "unreachable": // how compiled code gives up when it gets no memory
			return in.memoryLimit(stderr)
		default:
			trap.Note = fmt.Sprintf("earlier it was refused memory: %v", in.memoryLimit("").text())
		}
		return trap
	}
	if breach := hostPanic(err); breach != nil {
		breach.Stderr = stderr
		return breach
	}
	in.broken = true
	return fmt.Errorf("the engine failed: %w", err)
}

// hostPanic is a function of the engine's own that could not stand the guest's arguments, or nil.
func hostPanic(err error) *ContractError {
	first, _, _ := strings.Cut(err.Error(), "\n")
	if !strings.Contains(first, engineHostPanic) {
		return nil
	}
	return &ContractError{Detail: "broke a host function: " + first}
}

// EngineFault tells what an error of the engine means when the guest was not an Engine's: an
// *ExitError, a *TrapError, the *LimitError of the stack, or a *ContractError for a host function
// that panicked. An error of these types that a host function panicked with is given as it is. Nil is
// an error of another kind.
func EngineFault(err error) error {
	var exit *sys.ExitError
	if errors.As(err, &exit) {
		return &ExitError{Code: exit.ExitCode()}
	}
	if limit, ok := errors.AsType[*LimitError](err); ok {
		return limit
	}
	if breach, ok := errors.AsType[*ContractError](err); ok {
		return breach
	}
	text := innermost(err).Error()
	if text == engineStackOverflow {
		return &LimitError{Limit: "stack"}
	}
	for _, t := range traps {
		if t.engine == text {
			return &TrapError{Trap: t.name}
		}
	}
	if breach := hostPanic(err); breach != nil {
		return breach
	}
	return nil
}

// GaveUp is the error of a call whose caller did, for guests that were not an Engine's. It matches
// ctx's cause and its error.
func GaveUp(ctx context.Context) error { return cancelled(ctx) }

// engineError is the engine's word on a module: one line, and clean, since it may quote the module.
func engineError(err error) error {
	const max = 500
	return errors.New(abi.CleanText(err.Error(), max))
}

func (in *instance) memoryLimit(stderr string) *LimitError {
	return in.limitOf(in.refused(), stderr)
}

func (in *instance) limitOf(d *snapshot.Denial, stderr string) *LimitError {
	limit := &LimitError{Limit: "memory", Max: in.module.limits.Memory, Asked: d.Asked}
	if d.Reason == snapshot.Budget {
		limit = in.module.engine.exhausted(d.Asked)
	}
	limit.Stderr = stderr
	return limit
}

// exhausted is a memory that would fit into the plugin's limit and not into what is left for all.
func (e *Engine) exhausted(asked int64) *LimitError {
	return &LimitError{Limit: "total", Max: e.budget.max, Asked: asked}
}

// isTotal tells a limit that other plugins had a part in.
func isTotal(err error) bool {
	limit, ok := errors.AsType[*LimitError](err)
	return ok && limit.Limit == "total"
}

// refused is what the guest was last refused of memory by the host; what it asked past its own
// declared maximum does not count.
func (in *instance) refused() *snapshot.Denial {
	if d := in.memory.Denied(); d != nil && d.Reason != snapshot.Declared {
		return d
	}
	return nil
}

func innermost(err error) error {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err
}

// frameSignature is how the engine writes a function's type behind its name.
var frameSignature = regexp.MustCompile(`\([a-z0-9,]*\)( [a-z0-9]+| \([a-z0-9,]+\))?$`)

// trapFunction is the name of the function that trapped, from the first frame of the engine's text.
// Names are the guest's own words.
func (in *instance) trapFunction(err error) string {
	const max = 200
	_, trace, _ := strings.Cut(err.Error(), engineStackTrace)
	frame, _, _ := strings.Cut(trace, "\n")
	frame = frameSignature.ReplaceAllString(frame, "")
	frame = strings.TrimPrefix(frame, in.module.code.compiled.Name())
	return abi.CleanText(strings.TrimPrefix(frame, "."), max)
}
