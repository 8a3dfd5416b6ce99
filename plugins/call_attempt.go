package plugins

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/wasmagent/wasmagent/abi"
)

// MaxAttempts is how often one call runs its tool at most.
const MaxAttempts = 3

// DefaultRetryWait is how long a call waits before its second attempt.
const DefaultRetryWait = 500 * time.Millisecond

// The wait is random, from one half to one and a half of a time that grows, so that calls which
// failed together do not come again together.
const (
	waitSpread = 0.5
	waitGrowth = 2
)

// attempt runs the tool, and runs it again when it failed in a way that may pass: every time with
// the same arguments and the same key. A call that is over by then, or whose deadline would pass
// before the next attempt, ends with the failure of the last one; a call that its caller ends while
// it waits ends with that. call.Attempt counts.
func (r *Registry) attempt(ctx context.Context, e *entry, call *Call) (out Output, err error) {
	var waits *backoff.ExponentialBackOff // made when the first attempt has failed
	for call.Attempt = 1; ; call.Attempt++ {
		out, err = e.invoke(ctx, *call)
		if call.Attempt == MaxAttempts || !e.mayPass(err) || ctx.Err() != nil {
			return out, err
		}
		if waits == nil {
			waits = r.newWaits()
		}
		wait := waits.NextBackOff()
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
			return out, err
		}
		if !sleep(ctx, wait) {
			return Output{}, e.endedBetween(ctx, err)
		}
	}
}

// invoke runs the tool once. A tool that panics is broken, and its call is over like any other.
func (e *entry) invoke(ctx context.Context, call Call) (out Output, err error) {
	err = caught(func() (err error) { out, err = e.tool.Invoke(ctx, call); return err })
	if _, panicked := err.(*PanicError); panicked {
		err = &ToolError{Kind: ErrMalformedResult, Err: err}
	}
	if err != nil {
		return Output{}, e.countRefusals(e.asToolError(ctx, err))
	}
	e.refused.Store(0)
	return out, nil
}

// mayPass reports whether the tool may be run again after err: it does not change the world or is
// safe to repeat, and its own work failed in a way that it does not call permanent. A time-out may
// be the same every time, and costs the most: only the operator says that it is worth it.
func (e *entry) mayPass(err error) bool {
	tool, ok := err.(*ToolError)
	switch {
	case !ok || is[*hostFault](err):
		return false
	case e.spec.Effect != abi.EffectRead && e.spec.Effect != abi.EffectIdempotent:
		return false
	}
	return tool.mayPass() || tool.timedOut() && e.retryTimeouts
}

// mayPass reports whether e is a failure of the tool's own work that neither says of itself that it
// is permanent nor is a time-out.
func (e *ToolError) mayPass() bool {
	failure, reported := errors.AsType[*abi.Failure](e.Err)
	return e.Kind == ErrHandler && !e.timedOut() && !(reported && failure.Permanent)
}

// timedOut reports whether the tool ran out of a time that was its own.
func (e *ToolError) timedOut() bool {
	return e.Kind == ErrHandler &&
		(CauseOf(e) == "limit.time" || errors.Is(e.Err, context.DeadlineExceeded))
}

func (r *Registry) newWaits() *backoff.ExponentialBackOff {
	first := r.opts.RetryWait
	if first <= 0 {
		first = DefaultRetryWait
	}
	return &backoff.ExponentialBackOff{
		InitialInterval:     first,
		RandomizationFactor: waitSpread,
		Multiplier:          waitGrowth,
		MaxInterval:         first * waitGrowth,
	}
}

// sleep waits and reports whether the context is still good then.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// endedBetween is the error of a call that its caller ended between two attempts. The last failure
// is told and not wrapped: it is not what ended the call.
func (e *entry) endedBetween(ctx context.Context, last error) error {
	return fmt.Errorf("%w, while it waited to be tried again: %s", e.callersEnd(ctx),
		last.(*ToolError).causeText())
}

// countRefusals notes in err how many calls in a row the tool has refused although its own schema
// allowed their input.
func (e *entry) countRefusals(err error) error {
	tool, ok := errors.AsType[*ToolError](err)
	switch {
	case !ok || tool.Kind != ErrInvalidInput:
		e.refused.Store(0)
	case !is[CauseNamer](tool.Err): // else a limit kept the tool from seeing it
		tool.Refused = int(e.refused.Add(1))
	}
	return err
}

// noted adds to a tool's error how often the tool was run and where that is recorded.
func noted(err error, attempts int, place Place) error {
	if tool, ok := err.(*ToolError); ok && !is[*hostFault](err) {
		tool.Attempts, tool.Place = attempts, place
	}
	return err
}
