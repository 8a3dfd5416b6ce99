package openai

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

	model                    string
	text, refusal, reasoning strings.Builder
	content                  bool // the reasoning came as reasoning_content
	details                  details
	calls                    []*building
	byIndex                  map[int]*building
	finish                   string
	usage                    *usage
	begun                    bool // there was a choice
}

// building is a call whose pieces come one after another.
type building struct {
	id, name  string
	arguments strings.Builder
	extra     json.RawMessage
}

// read reads an answer to its end.
func (s *spoken) read(a *wire.Answer) error {
	if !a.Streamed {
		var c chunk
		if err := a.JSON(&c); err != nil {
			return err
		}
		return s.end(s.add(a, &c))
	}
	done := false
	for event, err := range a.Events() {
		if err != nil {
			return err
		}
		if done = string(bytes.TrimSpace(event.Data)) == "[DONE]"; done {
			break
		}
		var c chunk
		if err := json.Unmarshal(event.Data, &c); err != nil {
			return wire.Broken("one of its events is not the JSON that was expected (%w)", err)
		}
		if err := s.add(a, &c); err != nil {
			return err
		}
	}
	if s.begun && !done && s.finish == "" {
		return wire.Broken("%w", provider.ErrCutShort)
	}
	return s.end(nil)
}

func (s *spoken) end(err error) error {
	if err == nil && !s.begun {
		return wire.Broken("it has no choices")
	}
	return err
}

func (s *spoken) add(a *wire.Answer, c *chunk) error {
	if c.Error != nil {
		return a.Refused(c.Error.status(), string(c.Error))
	}
	if c.Model != "" {
		s.model = c.Model
	}
	if c.Usage != nil {
		s.usage = c.Usage
	}
	for i := range c.Choices {
		choice := &c.Choices[i]
		if choice.Error != nil {
			return a.Refused(choice.Error.status(), string(choice.Error))
		}
		if choice.Index != 0 {
			continue // one has been asked for
		}
		s.begun = true
		if choice.FinishReason != "" {
			s.finish = choice.FinishReason
		}
		for _, p := range []*part{&choice.Delta, &choice.Message} {
			if err := s.addPart(p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *spoken) addPart(p *part) error {
	reasoning := string(p.Reasoning)
	if p.ReasoningContent != "" { // where there are both, they are the same
		reasoning, s.content = string(p.ReasoningContent), true
	}
	s.text.WriteString(string(p.Content))
	s.refusal.WriteString(p.Refusal)
	s.reasoning.WriteString(reasoning)
	if said := string(p.Content) + p.Refusal; s.delta != nil && said+reasoning != "" {
		s.delta(message.Delta{Text: said, Reasoning: reasoning})
	}
	for i := range p.Calls {
		if err := s.addCall(&p.Calls[i]); err != nil {
			return err
		}
	}
	for _, d := range p.ReasoningDetails {
		if err := s.details.add(d); err != nil {
			return err
		}
	}
	return nil
}

func (s *spoken) addCall(p *piece) error {
	b := s.callOf(p)
	if b == nil {
		if len(s.calls) == provider.MaxCalls {
			return wire.Broken("it has more than %d tool calls", provider.MaxCalls)
		}
		b = &building{id: p.ID}
		s.calls = append(s.calls, b)
		if p.Index != nil {
			if s.byIndex == nil {
				s.byIndex = map[int]*building{}
			}
			s.byIndex[*p.Index] = b
		}
	}
	if b.id == "" {
		b.id = p.ID
	}
	if b.name == "" {
		b.name = p.Function.Name
	}
	b.arguments.WriteString(string(p.Function.Arguments))
	if len(p.Extra) > 0 {
		b.extra = p.Extra
	}
	return nil
}

// callOf is the call that a piece belongs to, or nil where a new one begins. An index decides,
// unless another name and id come with it: there are servers that give each call the index 0.
func (s *spoken) callOf(p *piece) *building {
	var b *building
	if p.Index != nil {
		b = s.byIndex[*p.Index]
	} else if len(s.calls) > 0 {
		b = s.calls[len(s.calls)-1]
	}
	if b == nil || p.Function.Name == "" {
		return b
	}
	if p.ID != b.id || p.ID == "" && p.Index == nil {
		return nil
	}
	return b
}

// message is what has been said, once all has been.
func (s *spoken) message(ids wire.IDs, server string) message.Message {
	m := message.Message{
		Role:   message.Assistant,
		Text:   s.text.String() + s.refusal.String(),
		Finish: finish(s.finish, len(s.calls) > 0, s.refusal.Len() > 0),
		Usage:  s.usage.normal(),
		Model:  s.model,
	}
	k := kept{Server: server, Content: s.content, Details: s.details.list()}
	for _, b := range s.calls {
		call := message.Call{ID: ids.Take(b.id), Name: b.name, Arguments: b.arguments.String()}
		m.Calls = append(m.Calls, call)
		if b.extra != nil {
			if k.Calls == nil {
				k.Calls = map[string]json.RawMessage{}
			}
			k.Calls[call.ID] = b.extra
		}
	}
	if s.reasoning.Len() > 0 || k.Details != nil || k.Calls != nil {
		opaque, _ := json.Marshal(k) // its raw parts have come out of valid JSON
		m.Reasoning = []message.Reasoning{{Text: s.reasoning.String(), Provider: name, Opaque: opaque}}
	}
	return m
}
