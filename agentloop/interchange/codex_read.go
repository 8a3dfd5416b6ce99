package interchange

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/internal/misfit"
)

// codexReader reads a rollout of Codex's.
type codexReader struct {
	*reader
	open  *part // what the model is saying
	model string

	harness, undone, replaced, sealed, unknown int // counts of what is left out
}

func (r *reader) readCodex() error {
	c := &codexReader{reader: r}
	for n := range r.lines {
		if err := c.line(n); err != nil {
			return err
		}
	}
	r.note(c.harness, "message", "messages", "of the program's own to the model")
	r.note(c.replaced, "message", "messages", "that a compaction has replaced")
	r.note(c.undone, "message", "messages", "taken back")
	r.note(c.sealed, "compaction", "compactions",
		"that only its maker can read: what was said before it counts")
	r.note(c.unknown, "item", "items", "of a kind that has no words here")
	return nil
}

func (c *codexReader) line(n int) error {
	var l codexLine
	err := json.Unmarshal(c.lines[n], &l)
	c.seen(n, l.Time.Time, err)
	if l.Ordinal != nil {
		c.out.ordinal = l.Ordinal
	}
	if l.Payload == nil {
		l.Payload = c.lines[n]
		if l.Type != "" {
			l.Type = "response_item"
		} else if n == 0 {
			l.Type = "session_meta"
		}
	}
	switch l.Type {
	case "session_meta":
		c.meta(n, l)
	case "turn_context":
		var t struct{ Model string }
		if json.Unmarshal(l.Payload, &t) == nil && t.Model != "" {
			c.model = t.Model
		}
	case "event_msg":
		c.event(l.Payload)
	case "compacted":
		err = c.compacted(n, l)
	case "response_item":
		if err == nil {
			err = c.item(n, l.Payload, l.Own, l.Time.Time)
		}
	default:
		return nil // kept, like all that is not known
	}
	if err != nil {
		return c.fail(n, "an item of an unknown shape: %s; take it out of a copy of the file", misfit.Text(err))
	}
	return nil
}

func (c *codexReader) meta(n int, l codexLine) {
	var m struct {
		ID      string `json:"id"`
		Created stamp  `json:"timestamp"`
		CWD     string `json:"cwd"`
	}
	if json.Unmarshal(l.Payload, &m) != nil || c.out.ID != "" {
		return // a fork begins with the lines of what it comes from
	}
	c.out.ID, c.out.CWD = m.ID, m.CWD
	if !m.Created.IsZero() {
		c.out.Created = m.Created.Time
	}
	if len(l.Own) > 0 && len(c.parts) == 0 { // the system prompt
		c.parts = append(c.parts, &part{lines: []int{n}, patch: l.Own})
	}
}

func (c *codexReader) event(payload json.RawMessage) {
	var e struct {
		Type  string `json:"type"`
		Turns int    `json:"num_turns"`
		Info  struct {
			Last *struct {
				Input     int64 `json:"input_tokens"`
				Cached    int64 `json:"cached_input_tokens"`
				Output    int64 `json:"output_tokens"`
				Reasoning int64 `json:"reasoning_output_tokens"`
			} `json:"last_token_usage"`
		} `json:"info"`
	}
	if json.Unmarshal(payload, &e) != nil {
		return
	}
	if u := e.Info.Last; e.Type == "token_count" && u != nil && len(c.parts) > 0 {
		if p := c.parts[len(c.parts)-1]; p.Role == message.Assistant && p.patch == nil {
			p.Usage = &message.Usage{Input: u.Input, Output: u.Output, Cached: u.Cached,
				Reasoning: u.Reasoning}
		}
	}
	if e.Type == "thread_rolled_back" {
		c.rollBack(e.Turns)
	}
}

// rollBack takes back the last turns, each from what the user said on.
func (c *codexReader) rollBack(turns int) {
	for i := len(c.parts) - 1; i >= 0 && turns > 0; i-- {
		if c.parts[i].Role == message.User {
			turns--
		}
		if c.parts[i].Role == "" {
			break // the system prompt
		}
		c.undone++
		c.parts = c.parts[:i]
	}
	c.open = nil
}

// compacted begins the conversation anew with what stands for it since. Where that is sealed, what
// was said before goes on to count.
func (c *codexReader) compacted(n int, l codexLine) error {
	var p struct {
		Message string            `json:"message"`
		History []json.RawMessage `json:"replacement_history"`
	}
	if err := json.Unmarshal(l.Payload, &p); err != nil {
		return err
	}
	for _, raw := range p.History {
		var i codexItem
		if json.Unmarshal(raw, &i) == nil && i.Encrypted != "" && i.Type != "reasoning" {
			c.sealed++
			return nil
		}
	}
	if p.History == nil && p.Message == "" {
		return nil
	}
	c.replaced += len(c.parts)
	c.parts, c.open = nil, nil
	if p.History == nil {
		c.parts = append(c.parts, &part{lines: []int{n}, Message: message.Message{
			Role: message.User, Text: p.Message, Time: l.Time.Time}})
	}
	for _, raw := range p.History {
		if err := c.item(n, raw, nil, l.Time.Time); err != nil {
			return err
		}
	}
	c.open = nil
	return nil
}

// item takes an item of the conversation.
func (c *codexReader) item(n int, payload json.RawMessage, own patch, at time.Time) error {
	var i codexItem
	if err := json.Unmarshal(payload, &i); err != nil {
		return err
	}
	switch i.Type {
	case "message":
		c.message(n, &i, own, at)
	case "reasoning":
		p := c.speaking(n, own, at)
		text := paragraphs(append(i.Summary.shown(), i.Content.shown()...))
		p.Reasoning = append(p.Reasoning, message.Reasoning{Text: text, Provider: openAI,
			Opaque: encode(sealed{payload})})
	case "function_call":
		c.call(n, i.CallID, i.name(), i.Arguments, own, at)
	case "custom_tool_call":
		c.call(n, i.CallID, i.name(), string(encode(map[string]string{"input": i.Input})), own, at)
	case "local_shell_call":
		c.call(n, i.CallID, "local_shell", string(i.Action), own, at)
	case "function_call_output", "custom_tool_call_output":
		c.open = nil
		c.answer(n, i.CallID, i.Output.text, cmp.Or(i.Output.outcome, message.OK), own).Time = at
	case "":
	default:
		c.unknown++
	}
	return nil
}

func (c *codexReader) message(n int, i *codexItem, own patch, at time.Time) {
	if own == nil && i.harness() {
		c.harness++
		return
	}
	text := paragraphs(i.Content.shown())
	if i.Role == string(message.Assistant) {
		p := c.speaking(n, own, at)
		p.Text = paragraphs([]string{p.Text, text})
		return
	}
	c.open = nil
	c.parts = append(c.parts, &part{lines: []int{n}, patch: own,
		Message: message.Message{Role: message.User, Text: text, Time: at}})
}

// speaking is what the model is saying: it goes on until somebody else speaks, or a result comes.
func (c *codexReader) speaking(n int, own patch, at time.Time) *part {
	if c.open == nil || own != nil {
		c.open = &part{patch: own, Message: message.Message{Role: message.Assistant, Time: at,
			Finish: message.FinishStop}}
		if own == nil {
			c.open.Model = c.model
		}
		c.parts = append(c.parts, c.open)
	}
	if k := len(c.open.lines); k == 0 || c.open.lines[k-1] != n {
		c.open.lines = append(c.open.lines, n)
	}
	return c.open
}

func (c *codexReader) call(n int, id, name, arguments string, own patch, at time.Time) {
	p := c.speaking(n, own, at)
	p.Calls = append(p.Calls, message.Call{ID: id, Name: name, Arguments: arguments})
	p.Finish = message.FinishCalls
}

// name is a tool's, with what it belongs to.
func (i *codexItem) name() string {
	if i.Namespace == "" {
		return i.Name
	}
	return strings.TrimSuffix(i.Namespace, "__") + "__" + i.Name
}
