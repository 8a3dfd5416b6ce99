package agentloop

import (
	"context"
	"fmt"
	"slices"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/reduce"
	"github.com/wasmagent/wasmagent/agentloop/tokens"
)

// Reduction has the model shown a view of a long conversation in which what is long or old has
// given way to stubs: package reduce tells how. History, and what the store has, stay whole, and
// outputs of up to MaxOutput are not cut. What would not fit into the context is reduced further before it is refused.
// Each new stub is a warning. Once there is one, the model has the tools expand_reduction and
// sidecar_search.
type Reduction struct {
	Policy reduce.Policy

	// Save is given the log when it has changed, before the model sees the view. Its error is a
	// warning: the record is what counts. Nil: the log is not kept.
	Save func(ctx context.Context, log reduce.Log) error
}

// ReductionError is a reversible reduction that cannot be undone as it was recorded. A model is
// told of it when it asked for that by a tool.
type ReductionError = reduce.Error

// Reductions gives the log of what the model is shown now.
func (l *Loop) Reductions() reduce.Log {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reductions
}

// RestoreReductions makes an earlier log this loop's, after Restore. A log that cannot be undone
// with the history is a *ReductionError and is not taken: what the model is shown is reduced anew
// then.
func (l *Loop) RestoreReductions(log reduce.Log) error {
	if !l.running.CompareAndSwap(false, true) {
		return ErrBusy
	}
	defer l.running.Store(false)
	if faults := reduce.Verify(l.history, log); len(faults) > 0 {
		return faults[0]
	}
	l.setReductions(log)
	return nil
}

func (l *Loop) setReductions(log reduce.Log) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reductions = log
}

// shown is the request of what the model is shown: the history, or a view of it that fits. The
// error is the guard's, or that the run is over.
func (r *run) shown(ctx context.Context) (message.Request, error) {
	l := r.loop
	if l.Reduction == nil {
		req := r.request(l.history)
		return req, l.guard(&req)
	}
	before := l.reductions
	view, log := reduce.Project(l.history, l.Reduction.Policy, before)
	l.setReductions(log) // and so the request has the tools for it
	req := r.request(view)
	err := l.guard(&req)
	if err != nil {
		l.reducing = true // the tools for it take room, too
		view, fitted, ok := reduce.Fit(l.history, l.Reduction.Policy, before,
			func(view []message.Message) reduce.Room { return l.room(r.request(view)) })
		l.reducing = false
		if ok {
			log, err = fitted, nil
			l.setReductions(log)
			req = r.request(view)
		}
	}
	r.adopt(ctx, before, log)
	if err == nil && ctx.Err() != nil { // who was told of it has left
		err = stopped(ctx)
	}
	return req, err
}

// room tells how a request and the context's limit go together, by the guard's own rule. With a
// third more it is roomy.
func (l *Loop) room(req message.Request) reduce.Room {
	projected := tokens.Projected(req.Messages, req.Tools)
	switch {
	case !tokens.Fits(projected, l.ContextLimit):
		return reduce.TooLong
	case !tokens.Fits(projected+projected/3, l.ContextLimit):
		return reduce.Fits
	}
	return reduce.Roomy
}

// adopt tells of what is new in the log, and has it saved.
func (r *run) adopt(ctx context.Context, before, now reduce.Log) {
	if slices.Equal(before, now) {
		return
	}
	if save := r.loop.Reduction.Save; save != nil {
		if err := save(context.WithoutCancel(ctx), now); err != nil {
			r.warn(fmt.Sprintf("what was reduced is not recorded: %v", err))
		}
	}
	for _, n := range now {
		if _, ok := before.Find(n.ID); !ok {
			r.warn(fmt.Sprintf("message %d is reduced for the model: %s", n.Pointer.Message+1,
				n.Placeholder))
		}
	}
}
