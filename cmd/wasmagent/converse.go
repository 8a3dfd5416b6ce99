package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/sdk"
	"github.com/wasmagent/wasmagent/plugins"
)

// converse has one turn of the conversation: the user says something, and the model and its tools
// take turns until there is an answer or a reason to stop. Without input it goes on where it
// stopped.
func (g *agent) converse(ctx context.Context, input ...message.Message) (o outcome, err error) {
	turns, calls, before := g.heard.turns, g.heard.calls, g.loop.Spent()
	g.heard.begin()
	defer g.heard.quiet(func() {})
	ended, err := g.follow(ctx, input)
	spent := g.loop.Spent()
	o = outcome{
		End: ended.End, Why: ended.Text, Usage: since(spent.Usage, before.Usage),
		Dollars: spent.Dollars - before.Dollars,
		Turns:   g.heard.turns - turns, Calls: g.heard.calls - calls, Model: g.heard.model,
	}
	if o.Model == "" {
		o.Model = g.name
	}
	if ended.Message != nil {
		o.Answer = ended.Message.Text
	}
	if g.session != nil {
		o.Session = g.session.Name()
	}
	if err == nil && ended.End != message.EndAnswer {
		err = &stoppedError{ended.End, ended.Text}
	}
	if err == nil {
		err = g.heard.failed
	}
	return o, err
}

// follow says something and hears what happens until the run has ended.
func (g *agent) follow(ctx context.Context, input []message.Message) (message.Event, error) {
	if err := g.Input(ctx, input...); err != nil {
		if agentloop.SdkCode(err) == agentloop.SdkInvalidArgument {
			err = &usageError{text: err.Error()}
		}
		return message.Event{}, plain(err)
	}
	// The run ends with ctx; its end is heard all the same.
	for ev, err := range g.Events(context.WithoutCancel(ctx), g.last) {
		if err != nil {
			return message.Event{}, plain(err)
		}
		g.last = ev.Seq
		switch ev.Kind {
		case message.Said, sdk.Answered:
		case sdk.Asked:
			g.respond(ctx, ev.Question)
		case sdk.Failed:
			if p, ok := errors.AsType[*plugins.PanicError](ev.Err); ok {
				panic(fmt.Sprintf("%v\n\n%s", p.Value, p.Stack))
			}
			return message.Event{}, plain(ev.Err)
		case message.Ended:
			g.heard.event(ev.Event)
			return ev.Event, nil
		default:
			g.heard.event(ev.Event)
		}
	}
	return message.Event{}, nil // never: it is left above
}

// respond has the person at the terminal answer a question, as long as it waits for an answer.
func (g *agent) respond(ctx context.Context, q *sdk.Question) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-q.Done:
			cancel()
		case <-ctx.Done():
		}
	}()
	switch answer, err := g.tools.ask(ctx, q.Asked); {
	case ctx.Err() != nil: // with the run
	case err != nil:
		_ = g.Interrupt(fmt.Errorf("approval: %w", err)) // unless it ends by itself just now
	default:
		_ = g.Respond(q.ID, answer) // unless it was withdrawn just now
	}
}

// since is what was used after an earlier state.
func since(now, before message.Usage) message.Usage {
	return message.Usage{Input: now.Input - before.Input, Output: now.Output - before.Output,
		Cached: now.Cached - before.Cached, Reasoning: now.Reasoning - before.Reasoning}
}

// stoppedError is a run that has ended without an answer and without a fault.
type stoppedError struct {
	end message.End
	why string
}

func (e *stoppedError) Error() string { return "the run has stopped: " + e.why }
