package anthropic

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/provider"
	"github.com/wasmagent/wasmagent/agentloop/provider/internal/wire"
)

// spoken gathers what a model says.
type spoken struct {
	delta func(message.Delta)

	model  string
	blocks []*building
	open   map[int]*building // by index, in a stream
	calls  int
	reason string
	usage  usage
	ended  bool
}

// building is a block whose pieces come one after another.
type building struct {
	kind, id, name string
	text           strings.Builder // or thinking
	input          strings.Builder // JSON
	signature      strings.Builder
	raw            map[string]json.RawMessage
}

// read reads an answer to its end.
func (s *spoken) read(a *wire.Answer) error {
	if !a.Streamed {
		var whole answer
		if err := a.JSON(&whole); err != nil {
			return err
		}
		return s.addWhole(a, &whole)
	}
	for e, err := range a.Events() {
		if err != nil {
			return err
		}
		if string(bytes.TrimSpace(e.Data)) == "[DONE]" { // there are servers that end so
			break
		}
		ev, err := readEvent(e.Data)
		if err != nil {
			return err
		}
		if err := s.add(a, ev); err != nil {
			return err
		}
		if s.ended {
			break
		}
	}
	switch {
	case s.model == "" && len(s.blocks) == 0 && s.reason == "":
		return wire.Broken("it is not a message")
	case s.reason == "":
		return wire.Broken("%w", provider.ErrCutShort)
	}
	return nil
}

func (s *spoken) addWhole(a *wire.Answer, whole *answer) error {
	switch {
	case whole.Type == "error", len(whole.Error) > 0 && string(whole.Error) != "null":
		return a.Refused(statusOf(whole.Error), string(whole.Error))
	case whole.StopReason == "" && len(whole.Content) == 0:
		return wire.Broken("it is not a message")
	}
	s.model, s.reason, s.usage = whole.Model, whole.StopReason, whole.Usage
	for _, raw := range whole.Content {
		if _, err := s.begin(raw); err != nil {
			return err
		}
	}
	return nil
}

func (s *spoken) add(a *wire.Answer, e *event) error {
	switch e.Type {
	case "error":
		return a.Refused(statusOf(e.Error), string(e.Error))
	case "message_start":
		if e.Message == nil {
			return wire.Broken("its message_start has no message")
		}
		s.model = e.Message.Model
		s.usage.update(e.Message.Usage)
	case "content_block_start":
		b, err := s.begin(e.Block)
		if err != nil {
			return err
		}
		if s.open == nil {
			s.open = map[int]*building{}
		}
		s.open[e.Index] = b
	case "content_block_delta":
		return s.grow(e)
	case "message_delta":
		if e.Delta.StopReason != "" {
			s.reason = e.Delta.StopReason
		}
		s.usage.update(e.Usage)
	case "message_stop":
		s.ended = true
	}
	return nil // content_block_stop, ping, and what is not known
}

// readEvent reads an event. One of a kind that is not known may have anything in it.
func readEvent(data []byte) (*event, error) {
	var e event
	err := json.Unmarshal(data, &e)
	if err == nil {
		return &e, nil
	}
	var head struct{ Type string }
	if json.Unmarshal(data, &head) == nil && !kinds[head.Type] {
		return &event{}, nil
	}
	return nil, wire.Broken("one of its events is not the JSON that was expected (%w)", err)
}

// begin takes a block, which is whole or the start of one.
func (s *spoken) begin(raw json.RawMessage) (*building, error) {
	b := &building{}
	if err := json.Unmarshal(raw, &b.raw); err != nil || b.raw == nil {
		return nil, wire.Broken("one of its blocks is not an object")
	}
	b.kind, b.id, b.name = b.field("type"), b.field("id"), b.field("name")
	if b.kind == "tool_use" {
		if s.calls++; s.calls > provider.MaxCalls {
			return nil, wire.Broken("it has more than %d tool calls", provider.MaxCalls)
		}
	}
	if len(s.blocks) == provider.MaxParts {
		return nil, wire.Broken("it has more than %d blocks", provider.MaxParts)
	}
	s.blocks = append(s.blocks, b)
	s.say(b, b.field("text"), b.field("thinking"))
	return b, nil
}

// field is a text that the block began with.
func (b *building) field(name string) string {
	var text string
	_ = json.Unmarshal(b.raw[name], &text) // what is no text is not for us
	return text
}

// grow takes a piece of a block.
func (s *spoken) grow(e *event) error {
	b := s.open[e.Index]
	if b == nil {
		return wire.Broken("it has a piece of block %d, which has not begun", e.Index)
	}
	s.say(b, e.Delta.Text, e.Delta.Thinking)
	b.input.WriteString(e.Delta.PartialJSON)
	b.signature.WriteString(e.Delta.Signature)
	return nil
}

func (s *spoken) say(b *building, text, thinking string) {
	b.text.WriteString(text + thinking)
	if s.delta != nil && text+thinking != "" {
		s.delta(message.Delta{Text: text, Reasoning: thinking})
	}
}

// message is what has been said, once all has been.
func (s *spoken) message(ids wire.IDs) message.Message {
	m := message.Message{Role: message.Assistant, Finish: finish(s.reason),
		Usage: s.usage.normal(), Model: s.model}
	var text strings.Builder
	for _, b := range s.blocks {
		if b.kind == "text" {
			text.WriteString(b.text.String())
		}
	}
	m.Text = text.String()
	// A block that is kept says how many go before it when all are sent back. The texts are one then.
	at, textCounts := 0, !blank(m.Text)
	for _, b := range s.blocks {
		switch {
		case b.kind == "text" && !textCounts:
			continue
		case b.kind == "text":
			textCounts = false
		case b.kind == "tool_use":
			m.Calls = append(m.Calls, message.Call{ID: ids.Take(b.id), Name: b.name,
				Arguments: b.arguments()})
		default:
			opaque, _ := json.Marshal(kept{at, b.whole()}) // made of valid JSON
			m.Reasoning = append(m.Reasoning, message.Reasoning{Text: b.text.String(), Provider: name,
				Opaque: opaque})
		}
		at++
	}
	return m
}

// arguments are a call's as the model wrote them. In a stream they come in pieces, and what the
// block began with is a mere place for them.
func (b *building) arguments() string {
	if b.input.Len() > 0 {
		return b.input.String()
	}
	return string(b.raw["input"])
}

// whole is the block as it would have come in one piece.
func (b *building) whole() json.RawMessage {
	if b.kind == "thinking" {
		b.raw["thinking"], _ = json.Marshal(b.text.String()) // a string has a JSON form
		if b.signature.Len() > 0 {
			b.raw["signature"], _ = json.Marshal(b.signature.String())
		}
	}
	if input := b.input.String(); input != "" && json.Valid([]byte(input)) {
		b.raw["input"] = json.RawMessage(input)
	}
	raw, _ := json.Marshal(b.raw) // as above
	return raw
}
