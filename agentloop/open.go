package agentloop

import (
	"context"
	"errors"
	"slices"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/plugins"
)

// openCall is a call of a run that is recorded, without a result in the history: its process ended,
// or nobody knows yet whether it happened.
type openCall struct {
	message.Call
	position int // among all calls of the conversation, from 1
}

// unanswered is the calls at the end of a history that have no result.
func unanswered(history []message.Message) []message.Call {
	results := 0
	for i := len(history) - 1; i >= 0; i-- {
		switch m := &history[i]; {
		case m.Role == message.Tool:
			results++
		case results < len(m.Calls):
			return m.Calls[results:]
		default:
			return nil
		}
	}
	return nil
}

// lastTurn is how many calls the last message has that has any.
func lastTurn(history []message.Message) int {
	for i := len(history) - 1; i >= 0; i-- {
		if n := len(history[i].Calls); n > 0 {
			return n
		}
	}
	return 0
}

// placeholders are results of calls that are still to be made.
func placeholders(calls []message.Call) (list []message.Message) {
	for _, c := range calls {
		list = append(list, message.Message{Role: message.Tool,
			Result: &message.Result{CallID: c.ID, Outcome: message.Unknown}})
	}
	return list
}

// goOn makes the calls that were left open. The error ends the run.
func (r *run) goOn(ctx context.Context) error {
	l := r.loop
	if len(l.open) == 0 {
		return nil
	}
	r.offer.refresh(l)
	r.last = l.calls - lastTurn(l.history) + MaxCalls
	for _, c := range l.open {
		r.rest = append(r.rest, &call{Call: c.Call, position: c.position, again: true,
			err: errNotRun})
	}
	l.open = nil
	return r.runCalls(ctx)
}

// askLedger looks what became of a call of an earlier run that cannot be made again, such as one of
// a tool that is not there any more: its recorded end counts, and a write of which nobody knows must
// not be taken for settled.
func (r *run) askLedger(ctx context.Context, c *call) {
	result, err := recall(ctx, r.loop.Tools, plugins.Place{Run: r.loop.ID, Position: c.position})
	if _, unknown := errors.AsType[*plugins.ReconciliationError](err); unknown {
		c.err = err
	} else if err != plugins.ErrNotRecorded && !slices.Contains(ownNames, c.Name) {
		c.started, c.out, c.err = true, result.Output, err // an own tool's place has another's call
	}
}

// leaveOpen keeps a call, and those after it, without a result when somebody must find out first
// whether it happened: once that is recorded, the next run comes to its place again and goes on
// from there.
func (r *run) leaveOpen(c *call) bool {
	if _, ok := errors.AsType[*plugins.ReconciliationError](c.err); !ok || r.loop.ID == "" {
		return false
	}
	for _, c := range append([]*call{c}, r.rest...) {
		r.loop.open = append(r.loop.open, openCall{c.Call, c.position})
	}
	r.rest = nil
	return true
}
