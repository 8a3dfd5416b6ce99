package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/provider/internal/wire"
)

// name is whose reasoning is ours.
const name = "anthropic"

// block is a part of a message: an object of the API, or one of its blocks as it came.
type block = any

type turn struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

func (m *Model) body(req *message.Request) map[string]any {
	body := map[string]any{"model": m.name, "max_tokens": m.maxTokens}
	list := req.Messages
	if len(list) > 0 && list[0].Role == message.System {
		if list[0].Text != "" {
			body["system"] = list[0].Text
		}
		list = list[1:]
	}
	body["messages"] = turns(list)
	if len(req.Tools) > 0 {
		body["tools"] = tools(req.Tools)
	}
	if m.stream {
		body["stream"] = true
	}
	return body
}

// turns makes messages of one role that follow each other one: the API wants all results of a
// message's calls together. What has no content is left out, since the API refuses it.
func turns(list []message.Message) []turn {
	turns := []turn{}
	for i := range list {
		role := message.User
		if list[i].Role == message.Assistant {
			role = message.Assistant
		}
		content := blocks(&list[i])
		if len(content) == 0 {
			continue
		}
		if last := len(turns) - 1; last >= 0 && turns[last].Role == string(role) {
			turns[last].Content = append(turns[last].Content, content...)
		} else {
			turns = append(turns, turn{string(role), content})
		}
	}
	return turns
}

func blocks(m *message.Message) []block {
	var list []block
	if r := m.Result; r != nil {
		text := r.Text
		if r.Outcome == message.Unknown {
			text = "the outcome is not known: " + text
		}
		result := map[string]any{"type": "tool_result", "tool_use_id": wire.Plain(r.CallID),
			"content": text}
		if r.Outcome != message.OK && r.Outcome != "" {
			result["is_error"] = true
		}
		return []block{result}
	}
	if !blank(m.Text) {
		list = append(list, map[string]any{"type": "text", "text": m.Text})
	}
	for _, c := range m.Calls {
		list = append(list, map[string]any{"type": "tool_use", "id": wire.Plain(c.ID),
			"name": wire.Name(c.Name), "input": json.RawMessage(wire.Arguments(c.Arguments))})
	}
	for _, r := range m.Reasoning {
		var k kept
		if r.Provider == name && json.Unmarshal(r.Opaque, &k) == nil && len(k.Block) > 0 {
			list = slices.Insert(list, min(max(k.At, 0), len(list)), block(k.Block))
		}
	}
	return list
}

// blank tells whether a text has nothing in it: the API refuses blocks of such a text.
func blank(text string) bool { return strings.TrimSpace(text) == "" }

// kept is a block that the API wants back, and how many blocks were before it.
type kept struct {
	At    int             `json:"at"`
	Block json.RawMessage `json:"block"`
}

func tools(specs []message.Spec) []any {
	list := make([]any, len(specs))
	for i, s := range specs {
		list[i] = map[string]any{
			"name": s.Name, "description": s.Description, "input_schema": wire.Schema(s.Schema)}
	}
	return list
}
