// Package openai speaks the Chat Completions API: that of OpenAI, and of the many servers that are
// compatible with it, such as Ollama, llama.cpp, vLLM, OpenRouter, Groq, and the end points that
// Google, xAI and others offer beside their own APIs.
//
//	model, err := openai.New("gpt-5-mini", nil) // the key is in OPENAI_API_KEY
//	model, err := openai.New("qwen3", &provider.Options{BaseURL: "http://localhost:11434/v1"})
//
// # What servers do differently
//
// Tool calls may come in pieces or whole, with or without an index, with ids that are missing or
// come again; each call leaves here whole and with an id that the conversation has only once.
// Arguments are left as the model wrote them, even if they are no JSON. Why a model stopped is
// looked at together with what it said, since some servers always say "stop". Reasoning is found
// under the names that servers have given it. What a server wants back with its own messages
// (reasoning, where it made calls, and signatures) it gets; no other server does.
// Fields that are not known are ignored.
//
// The API has no mark for a result that is an error, so its text says so.
package openai

import (
	"context"
	"net/http"
	"strings"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/provider"
	"github.com/wasmagent/wasmagent/agentloop/provider/internal/wire"
)

// What is used where the options say nothing.
const (
	BaseURL     = "https://api.openai.com/v1"
	KeyVariable = "OPENAI_API_KEY"
)

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
		Name:        "openai",
		BaseURL:     BaseURL,
		KeyVariable: KeyVariable,
		Authorize:   func(h http.Header, key string) { h.Set("Authorization", "Bearer "+key) },
		Reserved:    []string{"model", "messages", "tools", "stream", "n"},
	}, opts)
	if err != nil {
		return nil, err
	}
	return &Model{model, opts.MaxTokens, !opts.NoStream, client}, nil
}

// Turn asks for the next message.
func (m *Model) Turn(ctx context.Context, req message.Request) (message.Message, error) {
	var out message.Message
	err := m.client.Post(ctx, "chat/completions", m.body(&req), func(a *wire.Answer) error {
		s := &spoken{delta: req.Delta}
		if err := s.read(a); err != nil {
			return err
		}
		out = s.message(wire.NewIDs(req.Messages), m.client.Host())
		if out.Model == "" {
			out.Model = m.name
		}
		return nil
	})
	return out, err
}

// limitName is what the field for a limit of tokens is called. OpenAI's newer models refuse the old
// name, and many compatible servers know no other.
func (m *Model) limitName() string {
	host := m.client.Host()
	if host == "api.openai.com" || strings.HasSuffix(host, ".openai.azure.com") {
		return "max_completion_tokens"
	}
	return "max_tokens"
}
