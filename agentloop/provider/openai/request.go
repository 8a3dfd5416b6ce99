package openai

import (
	"encoding/json"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/provider/internal/wire"
)

// name is whose reasoning is ours.
const name = "openai"

func (m *Model) body(req *message.Request) map[string]any {
	messages := make([]turn, len(req.Messages))
	for i := range req.Messages {
		messages[i] = m.turn(&req.Messages[i])
	}
	body := map[string]any{"model": m.name, "messages": messages}
	if len(req.Tools) > 0 {
		body["tools"] = tools(req.Tools)
	}
	if m.maxTokens > 0 {
		body[m.limitName()] = m.maxTokens
	}
	if m.stream {
		body["stream"] = true
		body["stream_options"] = map[string]any{"include_usage": true}
	}
	return body
}

// turn is a message as the API has it.
type turn struct {
	Role             string            `json:"role"`
	Content          *string           `json:"content"` // null in a message that only calls
	ReasoningContent string            `json:"reasoning_content,omitempty"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details,omitempty"`
	Calls            []call            `json:"tool_calls,omitempty"`
	CallID           string            `json:"tool_call_id,omitempty"`
}

type call struct {
	ID       string          `json:"id"`
	Type     string          `json:"type"`
	Function function        `json:"function"`
	Extra    json.RawMessage `json:"extra_content,omitempty"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// kept is what a server wants to have back with a message of its own: it lies in the message's
// reasoning.
type kept struct {
	Server  string                     `json:"server"`
	Content bool                       `json:"content,omitempty"` // reasoning_content
	Details []json.RawMessage          `json:"details,omitempty"`
	Calls   map[string]json.RawMessage `json:"calls,omitempty"` // by id
}

func (m *Model) turn(from *message.Message) turn {
	t := turn{Role: string(from.Role), Content: &from.Text}
	if r := from.Result; r != nil {
		text := marked(r)
		t.Content, t.CallID = &text, r.CallID
	}
	for _, c := range from.Calls {
		t.Calls = append(t.Calls, call{c.ID, "function",
			function{wire.Name(c.Name), wire.Arguments(c.Arguments)}, nil})
	}
	if from.Text == "" && len(from.Calls) > 0 {
		t.Content = nil
	}
	for _, r := range from.Reasoning {
		m.giveBack(&t, &r)
	}
	return t
}

// giveBack adds what this server, and no other, wants to have back.
func (m *Model) giveBack(t *turn, r *message.Reasoning) {
	var k kept
	if r.Provider != name || json.Unmarshal(r.Opaque, &k) != nil || k.Server != m.client.Host() {
		return
	}
	if k.Content && len(t.Calls) > 0 {
		t.ReasoningContent += r.Text
	}
	t.ReasoningDetails = append(t.ReasoningDetails, k.Details...)
	for i := range t.Calls {
		if extra, ok := k.Calls[t.Calls[i].ID]; ok {
			t.Calls[i].Extra = extra
		}
	}
}

// marked is a result's text, which says so where the call did not end well.
func marked(r *message.Result) string {
	switch r.Outcome {
	case message.Error:
		return "error: " + r.Text
	case message.Unknown:
		return "the outcome is not known: " + r.Text
	}
	return r.Text
}

func tools(specs []message.Spec) []any {
	list := make([]any, len(specs))
	for i, s := range specs {
		list[i] = map[string]any{"type": "function", "function": map[string]any{
			"name": s.Name, "description": s.Description, "parameters": wire.Schema(s.Schema)}}
	}
	return list
}
