package plugins

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/wasmagent/wasmagent/abi"
)

// begin records in the ledger that the call is about to run, and claims its key. A call outside any
// run that has no key, or whose tool only reads, needs no record and gets an empty one.
func (r *Registry) begin(ctx context.Context, e *entry, call *Call, input abi.Raw) (Begun, error) {
	if (call.Run == "") != (call.Position == 0) || call.Position < 0 {
		return Begun{}, fmt.Errorf("tool %q was not run: a run has positions from 1, have %q and %d",
			e.spec.Name, clip(call.Run, maxName), call.Position)
	}
	key := call.Key
	if e.spec.Effect == abi.EffectRead {
		key = ""
	}
	if call.Run == "" && key == "" {
		return Begun{}, nil
	}
	if r.opts.Ledger == nil {
		return Begun{}, fmt.Errorf("tool %q was not run: %w", e.spec.Name, ErrLedgerRequired)
	}
	begun, err := r.opts.Ledger.Begin(ctx, Intent{
		Run:       call.Run,
		Position:  call.Position,
		Scope:     e.scope,
		Tool:      e.spec.Name,
		Key:       key,
		CallID:    call.ID,
		Effect:    e.spec.Effect,
		Input:     call.Input,
		InputHash: hashOf(input),
	})
	if err != nil {
		return Begun{}, e.notBegun(ctx, err)
	}
	if begun.Key != "" {
		call.Key = begun.Key
	}
	return begun, nil
}

// notBegun tells why the ledger lets the tool not run.
func (e *entry) notBegun(ctx context.Context, err error) error {
	switch {
	case is[*CollisionError](err), is[*InFlightError](err), is[*RunBusyError](err),
		is[*DivergedError](err), is[*ReconciliationError](err):
		return err
	case callersEnd(ctx, err):
		return e.callersEnd(ctx)
	}
	return HostFault(fmt.Errorf("tool %q was not run, the ledger cannot record it: %w", e.spec.Name,
		err))
}

// ErrNotRecorded is a call of which no ledger can tell what became: nothing is recorded of it, or
// it did not end and may be called again.
var ErrNotRecorded = errors.New("it is not recorded what became of the call")

// Recall gives what became of a call of a run by what the ledger has of it, and runs nothing: its
// result or its failure, as to the same call; ErrNotRecorded; or what a Recaller's errors are. The
// tool need not be there any more.
func (r *Registry) Recall(ctx context.Context, at Place) (Result, error) {
	book, ok := r.opts.Ledger.(Recaller)
	if !ok {
		return Result{}, ErrNotRecorded
	}
	begun, err := book.Recall(ctx, at)
	switch {
	case err == nil && begun.Done:
		return recall(begun, nil)
	case err == nil:
		return Result{}, ErrNotRecorded
	case is[*InFlightError](err), is[*RunBusyError](err), is[*ReconciliationError](err):
		return Result{}, err
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		return Result{}, err
	}
	return Result{}, HostFault(fmt.Errorf("the ledger cannot tell what became of %s: %w", at, err))
}

// recall gives what the ledger has of a call that is done.
func recall(b Begun, notes []string) (Result, error) {
	if tool, ok := b.Err.(*ToolError); ok {
		told := *tool // the ledger may give the same error to many calls
		told.Place = b.Place
		return Result{}, &told
	}
	if b.Err != nil {
		return Result{}, HostFault(b.Err)
	}
	return Result{Output: b.Output, Key: b.Key, Copied: true, Place: b.Place, Notes: notes}, nil
}

// recall gives that of a call of a tool that is here, with the schema that the result matches: an
// earlier version of the tool may have given it.
func (e *entry) recall(b Begun, notes []string) (Result, error) {
	res, err := recall(b, notes)
	if err == nil && e.checkOutput(b.Output) == nil {
		res.OutputSchema = e.spec.OutputSchema
	}
	return res, err
}

// endWithCaller records the call of a tool that ended its goroutine, which nothing can stop: there
// is nobody any more to be told.
func (r *Registry) endWithCaller(ctx context.Context, b Begun, e *entry, attempts int) error {
	err := e.fail(ErrMalformedResult,
		&PanicError{"it ended its goroutine (runtime.Goexit)", debug.Stack()})
	err.Attempts, err.Place = attempts, b.Place
	if lost := r.end(ctx, b, e, Output{}, attempts, err); lost != nil {
		return lost
	}
	return err
}

// end records how the call ended, also when the caller has gone: what ran must be written down.
func (r *Registry) end(ctx context.Context, b Begun, e *entry, out Output, attempts int,
	callErr error) error {
	if b.ID == "" {
		return nil
	}
	c := Completion{stateAfter(e.spec.Effect, callErr), out, callErr, attempts}
	err := r.opts.Ledger.End(context.WithoutCancel(ctx), b.ID, c)
	switch {
	case err == nil:
		return nil
	case callErr == nil:
		err = fmt.Errorf("tool %q gave a result, which is not recorded: %w", e.spec.Name, err)
	default: // its kind is not passed on: this is the host's fault first
		err = fmt.Errorf("tool %q ran, and that it failed is not recorded: %w; it failed with: %v",
			e.spec.Name, err, callErr)
	}
	return HostFault(err)
}
