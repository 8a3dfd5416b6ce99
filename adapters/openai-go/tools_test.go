package openaitools_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/wasmagent/wasmagent/abi"
	openaitools "github.com/wasmagent/wasmagent/adapters/openai-go"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/plugins"
)

// converse is a whole loop: what a program of one's own looks like.
func converse(ctx context.Context, client openai.Client, r *plugins.Registry, question string) (
	string, error) {
	tools, err := openaitools.Tools(r)
	if err != nil {
		return "", err
	}
	params := openai.ChatCompletionNewParams{Model: "gpt-5-mini", Tools: tools,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(question)}}
	for range 10 {
		completion, err := client.Chat.Completions.New(ctx, params)
		if err != nil {
			return "", err
		}
		said := completion.Choices[0].Message
		if len(said.ToolCalls) == 0 {
			return said.Content, nil
		}
		results, err := openaitools.Answer(ctx, r, said)
		if err != nil {
			return "", err
		}
		params.Messages = append(append(params.Messages, said.ToParam()), results...)
	}
	return "", errors.New("no answer after 10 turns")
}

func Example() {
	registry := plugins.NewRegistry(nil) // loader.OpenDir adds the plugins of a directory
	client := openai.NewClient()         // the key is in OPENAI_API_KEY
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
	server := looptest.NewServer(t, looptest.Answer{Calls: []message.Call{
		{ID: "1", Name: "add", Arguments: `{"A":20,"B":1}`},
		{ID: "2", Name: "add", Arguments: `{"A":-1,"B":1}`},
		{ID: "3", Name: "add", Arguments: `{"A":"x"}`},
		{ID: "4", Name: "sub", Arguments: `{}`},
	}}, looptest.Answer{Text: "It is 21."})
	client := openai.NewClient(option.WithAPIKey("key"), option.WithBaseURL(server.URL+"/v1"))
	said, err := converse(t.Context(), client, registry(t), "What is 20 and 1?")
	if err != nil || said != "It is 21." {
		t.Fatalf("have %q, %v", said, err)
	}
	second := string(server.Asked()[1].Body)
	for _, want := range []string{`"name":"add"`, `"description":"Adds."`, `"content":"21"`,
		`"content":"error: tool \"add\" failed: it reported: \"too small\"`,
		`"content":"error: tool \"add\" was not run: the arguments do not match its schema`,
		`"content":"error: there is no tool \"sub\"`} {
		if !strings.Contains(second, want) {
			t.Errorf("no %s in %s", want, second)
		}
	}
}

func TestCallerIsGone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var m openai.ChatCompletionMessage
	if err := m.UnmarshalJSON([]byte(`{"tool_calls":[{"id":"1","type":"function",
		"function":{"name":"add","arguments":"{\"A\":1,\"B\":1}"}}]}`)); err != nil {
		t.Fatal(err)
	}
	list, err := openaitools.Answer(ctx, registry(t), m)
	if !errors.Is(err, context.Canceled) || list != nil {
		t.Errorf("have %v, %v", list, err)
	}
}
