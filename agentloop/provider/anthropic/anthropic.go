// Package anthropic speaks the Messages API of Anthropic.
//
//	model, err := anthropic.New("claude-sonnet-4-5", nil) // the key is in ANTHROPIC_API_KEY
//
// # What is kept apart
//
// Text becomes the message's text and tool_use blocks its calls. Every other block (thinking with
// its signature, thinking that is redacted, and kinds that are not known here) is kept as it came,
// as a part of the message's reasoning, and is sent back at its place: the API wants it so. The
// results that answer one message are sent in one, with the mark for those that are errors.
//
// Thinking is switched on by Options.Extra, as everything else is that the API offers.
package anthropic

import (
	"context"
	"net/http"
	"path"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/provider"
	"github.com/wasmagent/wasmagent/agentloop/provider/internal/wire"
)

// What is used where the options say nothing.
const (
	BaseURL     = "https://api.anthropic.com"
	KeyVariable = "ANTHROPIC_API_KEY"
	MaxTokens   = 16384 // of one answer; the API must be told a limit
)

// version of the API that is spoken.
const version = "2023-06-01"

// Model is one model of one server. It may be used by any number of goroutines.
type Model struct {
	name      string
	maxTokens int
	stream    bool
	client    *wire.Client
}

// New makes a model. It asks nobody; a key that is missing is a *provider.MissingAPIKeyError.
func New(model string, opts *provider.Options) (*Model, error) {
	if opts == nil {
		opts = &provider.Options{}
	}
	client, err := wire.New(wire.API{
		Name:        "anthropic",
		BaseURL:     BaseURL,
		KeyVariable: KeyVariable,
		Header:      http.Header{"Anthropic-Version": {version}},
		Authorize:   func(h http.Header, key string) { h.Set("X-Api-Key", key) },
		Reserved:    []string{"model", "messages", "tools", "stream", "system"},
	}, opts)
	if err != nil {
		return nil, err
	}
	m := &Model{model, opts.MaxTokens, !opts.NoStream, client}
	if m.maxTokens <= 0 {
		m.maxTokens = MaxTokens
	}
	return m, nil
}

// Turn asks for the next message.
func (m *Model) Turn(ctx context.Context, req message.Request) (message.Message, error) {
	var out message.Message
	err := m.client.Post(ctx, m.path(), m.body(&req), func(a *wire.Answer) error {
		s := &spoken{delta: req.Delta}
		if err := s.read(a); err != nil {
			return err
		}
		out = s.message(wire.NewIDs(req.Messages))
		if out.Model == "" {
			out.Model = m.name
		}
		return nil
	})
	return out, err
}

// path is where messages are asked for. Base URLs are given with the version and without.
func (m *Model) path() string {
	if path.Base(m.client.Path()) == "v1" {
		return "messages"
	}
	return "v1/messages"
}
