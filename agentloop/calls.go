package agentloop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/plugins"
)

// maxSideBySide is how many calls run at once when Loop.Parallel is set.
const maxSideBySide = 8

// MaxCalls is how many calls of one message of the model's are made. Those past it are not run, and
// the model is told so.
const MaxCalls = 128

// What a model makes up comes back with each request and is recorded, so there is an end to it.
const (
	maxID   = 16 << 10 // bytes; there are servers that keep what they need in the ids of calls
	maxName = 256      // bytes of a tool's name; none that is offered has as many
)

// call is a call of the model's on its way to a result.
type call struct {
	message.Call               // with the arguments that it runs with
	position     int           // among all calls of the conversation, from 1
	tool         offered       // once it is known
	cutOff       bool          // it is the last thing that the model could say
	started      bool          // the tool was called
	again        bool          // it may have been called by an earlier run
	done         chan struct{} // closed when it has ended; nil if it has when begin returns
	out          plugins.Output
	err          error
	meta         map[string]json.RawMessage // of the result's message
	failure      string                     // err for the model, without a count of how often
}

// What calls end with that were not run, or not to their end.
var (
	errNotRun      = fmt.Errorf("the call was not run: %w", context.Canceled)
	errInterrupted = errors.New("the call was interrupted")
)

// take makes the calls of the model's next message those to be run. A call that has no ID, one that
// is too long or the same as another of the turn, gets one.
func (r *run) take(reply *message.Message) {
	l := r.loop
	l.mu.Lock()
	defer l.mu.Unlock()
	reply.Calls = slices.Clone(reply.Calls) // the model's own may be shared with others
	r.rest = make([]*call, len(reply.Calls))
	seen := map[string]bool{}
	r.last = l.calls + MaxCalls
	for i := range r.rest {
		l.calls++
		id, name := &reply.Calls[i].ID, &reply.Calls[i].Name
		if len(*name) > maxName {
			*name = strings.ToValidUTF8((*name)[:maxName], "") + "…"
		}
		// The model may have said call-1 itself.
		for n := l.calls; *id == "" || len(*id) > maxID || seen[*id]; n++ {
			*id = fmt.Sprintf("call-%d", n)
		}
		seen[*id] = true
		r.rest[i] = &call{Call: reply.Calls[i], position: l.calls, err: errNotRun}
	}
	if n := len(r.rest); n > 0 {
		r.rest[n-1].cutOff = reply.Finish == message.FinishLength
	}
}

// runCalls runs the calls that were taken and records a result for each, in their order. The error
// ends the run; close does what is left to do then.
func (r *run) runCalls(ctx context.Context) error {
	for len(r.rest) > 0 {
		if ctx.Err() != nil {
			return stopped(ctx)
		}
		group := r.rest[:r.sideBySide(r.rest)]
		r.begin(ctx, group)
		for _, c := range group {
			if c.done != nil {
				r.await(c.done)
			}
			r.rest = r.rest[1:]
			if err := r.settle(ctx, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// close ends what a run has begun, however it comes to its end: calls that still run are waited
// for, and each call that has no result gets one.
func (r *run) close(ctx context.Context) (err error) {
	if len(r.rest) > 0 {
		r.cancel() // calls may be running while a panic of who listens comes through here
	}
	r.work.Wait()
	for len(r.rest) > 0 {
		c := r.rest[0]
		r.rest = r.rest[1:]
		if e := r.settle(ctx, c); err == nil {
			err = e
		}
	}
	r.drain()
	return err
}

// sideBySide is how many of the next calls may run at once: one, or all up to the next that does
// more than read.
func (r *run) sideBySide(next []*call) int {
	n := 0
	for r.loop.Parallel && n < len(next) {
		tool, err := r.offer.find(next[n].Name)
		if err != nil || tool.Effect != abi.EffectRead {
			break
		}
		n++
	}
	return max(n, 1)
}

// begin brings calls through the gates, one after another, and starts those that get through. One
// call has ended when it returns; those of a larger group are left running, and a single one where
// subagents may have something to tell meanwhile.
func (r *run) begin(ctx context.Context, group []*call) {
	var slots chan struct{}
	if len(group) > 1 || r.loop.Subagents != nil {
		slots = make(chan struct{}, maxSideBySide)
	}
	for _, c := range group {
		if ctx.Err() != nil {
			return
		}
		if c.position > r.last {
			c.err = &DeniedError{c.Name, fmt.Sprintf("it is one of more than %d calls at once; what is "+
				"still needed of these can be called next", MaxCalls)}
			continue
		}
		if c.err = r.admit(ctx, c); c.err != nil {
			if c.again {
				r.askLedger(ctx, c)
			}
			if !FeedsModel(c.err) {
				return
			}
			continue
		}
		c.err = errNotRun
		r.emit(message.Event{Kind: message.ToolStarted, Call: new(c.Call)})
		if slots == nil {
			r.loop.invoke(ctx, c)
			return
		}
		c.done = make(chan struct{})
		r.work.Go(func() {
			defer close(c.done)
			slots <- struct{}{}
			defer func() { <-slots }()
			r.loop.invoke(ctx, c)
		})
	}
}

// admit is the gates before a tool, in their order: the name, the arguments, the hook, permission.
func (r *run) admit(ctx context.Context, c *call) (err error) {
	if c.tool, err = r.offer.find(c.Name); err != nil {
		return err
	}
	if err := c.readArguments(); err != nil {
		return err
	}
	if hook := r.loop.Hooks.BeforeTool; hook != nil {
		seen := c.Call
		err := hook(ctx, &seen)
		if denied, ok := errors.AsType[*DeniedError](err); ok {
			return &DeniedError{c.Name, denied.Reason}
		}
		if err != nil {
			return hookError(ctx, "hook before a tool", err)
		}
		c.Arguments, c.cutOff = seen.Arguments, false
		if err := c.readArguments(); err != nil {
			return err
		}
	}
	return r.loop.permit(ctx, c)
}

// readArguments checks that the arguments are an object. None at all are an empty one.
func (c *call) readArguments() error {
	text := strings.TrimSpace(c.Arguments)
	whole := json.Valid([]byte(text))
	switch {
	case c.cutOff && !whole:
		return NewInvalidArguments(c.Name, "they were cut off where the model's answer reached its "+
			"length limit; make them shorter")
	case text == "":
		c.Arguments = "{}"
		return nil
	case whole && text[0] == '{':
		return nil
	case whole:
		return NewInvalidArguments(c.Name, "they are not a JSON object")
	}
	err := json.Unmarshal([]byte(text), new(any))
	return NewInvalidArguments(c.Name, fmt.Sprintf("they are not JSON: %v", err))
}

// invoke calls the tool, unless it is too late already. It is the only place that does.
func (l *Loop) invoke(ctx context.Context, c *call) {
	if ctx.Err() != nil {
		return
	}
	c.started, c.err = true, errInterrupted // if it panics
	tools := l.Tools
	if c.tool.own {
		tools = l.own
		ctx = context.WithValue(ctx, callKey{}, c)
	}
	request := plugins.Call{ID: c.ID, Tool: c.Name, Input: json.RawMessage(c.Arguments)}
	if l.ID != "" && !c.tool.own {
		request.Run, request.Position = l.ID, c.position
	}
	result, err := tools.Call(ctx, request)
	c.out, c.err = result.Output, inner(err)
}
