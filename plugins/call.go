package plugins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/transcode"
)

// MaxInput is how many bytes of JSON the arguments of one call may have.
const MaxInput = 16 << 20

// Call carries out one call: find, check, key, claim, attempt, output check, settle. Each step
// makes only the errors that are its own, and FaultOf says who must act on any of them.
func (r *Registry) Call(ctx context.Context, call Call) (res Result, err error) {
	if r.opts.Logger != nil {
		defer r.log(ctx, &call, time.Now(), &res, &err)
	}
	tool, err := r.find(call.Tool)
	if err != nil {
		return Result{}, err
	}
	input, err := tool.check(&call)
	if err != nil {
		return Result{}, err
	}
	defer input.free()
	if err := tool.deriveKey(&call, input.raw); err != nil {
		return Result{}, err
	}
	if err := r.mayRun(ctx, tool); err != nil {
		return Result{}, err
	}
	claimed, err := r.claim(ctx, tool, &call, input.raw)
	if err != nil {
		return Result{}, err
	}
	if claimed.Settled {
		return Result{Output: claimed.Output, Key: call.Key, Copied: true, From: claimed.From}, nil
	}
	out, attempts, err := tool.attempt(ctx, call)
	if err == nil {
		err = tool.checkOutput(out)
	}
	if err := r.settle(ctx, claimed, tool, out, attempts, err); err != nil {
		return Result{}, err
	}
	if err != nil {
		return Result{}, err
	}
	return Result{Output: out, Key: call.Key, Attempts: attempts}, nil
}

// carried is a call's arguments as the steps after the check see them. The buffer is shared between
// calls.
type carried struct{ raw abi.Raw }

var buffers = sync.Pool{New: func() any { return &carried{make(abi.Raw, 0, 4<<10)} }}

// maxKept is how large a buffer may be to be used again.
const maxKept = 1 << 20

func (c *carried) free() {
	if cap(c.raw) <= maxKept {
		buffers.Put(c)
	}
}

var noArguments = json.RawMessage("{}")

// check makes sure that the arguments can be carried and match the tool's schema.
func (e *entry) check(call *Call) (*carried, error) {
	if len(call.Input) == 0 {
		call.Input = noArguments
	}
	input, err := carry(call.Input, MaxInput)
	if err == nil {
		if err = e.input.check(input.raw); err == nil {
			call.Packed = input.raw
			return input, nil
		}
		input.free()
	}
	return nil, e.asChecked(ErrInvalidInput, err)
}

// asChecked makes an error of a check one of this kind, unless there is none or it is the host's.
func (e *entry) asChecked(kind Kind, err error) error {
	if err == nil || is[*hostFault](err) {
		return err
	}
	return e.fail(kind, err)
}

// carry turns JSON text into the form that schemas, keys and guests see.
func carry(text json.RawMessage, max int) (*carried, error) {
	if len(text) > max {
		return nil, &transcode.CarriageError{
			Detail: fmt.Sprintf("%d bytes of JSON, at most %d", len(text), max)}
	}
	c := buffers.Get().(*carried)
	raw, err := transcode.AppendMsgpack(c.raw[:0], text)
	c.raw = raw
	if err != nil {
		c.free()
		return nil, err
	}
	return c, nil
}

// deriveKey sets the call's idempotency key, if the operator declared a path for the tool.
func (e *entry) deriveKey(call *Call, input abi.Raw) error {
	call.Key = ""
	if e.key == nil {
		return nil
	}
	key, err := e.key.derive(e.spec.Name, input)
	if err != nil {
		return e.fail(ErrMissingIdempotencyKey, err)
	}
	call.Key = key
	return nil
}

// mayRun refuses what must not start: a registry whose keys do not fit its tools, and a call that
// is already over.
func (r *Registry) mayRun(ctx context.Context, e *entry) error {
	if err := r.Check(); err != nil {
		return HostFault(err)
	}
	if ctx.Err() != nil {
		return e.callersEnd(ctx)
	}
	return nil
}

// claim takes the call's key in the ledger. A call without a key, or of a tool that only reads,
// needs no claim and gets an empty one.
func (r *Registry) claim(ctx context.Context, e *entry, call *Call, input abi.Raw) (
	Claimed, error) {
	if call.Key == "" || e.spec.Effect == abi.EffectRead {
		return Claimed{}, nil
	}
	if r.opts.Ledger == nil {
		return Claimed{}, fmt.Errorf("tool %q: %w", e.spec.Name, ErrLedgerRequired)
	}
	claimed, err := r.opts.Ledger.Claim(ctx, Claim{
		Scope:     e.scope,
		Tool:      e.spec.Name,
		Key:       call.Key,
		CallID:    call.ID,
		Effect:    e.spec.Effect,
		Input:     call.Input,
		InputHash: hashOf(input),
	})
	switch {
	case err == nil:
		return claimed, nil
	case is[*CollisionError](err), is[*InFlightError](err):
		return Claimed{}, err
	case callersEnd(ctx, err):
		return Claimed{}, e.callersEnd(ctx)
	}
	return Claimed{}, HostFault(fmt.Errorf("tool %q was not run, the ledger cannot claim its key: %w",
		e.spec.Name, err))
}

// attempt runs the tool: once.
func (e *entry) attempt(ctx context.Context, call Call) (out Output, attempts int, err error) {
	call.Attempt = 1
	out, err = e.tool.Invoke(ctx, call)
	if err != nil {
		return Output{}, 1, e.countRefusals(e.asToolError(ctx, err))
	}
	e.refused.Store(0)
	return out, 1, nil
}

// countRefusals notes in err how many calls in a row the tool has refused although its own schema
// allowed their input.
func (e *entry) countRefusals(err error) error {
	if tool, ok := errors.AsType[*ToolError](err); ok && tool.Kind == ErrInvalidInput {
		tool.Refused = int(e.refused.Add(1))
	} else {
		e.refused.Store(0)
	}
	return err
}

// checkOutput makes sure that a result is one, and the one that the tool promises.
func (e *entry) checkOutput(out Output) error {
	switch {
	case out.Value == nil && out.Content == nil:
		return e.fail(ErrMalformedResult, &MalformedError{"no_reply", "neither a value nor content", -1})
	case out.Value != nil && out.Content != nil:
		return e.fail(ErrMalformedResult,
			&MalformedError{"bad_envelope", "both a value and content", -1})
	case e.output == nil:
		return nil
	case out.Value == nil:
		return e.fail(ErrMalformedResult, newSchemaError([]Problem{{"", "content, not a value"}}, 0))
	}
	value, err := carry(out.Value, len(out.Value))
	if err != nil {
		return e.fail(ErrMalformedResult, newSchemaError([]Problem{{"", err.Error()}}, 0))
	}
	defer value.free()
	return e.asChecked(ErrMalformedResult, e.output.check(value.raw))
}

// settle ends the call's claim, also when the caller has gone: what ran must be written down.
func (r *Registry) settle(ctx context.Context, c Claimed, e *entry, out Output, attempts int,
	callErr error) error {
	if c.ID == "" {
		return nil
	}
	s := Settlement{stateAfter(e.spec.Effect, callErr), out, callErr, attempts}
	if err := r.opts.Ledger.Settle(context.WithoutCancel(ctx), c.ID, s); err != nil {
		return HostFault(fmt.Errorf("tool %q ran, but its claim is not settled: %w", e.spec.Name,
			err))
	}
	return nil
}
