package provider_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// object is a JSON object of a recording.
type object map[string]any

func (o object) text(name string) string {
	s, _ := o[name].(string)
	return s
}

func (o object) object(name string) object {
	m, _ := o[name].(map[string]any)
	return m
}

// objects is a list of objects; a text is a list of one that has it.
func (o object) objects(name string) []object {
	if s, ok := o[name].(string); ok {
		return []object{{"type": "text", "text": s}}
	}
	list, _ := o[name].([]any)
	var all []object
	for _, item := range list {
		m, _ := item.(map[string]any)
		all = append(all, m)
	}
	return all
}

// textOf joins the texts of a content.
func (o object) textOf(name string) string {
	var b strings.Builder
	for _, part := range o.objects(name) {
		b.WriteString(part.text("text"))
	}
	return b.String()
}

func raw(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// requestOpenAI is what the recorded client wanted to say.
func requestOpenAI(sent []byte) (message.Request, error) {
	var body object
	if err := json.Unmarshal(sent, &body); err != nil {
		return message.Request{}, err
	}
	var req message.Request
	for _, m := range body.objects("messages") {
		out := message.Message{Role: message.Role(m.text("role")), Text: m.textOf("content")}
		for _, c := range m.objects("tool_calls") {
			f := c.object("function")
			out.Calls = append(out.Calls, message.Call{ID: c.text("id"), Name: f.text("name"),
				Arguments: f.text("arguments")})
		}
		if out.Role == message.Tool {
			out.Result = &message.Result{CallID: m.text("tool_call_id"), Text: out.Text,
				Outcome: message.OK}
			out.Text = ""
		}
		req.Messages = append(req.Messages, out)
	}
	for _, tool := range body.objects("tools") {
		f := tool.object("function")
		req.Tools = append(req.Tools, message.Spec{Name: f.text("name"),
			Description: f.text("description"), Schema: raw(f["parameters"])})
	}
	return req, nil
}

// shapeOpenAI is what of a request must be the same, whoever sends it.
func shapeOpenAI(sent []byte) (string, error) {
	var body object
	if err := json.Unmarshal(sent, &body); err != nil {
		return "", err
	}
	var b strings.Builder
	for _, m := range body.objects("messages") {
		fmt.Fprintf(&b, "\n%s %q", m.text("role"), m.textOf("content"))
		if id := m.text("tool_call_id"); id != "" {
			fmt.Fprintf(&b, " answers %s", id)
		}
		for _, c := range m.objects("tool_calls") {
			f := c.object("function")
			arguments := f.text("arguments")
			var wrapped struct { // what was no object is sent inside of one
				Text *string `json:"not_an_object"`
			}
			if json.Unmarshal([]byte(arguments), &wrapped) == nil && wrapped.Text != nil {
				arguments = *wrapped.Text
			}
			fmt.Fprintf(&b, " calls %s %s %q", c.text("id"), f.text("name"), arguments)
		}
	}
	for _, tool := range body.objects("tools") {
		f := tool.object("function")
		fmt.Fprintf(&b, "\ntool %s %q %s", f.text("name"), f.text("description"),
			raw(f["parameters"]))
	}
	return b.String(), nil
}

// requestAnthropic is what the recorded client wanted to say.
func requestAnthropic(sent []byte) (message.Request, error) {
	var body object
	if err := json.Unmarshal(sent, &body); err != nil {
		return message.Request{}, err
	}
	var req message.Request
	if system := body.textOf("system"); system != "" {
		req.Messages = append(req.Messages, message.Message{Role: message.System, Text: system})
	}
	for _, m := range body.objects("messages") {
		out := message.Message{Role: message.Role(m.text("role"))}
		for at, block := range m.objects("content") {
			switch block.text("type") {
			case "text":
				out.Text += block.text("text")
			case "tool_use":
				out.Calls = append(out.Calls, message.Call{ID: block.text("id"),
					Name: block.text("name"), Arguments: string(raw(block["input"]))})
			case "tool_result":
				r := &message.Result{CallID: block.text("tool_use_id"), Outcome: message.OK,
					Text: block.textOf("content")}
				if block["is_error"] == true {
					r.Outcome = message.Error
				}
				req.Messages = append(req.Messages, message.Message{Role: message.Tool, Result: r})
			case "image", "document": // there is no place for them
			default:
				out.Reasoning = append(out.Reasoning, message.Reasoning{Provider: "anthropic",
					Opaque: raw(map[string]any{"at": at, "block": block})})
			}
		}
		if out.Text != "" || out.Calls != nil || out.Reasoning != nil {
			req.Messages = append(req.Messages, out)
		}
	}
	for _, tool := range body.objects("tools") {
		if tool["input_schema"] != nil { // the others run at the server
			req.Tools = append(req.Tools, message.Spec{Name: tool.text("name"),
				Description: tool.text("description"), Schema: raw(tool["input_schema"])})
		}
	}
	return req, nil
}

// shapeAnthropic is what of a request must be the same, whoever sends it.
func shapeAnthropic(sent []byte) (string, error) {
	var body object
	if err := json.Unmarshal(sent, &body); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "system %q", body.textOf("system"))
	for _, m := range body.objects("messages") {
		fmt.Fprintf(&b, "\n%s", m.text("role"))
		for _, block := range m.objects("content") {
			switch block.text("type") {
			case "text":
				b.WriteString(block.text("text")) // several of them may have become one
			case "tool_use":
				fmt.Fprintf(&b, " calls %s %s %s", block.text("id"), block.text("name"),
					raw(block["input"]))
			case "tool_result":
				fmt.Fprintf(&b, " answers %s %q %v", block.text("tool_use_id"),
					block.textOf("content"),
					block["is_error"] == true)
			case "image", "document":
			default:
				delete(block, "cache_control")
				fmt.Fprintf(&b, " %s", raw(block))
			}
		}
	}
	for _, tool := range body.objects("tools") {
		if tool["input_schema"] != nil {
			fmt.Fprintf(&b, "\ntool %s %q %s", tool.text("name"), tool.text("description"),
				raw(tool["input_schema"]))
		}
	}
	return b.String(), nil
}

// callsIn counts the tool calls of an answer without knowing much of its form: each has one object
// with a name that is a call's.
func callsIn(answer []byte) int {
	n := 0
	for line := range strings.Lines(string(answer)) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "data:")
		var v any
		if json.Unmarshal([]byte(line), &v) == nil {
			n += callsBelow(v)
		}
	}
	if n == 0 {
		var v any
		if json.Unmarshal(answer, &v) == nil {
			n = callsBelow(v)
		}
	}
	return n
}

func callsBelow(v any) int {
	n := 0
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			n += callsBelow(item)
		}
	case map[string]any:
		f, _ := v["function"].(map[string]any)
		if v["type"] == "tool_use" || v["type"] == "function" && f["name"] != nil && f["name"] != "" {
			return 1
		}
		for _, item := range v {
			n += callsBelow(item)
		}
	}
	return n
}
