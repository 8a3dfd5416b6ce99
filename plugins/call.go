package plugins

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/transcode"
)

// MaxInput is how many bytes of JSON the arguments of one call may have.
const MaxInput = 16 << 20

// Call carries out one call: find, check, key, begin, attempt, output check, end. Each step
// makes only the errors that are its own, and FaultOf says who must act on any of them. A result
// that comes with an error is what the tool gave and the ledger could not record: no later call
// will get it. A tool that ends its goroutine ends its caller's, and is recorded as broken.
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
	begun, err := r.begin(ctx, tool, &call, input.raw)
	if err != nil {
		return Result{}, err
	}
	if begun.Done {
		return tool.recall(begun, input.notes)
	}
	returned := false
	defer func() {
		if !returned {
			err = r.endWithCaller(ctx, begun, tool, call.Attempt)
		}
	}()
	if call.Started != nil {
		call.Started()
	}
	out, err := r.attempt(ctx, tool, &call)
	returned = true
	if err == nil {
		err = tool.checkOutput(out)
	}
	err = noted(err, call.Attempt, begun.Place)
	if err == nil {
		res = Result{Output: out, Key: call.Key, Attempts: call.Attempt, Place: begun.Place,
			Notes: input.notes, OutputSchema: tool.spec.OutputSchema}
	}
	if lost := r.end(ctx, begun, tool, out, call.Attempt, err); lost != nil {
		return res, lost
	}
	return res, err
}

// carried is a call's arguments as the steps after the check see them. The buffer is shared between
// calls.
type carried struct {
	raw   abi.Raw
	notes []string // what was done to them, or noticed about them
}

var buffers = sync.Pool{New: func() any { return &carried{raw: make(abi.Raw, 0, 4<<10)} }}

// maxKept is how large a buffer may be to be used again.
const maxKept = 1 << 20

func (c *carried) free() {
	if cap(c.raw) <= maxKept {
		buffers.Put(c)
	}
}

var noArguments = json.RawMessage("{}")

// check makes sure that the arguments can be carried and match the tool's schema, if need be as what
// they are plainly meant to be.
func (e *entry) check(call *Call) (*carried, error) {
	if len(call.Input) == 0 {
		call.Input = noArguments
	}
	input, err := carry(call.Input, MaxInput)
	if err == nil {
		if err = e.fit(call, input); err == nil {
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

// mayRun refuses what must not start: a registry whose rules do not fit its tools, and a call that
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
		return e.fail(ErrMalformedResult, newSchemaError("", "content, not a value"))
	}
	value, err := carry(out.Value, len(out.Value))
	if err != nil {
		return e.fail(ErrMalformedResult, newSchemaError("", err.Error()))
	}
	defer value.free()
	return e.asChecked(ErrMalformedResult, schemaFault(e.output.Check(value.raw)))
}
