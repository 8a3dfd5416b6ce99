package agentloop

import (
	"context"
	"fmt"
	"sync"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/tokens"
)

// run is one Run of a loop.
type run struct {
	loop   *Loop
	yield  func(message.Event, error) bool
	cancel context.CancelFunc
	gone   bool // nobody listens any more

	offer   offer
	failing streak

	rest []*call // of the model's last message: those without a result
	last int     // position of the last call of that message that may be made
	work sync.WaitGroup
}

// hold has the loop for itself while the run lasts, and leaves it in order.
func (r *run) hold(ctx context.Context, input []message.Message) (ended message.Event, err error) {
	l := r.loop
	if !l.running.CompareAndSwap(false, true) {
		return message.Event{}, ErrBusy
	}
	defer l.running.Store(false)
	if l.closed {
		return message.Event{}, ErrClosed
	}
	defer l.clock()()
	ctx, r.cancel = context.WithCancel(ctx)
	defer l.tree.atWork(ctx)()
	defer r.cancel()
	defer func() {
		if e := r.close(ctx); err == nil {
			err = e
		}
		if e := r.leave(ctx); err == nil {
			err = e
		}
	}()
	if err := l.configure(); err != nil {
		return message.Event{}, err
	}
	if err := l.findJobs(ctx); err != nil {
		return message.Event{}, err
	}
	if err := r.goOn(ctx); err != nil {
		return message.Event{}, err
	}
	if err := r.catchUp(ctx); err != nil {
		return message.Event{}, err
	}
	if err := r.say(ctx, input); err != nil {
		return message.Event{}, err
	}
	return r.converse(ctx)
}

// converse asks the model and runs its calls, by turns, until there is an answer or a reason to
// stop.
func (r *run) converse(ctx context.Context) (ended message.Event, err error) {
	l, limit := r.loop, r.loop.MaxTurns
	if limit == 0 {
		limit = DefaultMaxTurns
	}
	for range limit {
		r.tellJobs()
		if why := l.usedUp(); why != "" {
			return r.end(message.EndBudget, why), nil
		}
		reply, err := r.turn(ctx)
		switch {
		case err != nil:
			return message.Event{}, err
		case len(reply.Calls) > 0:
			if err := r.runCalls(ctx); err != nil {
				return message.Event{}, err
			}
			if why := r.failing.end(); why != "" {
				return r.end(message.EndRepeated, why), nil
			}
		case reply.Finish != message.FinishPause:
			r.warnOfAnswer(&reply)
			if !l.Steering.finish() {
				continue // the user has said more meanwhile
			}
			ended := r.end(message.EndAnswer, "")
			ended.Message = &reply
			return ended, nil
		}
	}
	return message.Event{}, &MaxIterationsError{limit}
}

// turn is one request: build it, hold it against the context's limit, send it, and record what the
// model says.
func (r *run) turn(ctx context.Context) (message.Message, error) {
	if ctx.Err() != nil {
		return message.Message{}, stopped(ctx)
	}
	if err := r.hear(ctx, r.loop.Steering.take(false)); err != nil {
		return message.Message{}, err
	}
	req, err := r.shown(ctx)
	if err != nil {
		return message.Message{}, err
	}
	reply, err := r.ask(ctx, &req)
	if err != nil {
		return message.Message{}, err
	}
	usage := r.loop.account(&req, &reply)
	if err := checkSize(&reply, MaxMessage); err != nil {
		return message.Message{}, &DecodeError{Err: err}
	}
	r.take(&reply)
	if err := r.loop.add(ctx, reply); err != nil {
		return message.Message{}, err
	}
	r.emit(message.Event{Kind: message.TurnCompleted, Message: &reply})
	r.emit(message.Event{Kind: message.UsageChanged, Usage: &usage})
	return reply, nil
}

// guard refuses what would not fit into the model's context. It runs before every request.
func (l *Loop) guard(req *message.Request) error {
	if l.ContextLimit == 0 {
		return nil
	}
	projected := tokens.Projected(req.Messages, req.Tools)
	if tokens.Fits(projected, l.ContextLimit) {
		return nil
	}
	return &ContextLimitError{projected, tokens.Reserve, l.ContextLimit, l.ModelName}
}

// ask sends a request and gives the model's message as the history wants it.
func (r *run) ask(ctx context.Context, req *message.Request) (message.Message, error) {
	l, streamed := r.loop, false
	req.Delta = func(d message.Delta) {
		if d.Reasoning != "" {
			r.emit(message.Event{Kind: message.ReasoningDelta, Text: d.Reasoning})
		}
		if d.Text != "" {
			streamed = true
			r.emit(message.Event{Kind: message.TextDelta, Text: d.Text})
		}
	}
	l.spend(Spent{Steps: 1})
	reply, err := l.Model.Turn(ctx, *req)
	switch code := Code(err); {
	case err != nil && ctx.Err() != nil:
		return message.Message{}, stopped(ctx)
	case code == "other", code == "cancelled", code == "sdk": // of a loop of the model's own
		return message.Message{}, &OtherError{"model", err}
	case err != nil:
		return message.Message{}, err
	}
	reply.Role, reply.Result = message.Assistant, nil
	if reply.Usage != nil {
		reply.Usage = new(plausible(*reply.Usage))
	}
	if reply.Model == "" {
		reply.Model = l.ModelName
	}
	if !streamed && reply.Text != "" {
		r.emit(message.Event{Kind: message.TextDelta, Text: reply.Text})
	}
	if reply.Finish == message.FinishRefusal && len(reply.Calls) > 0 {
		r.warn("the model's calls are left out: its answer ended in a refusal")
		reply.Calls = nil
	}
	return reply, nil
}

func (r *run) warnOfAnswer(reply *message.Message) {
	switch {
	case reply.Finish == message.FinishLength:
		r.warn("the answer was cut off: it reached the model's length limit")
	case reply.Finish == message.FinishRefusal:
		r.warn("the model, or a filter before it, refused to go on")
	case reply.Text == "":
		r.warn("the model gave an empty answer")
	}
}

// emit tells who listens, after what has happened to subagents meanwhile. Once nobody does, the run
// is over.
func (r *run) emit(ev message.Event) {
	r.drain()
	r.tell(ev)
}

// drain tells what has happened to subagents.
func (r *run) drain() {
	for !r.gone {
		ev, ok := r.loop.tree.inbox.Next()
		if !ok {
			return
		}
		r.tell(ev)
	}
}

// await waits for a call. Meanwhile it tells what happens to subagents, and asks what they ask.
func (r *run) await(done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-r.loop.tree.inbox.Ready():
			r.drain()
		case q := <-r.loop.tree.questions:
			r.put(q)
		}
	}
}

func (r *run) tell(ev message.Event) {
	if r.gone {
		return
	}
	r.gone = true // also when yield panics: it must not be called again
	if r.yield(ev, nil) {
		r.gone = false
	} else {
		r.cancel()
	}
}

func (r *run) warn(text string) { r.emit(message.Event{Kind: message.Warning, Text: text}) }

// end is the last event of a run.
func (r *run) end(how message.End, why string) message.Event {
	r.tellJobs()
	usage := r.loop.Spent().Usage
	return message.Event{Kind: message.Ended, End: how, Text: why, Usage: &usage}
}

// stopped is the error of a run that its caller has ended.
func stopped(ctx context.Context) error {
	return fmt.Errorf("the run was stopped: %w", context.Cause(ctx))
}
