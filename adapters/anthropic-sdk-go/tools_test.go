package anthropictools_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/wasmagent/wasmagent/abi"
	anthropictools "github.com/wasmagent/wasmagent/adapters/anthropic-sdk-go"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/plugins"
)

// converse is a whole loop: what a program of one's own looks like.
func converse(ctx context.Context, client anthropic.Client, r *plugins.Registry, question string) (
	*anthropic.Message, error) {
	params := anthropic.MessageNewParams{Model: "claude-sonnet-5-5", MaxTokens: 4096,
		Tools: anthropictools.Tools(r),
		Messages: []anthropic.MessageParam{
			anthropic.NewUserMessage(anthropic.NewTextBlock(question))}}
	for range 10 {
		said, err := client.Messages.New(ctx, params)
		if err != nil || said.StopReason != anthropic.StopReasonToolUse {
			return said, err
		}
		results, err := anthropictools.Answer(ctx, r, said)
		if err != nil {
			return nil, err
		}
		params.Messages = append(params.Messages, said.ToParam(), results)
	}
	return nil, errors.New("no answer after 10 turns")
}

func Example() {
	registry := plugins.NewRegistry(nil) // loader.OpenDir adds the plugins of a directory
	client := anthropic.NewClient()      // the key is in ANTHROPIC_API_KEY
	_, _ = converse(context.Background(), client, registry, "What is 20 and 1?")
}

type sum struct{ A, B int }

func registry(t *testing.T) *plugins.Registry {
	t.Helper()
	add, err := plugins.Func(abi.ToolSpec{Name: "add", Description: "Adds."},
		func(_ context.Context, in sum) (int, error) {
			if in.A < 0 {
				return 0, errors.New("too small")
			}
			return in.A + in.B, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	r := plugins.NewRegistry(nil)
	if err := r.Add(add); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestConverse(t *testing.T) {
	server := looptest.NewServer(t, looptest.Answer{Reasoning: "Four of them.", Calls: []message.Call{
		{ID: "1", Name: "add", Arguments: `{"A":20,"B":1}`},
		{ID: "2", Name: "add", Arguments: `{"A":-1,"B":1}`},
		{ID: "3", Name: "add", Arguments: `{"A":"x"}`},
		{ID: "4", Name: "sub", Arguments: `{}`},
	}}, looptest.Answer{Text: "It is 21."})
	client := anthropic.NewClient(option.WithAPIKey("key"), option.WithBaseURL(server.URL))
	said, err := converse(t.Context(), client, registry(t), "What is 20 and 1?")
	if err != nil || len(said.Content) != 1 || said.Content[0].Text != "It is 21." {
		t.Fatalf("have %+v, %v", said, err)
	}
	second := string(server.Asked()[1].Body)
	for _, want := range []string{`"name":"add"`, `"description":"Adds."`, `"input_schema":{`,
		`"text":"21"`, `tool \"add\" failed: it reported: \"too small\"`, `"is_error":true`,
		`tool \"add\" was not run: the arguments do not match its schema`,
		`there is no tool \"sub\"`} {
		if !strings.Contains(second, want) {
			t.Errorf("no %s in %s", want, second)
		}
	}
	if have := strings.Count(second, `"is_error":true`); have != 3 {
		t.Errorf("%d results are marked as errors, want 3: %s", have, second)
	}
}

func TestCallerIsGone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var m anthropic.Message
	if err := m.UnmarshalJSON([]byte(`{"content":[
		{"type":"tool_use","id":"1","name":"add","input":{"A":1,"B":1}}]}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := anthropictools.Answer(ctx, registry(t), &m); !errors.Is(err, context.Canceled) {
		t.Errorf("have %v", err)
	}
}
