package agentloop

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/agentloop/message"
)

// say makes the user's input part of the history and checks that there is something to answer.
func (r *run) say(ctx context.Context, input []message.Message) error {
	if err := r.loop.checkInput(input); err != nil || len(input) == 0 {
		return err
	}
	return r.loop.add(ctx, input...)
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
