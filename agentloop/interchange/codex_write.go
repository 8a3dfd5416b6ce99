package interchange

import (
	"encoding/json"
	"strings"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// codexVersion is the one of Codex that its lines are made after.
const codexVersion = "0.171.0"

func (w *writer) codexLine(kind, at string, payload any) object {
	line := object{{"timestamp", at}}
	if w.ordinal != nil {
		w.ordinal = new(*w.ordinal + 1)
		line = append(line, field{"ordinal", *w.ordinal})
	}
	return append(line, field{"type", kind}, field{"payload", payload})
}

// beginCodex writes the first line, with the system prompt beside it: Codex has its own.
func (w *writer) beginCodex() (said int) {
	var none message.Message
	at := w.stamp(&none)
	line := w.codexLine("session_meta", at, object{
		{"id", w.id}, {"timestamp", at}, {"cwd", w.cwd}, {"originator", "wasmagent"},
		{"cli_version", codexVersion}, {"source", "exec"},
	})
	if m := &w.Messages[0]; m.Role == message.System {
		line = append(line, field{ownField, difference(fields(&none), fields(m))})
		said = 1
	}
	w.lines = append(w.lines, encode(line))
	return said
}

// codex is the lines of message n.
func (w *writer) codex(_ int, m *message.Message) (lines []object) {
	at := w.stamp(m)
	item := func(payload any) {
		lines = append(lines, w.codexLine("response_item", at, payload))
	}
	switch {
	case m.Result != nil:
		item(object{{"type", "function_call_output"}, {"call_id", plain(m.Result.CallID)},
			{"output", m.Result.Text}})
	case m.Role == message.User:
		text := w.codexSaid(item, m.Text, "user", "input_text")
		lines = append(lines, w.codexLine("event_msg", at,
			object{{"type", "user_message"}, {"message", text}, {"kind", "plain"}}))
	default:
		w.codexSpoken(item, m)
		if m.Text != "" { // what the program shows
			lines = append(lines, w.codexLine("event_msg", at,
				object{{"type", "agent_message"}, {"message", m.Text}}))
		}
	}
	return lines
}

func (w *writer) codexSaid(item func(any), text, role, kind string) string {
	if strings.TrimSpace(text) == "" {
		text = nothing
	}
	item(object{{"type", "message"}, {"role", role},
		{"content", []object{{{"type", kind}, {"text", text}}}}})
	return text
}

func (w *writer) codexSpoken(item func(any), m *message.Message) {
	items := 0
	for _, r := range m.Reasoning {
		var s sealed
		if r.Provider == openAI && json.Unmarshal(r.Opaque, &s) == nil &&
			kindOf(s.Item) == "reasoning" {
			item(s.Item)
			items++
		}
	}
	if m.Text != "" || items+len(m.Calls) == 0 {
		w.codexSaid(item, m.Text, "assistant", "output_text")
	}
	for _, c := range m.Calls {
		arguments := c.Arguments
		if split([]byte(arguments)) == nil {
			arguments = string(encode(claudeInput(arguments)))
		}
		item(object{{"type", "function_call"}, {"name", plain(c.Name)}, {"arguments", arguments},
			{"call_id", plain(c.ID)}})
	}
}
