package interchange

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// claudeVersion is the one of Claude Code that its lines are made after.
const claudeVersion = "2.1.332"

// claudeSystem is the line that keeps the system prompt. Claude Code has its own, and skips it.
const claudeSystem = "wasmagent-system"

// claudePointer is the line that says where the conversation goes on.
const claudePointer = "last-prompt"

// claude is the line of message n.
func (w *writer) claude(n int, m *message.Message) []object {
	if m.Role == message.System {
		return []object{{{"type", claudeSystem}, {"sessionId", w.id}}}
	}
	kind := "user"
	said := object{{"role", kind}}
	switch {
	case m.Result != nil:
		said = append(said, field{"content", []object{claudeResult(m.Result)}})
	case m.Role == message.User && strings.TrimSpace(m.Text) == "":
		said = append(said, field{"content", nothing})
	case m.Role == message.User:
		said = append(said, field{"content", m.Text})
	default:
		kind = "assistant"
		said = w.claudeSaid(n, m)
	}
	var parent any
	if w.parent != "" {
		parent = w.parent
	}
	w.parent = w.uuid(n, "message")
	return []object{{
		{"parentUuid", parent}, {"isSidechain", w.sidechain}, {"userType", "external"},
		{"cwd", w.cwd}, {"sessionId", w.id}, {"version", claudeVersion}, {"gitBranch", ""},
		{"type", kind}, {"message", said}, {"uuid", w.parent}, {"timestamp", w.stamp(m)},
	}}
}

// point writes the line that tells Claude Code where the conversation goes on. Without it, one that
// is in the file already would keep it from seeing what comes after.
func (w *writer) point() {
	prompt := ""
	for i := range w.Messages {
		if w.Messages[i].Role == message.User {
			prompt = w.Messages[i].Text
		}
	}
	w.lines = append(w.lines, encode(object{{"type", claudePointer}, {"lastPrompt", prompt},
		{"leafUuid", w.parent}, {"sessionId", w.id}}))
}

func claudeResult(r *message.Result) object {
	return object{{"type", "tool_result"}, {"tool_use_id", plain(r.CallID)}, {"content", r.Text},
		{"is_error", r.Outcome != message.OK}}
}

// claudeSaid is the assistant's message.
func (w *writer) claudeSaid(n int, m *message.Message) object {
	model := m.Model
	if model == "" {
		model = "unknown"
	}
	var stop any
	for reason, finish := range claudeStops {
		if finish == m.Finish {
			stop = reason
		}
	}
	var u message.Usage
	if m.Usage != nil {
		u = *m.Usage
	}
	return object{
		{"id", "msg_" + strings.ReplaceAll(w.uuid(n, "response"), "-", "")},
		{"type", "message"}, {"role", "assistant"}, {"model", model}, {"content", claudeBlocks(m)},
		{"stop_reason", stop}, {"stop_sequence", nil},
		{"usage", object{{"input_tokens", u.Input - u.Cached}, {"cache_creation_input_tokens", 0},
			{"cache_read_input_tokens", u.Cached}, {"output_tokens", u.Output}}},
	}
}

// claudeBlocks are the text, the calls, and the thinking at its places among them.
func claudeBlocks(m *message.Message) []any {
	var list []any
	if strings.TrimSpace(m.Text) != "" {
		list = append(list, object{{"type", "text"}, {"text", m.Text}})
	}
	for _, c := range m.Calls {
		list = append(list, object{{"type", "tool_use"}, {"id", plain(c.ID)}, {"name", plain(c.Name)},
			{"input", claudeInput(c.Arguments)}})
	}
	for _, r := range m.Reasoning {
		var s signed
		if r.Provider != anthropic || json.Unmarshal(r.Opaque, &s) != nil {
			continue
		}
		if kind := kindOf(s.Block); kind != "" && thought(kind) {
			list = slices.Insert(list, min(max(s.At, 0), len(list)), any(s.Block))
		}
	}
	if len(list) == 0 {
		list = append(list, object{{"type", "text"}, {"text", nothing}})
	}
	return list
}

// kindOf is the type of a block or an item, or "".
func kindOf(raw json.RawMessage) string {
	var k struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(raw, &k) != nil {
		return ""
	}
	return k.Type
}

// claudeInput is a call's arguments, which must be an object.
func claudeInput(arguments string) any {
	raw := bytes.TrimSpace([]byte(arguments))
	switch {
	case len(raw) == 0:
		return object{}
	case split(raw) == nil:
		return object{{"arguments", arguments}}
	}
	return json.RawMessage(raw)
}
