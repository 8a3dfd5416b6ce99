package agentloop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/agentloop/message"
)

// say makes the user's input part of the history and checks that there is something to answer.
func (r *run) say(ctx context.Context, input []message.Message) error {
	wrong := func(err error) error { return &SdkError{"input", err} }
	for i := range input {
		if input[i].Role != message.User {
			return wrong(fmt.Errorf("message %d: its role is %q; a run takes those of the user",
				i+1, input[i].Role))
		}
		if len(input[i].Calls) > 0 || input[i].Result != nil {
			return wrong(fmt.Errorf("message %d: it has calls or a result; those are not the user's",
				i+1))
		}
	}
	l := r.loop
	if len(input) > 0 {
		return l.add(ctx, input...)
	}
	if len(l.history) == 0 {
		return wrong(errors.New("nobody has said anything yet"))
	}
	last := &l.history[len(l.history)-1]
	if last.Role == message.Assistant && last.Finish != message.FinishPause {
		return wrong(errors.New("the model has answered; say something more"))
	}
	return nil
}

// request builds what the model is sent: the history, or a view of it, with the system prompt first
// and without what is only kept, and the tools.
func (r *run) request(history []message.Message) message.Request {
	l := r.loop
	messages := make([]message.Message, 0, len(history)+1)
	if l.System != "" {
		messages = append(messages, message.Message{Role: message.System, Text: l.System})
	}
	for _, m := range history {
		if m.Role == message.System && l.System != "" {
			continue
		}
		m.Meta, m.Usage, m.Model, m.Time = nil, nil, "", time.Time{}
		messages = append(messages, m)
	}
	r.offer.refresh(l)
	return message.Request{Messages: messages, Tools: r.offer.tools}
}

// offer is the tools that the model may call.
type offer struct {
	list  []offered      // sorted by name
	tools []message.Spec // the same, as a request has them
}

// offered is a tool of the caller's or one of the loop's own.
type offered struct {
	abi.ToolSpec
	own bool
}

// refresh lists the tools anew: they may have changed since the last request.
func (o *offer) refresh(l *Loop) {
	list := make([]offered, 0, len(o.list)+1)
	if l.Tools != nil {
		for spec := range l.Tools.Specs() {
			list = append(list, offered{spec, false})
		}
	}
	for spec := range l.ownRegistry().Specs() {
		list = append(list, offered{spec, true})
	}
	slices.SortStableFunc(list, func(a, b offered) int { return strings.Compare(a.Name, b.Name) })
	if slices.Equal(list, o.list) {
		return
	}
	o.list, o.tools = list, make([]message.Spec, len(list))
	for i, t := range list {
		schema := t.InputSchema
		if schema == "" {
			schema = `{"type":"object","properties":{}}`
		}
		o.tools[i] = message.Spec{Name: t.Name, Description: t.Description,
			Schema: json.RawMessage(schema)}
	}
}

// find gives an offered tool.
func (o *offer) find(name string) (offered, error) {
	i, ok := slices.BinarySearchFunc(o.list, name, func(t offered, name string) int {
		return strings.Compare(t.Name, name)
	})
	if ok {
		return o.list[i], nil
	}
	have := make([]string, len(o.list))
	for i := range o.list {
		have[i] = o.list[i].Name
	}
	return offered{}, &UnknownToolError{Tool: name, Have: have}
}
