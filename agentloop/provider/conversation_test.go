package provider_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/provider"
)

// TestConversation goes through two turns with two calls, and looks at what the server is sent.
func TestConversation(t *testing.T) {
	eachWire(t, func(t *testing.T, wire string, opts provider.Options) {
		calls := []message.Call{{ID: "c1", Name: "add", Arguments: `{"a": 1, "b": 20}`},
			{ID: "c2", Name: "now", Arguments: `{}`}}
		usage := message.Usage{Input: 120, Output: 30, Cached: 100, Reasoning: 9}
		server := looptest.NewServer(t,
			looptest.Answer{Text: "I’ll add and look at the clock.", Reasoning: "Two tools, then.",
				Calls: calls, Usage: usage},
			looptest.Answer{Text: "It is 21, and the clock is broken.",
				Finish: message.FinishLength})
		m, err := wires[wire](server.URL, opts)
		if err != nil {
			t.Fatal(err)
		}
		var said message.Delta
		req := message.Request{
			Messages: []message.Message{{Role: message.System, Text: "Be brief."},
				hello.Messages[0]},
			Tools: []message.Spec{{Name: "add", Description: "Adds.",
				Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "now"}},
			Delta: func(d message.Delta) { said.Text += d.Text; said.Reasoning += d.Reasoning },
		}
		first, err := m.Turn(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		checkFirst(t, &first, said, calls, usage)
		req.Messages = append(req.Messages, first,
			result("c1", message.OK, "21"), result("c2", message.Error, "no clock"))
		req.Delta = nil
		second, err := m.Turn(t.Context(), req)
		if err != nil || second.Finish != message.FinishLength || second.Text == "" {
			t.Errorf("have %+v, %v", second, err)
		}
		body := string(server.Asked()[1].Body)
		for _, want := range map[string][]string{
			"openai": {`"tool_call_id":"c1"`, `"content":"21"`, `"content":"error: no clock"`,
				`"reasoning_content":"Two tools, then."`, `"arguments":"{\"a\": 1, \"b\": 20}"`},
			"anthropic": {`"tool_use_id":"c1"`, `"content":"21"`,
				`"content":"no clock","is_error":true`,
				`"signature":"c2lnbmF0dXJl"`, `"thinking":"Two tools, then."`,
				`"system":"Be brief."`},
		}[wire] {
			if !strings.Contains(body, want) {
				t.Errorf("the second request has no %s:\n%s", want, body)
			}
		}
		if strings.Contains(body, "tool_choice") {
			t.Errorf("the second request chooses a tool: %s", body)
		}
	})
}

func result(id string, outcome message.Outcome, text string) message.Message {
	return message.Message{Role: message.Tool,
		Result: &message.Result{CallID: id, Outcome: outcome, Text: text}}
}

func checkFirst(t *testing.T, m *message.Message, said message.Delta, calls []message.Call,
	usage message.Usage) {
	t.Helper()
	thought := ""
	for _, r := range m.Reasoning {
		thought += r.Text
	}
	if said.Text != m.Text || said.Reasoning != thought || thought != "Two tools, then." ||
		m.Text != "I’ll add and look at the clock." {
		t.Errorf("have %q and %q, told %+v", m.Text, thought, said)
	}
	for i, c := range m.Calls { // arguments may have been compacted by the server
		want := calls[i].Arguments
		if strings.ReplaceAll(c.Arguments, " ", "") == strings.ReplaceAll(want, " ", "") {
			m.Calls[i].Arguments = want
		}
	}
	if !reflect.DeepEqual(m.Calls, calls) || m.Finish != message.FinishCalls || m.Model != "m" {
		t.Errorf("have %+v", m)
	}
	if m.Usage == nil || *m.Usage != usage {
		t.Errorf("have the usage %+v", m.Usage)
	}
}

// TestMetaStaysHere makes sure that no more of a message is sent than it says.
func TestMetaStaysHere(t *testing.T) {
	eachWire(t, func(t *testing.T, wire string, opts provider.Options) {
		server := looptest.NewServer(t, fine)
		m, err := wires[wire](server.URL, opts)
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Turn(t.Context(), message.Request{Messages: []message.Message{
			{Role: message.User, Text: "Hello",
				Meta: map[string]json.RawMessage{"hidden": []byte(`"hidden"`)}},
			{Role: message.Assistant, Text: "Hi", Model: "hidden", Finish: "hidden",
				Reasoning: []message.Reasoning{
					{Text: "hidden", Provider: "another", Opaque: []byte(`{"block":{"type":"hidden"}}`)}}},
			{Role: message.User, Text: "Bye"},
		}})
		if body := string(server.Asked()[0].Body); err != nil || strings.Contains(body, "hidden") {
			t.Errorf("have %v and %s", err, body)
		}
	})
}

// TestOptionsOnTheWire looks at the request that options make.
func TestOptionsOnTheWire(t *testing.T) {
	eachWire(t, func(t *testing.T, wire string, opts provider.Options) {
		server := looptest.NewServer(t, fine)
		opts.MaxTokens = 77
		opts.Headers = map[string]string{"x-title": "test"}
		opts.Extra = map[string]any{"temperature": 0.5, "thinking": map[string]any{"a<b": 1}}
		if _, _, err := ask(t, wire, server.URL, opts); err != nil {
			t.Fatal(err)
		}
		asked := server.Asked()[0]
		authorization := asked.Header.Get("Authorization") + asked.Header.Get("X-Api-Key")
		if asked.Header.Get("X-Title") != "test" ||
			strings.TrimPrefix(authorization, "Bearer ") != key {
			t.Errorf("have the header %v", asked.Header)
		}
		for _, want := range []string{`"max_tokens":77`, `"temperature":0.5`,
			`"thinking":{"a<b":1}`} {
			if !strings.Contains(string(asked.Body), want) {
				t.Errorf("no %s in %s", want, asked.Body)
			}
		}
		if strings.Contains(string(asked.Body), `"stream":true`) == opts.NoStream {
			t.Errorf("have %s", asked.Body)
		}
	})
}

// TestNotStreamedAfterAll asks for a stream and gets an answer in one piece, as from some servers.
func TestNotStreamedAfterAll(t *testing.T) {
	for wire, body := range map[string]string{
		"openai":    `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`,
		"anthropic": `{"content":[{"type":"text","text":"x"}],"stop_reason":"end_turn"}`,
	} {
		server := looptest.NewServer(t, looptest.Answer{Body: body,
			Header: map[string]string{"Content-Type": "application/json; charset=utf-8"}})
		m, _, err := ask(t, wire, server.URL, provider.Options{Client: client()})
		if err != nil || m.Text != "x" || m.Finish != message.FinishStop {
			t.Errorf("%s: have %+v, %v", wire, m, err)
		}
	}
}

// TestManyAtOnce has one model asked by many.
func TestManyAtOnce(t *testing.T) {
	eachWire(t, func(t *testing.T, wire string, opts provider.Options) {
		answers := make([]looptest.Answer, 16)
		for i := range answers {
			answers[i] = fine
		}
		server := looptest.NewServer(t, answers...)
		m, err := wires[wire](server.URL, opts)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range answers {
			wg.Go(func() {
				if got, err := m.Turn(t.Context(), hello); err != nil || got.Text != fine.Text {
					t.Errorf("have %q, %v", got.Text, err)
				}
			})
		}
		wg.Wait()
	})
}

// filler is bytes that mean nothing: white space in JSON, lines of comments in a stream.
type filler string

const (
	spaces  = filler(" ")
	comment = filler(":")
)

func (f filler) Read(p []byte) (int, error) {
	line := strings.Repeat(string(f), min(len(p), 32<<10)-1) + "\n"
	return copy(p, line), nil
}

// TestAnswerSize pins how large an answer may be.
func TestAnswerSize(t *testing.T) {
	if testing.Short() {
		t.Skip("reads half a gigabyte")
	}
	bodies := map[string]string{
		"openai/streamed": `data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}` + "\n",
		"openai/whole":    `{"choices":[{"message":{"content":"x"}}]}`,
		"anthropic/streamed": `data: {"type":"content_block_start",` +
			`"content_block":{"type":"text","text":"x"}}` +
			"\n\n" + `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}` + "\n",
		"anthropic/whole": `{"content":[{"type":"text","text":"x"}],"stop_reason":"end_turn"}`,
	}
	for name, body := range bodies {
		wire, form, _ := strings.Cut(name, "/")
		for more, want := range map[int]bool{0: true, 1: false, 1 << 16: false} {
			opts, fill := provider.Options{}, comment
			if form == "whole" {
				opts.NoStream, fill = true, spaces
			}
			answer := func(*http.Request) (*http.Response, error) {
				n := int64(provider.MaxAnswer - len(body) + more)
				rest := io.LimitReader(fill, n)
				return &http.Response{StatusCode: 200,
					Body: io.NopCloser(io.MultiReader(strings.NewReader(body), rest))}, nil
			}
			opts.Client = &http.Client{Transport: roundTrip(answer)}
			m, _, err := ask(t, wire, "http://127.0.0.1", opts)
			_, refused := errors.AsType[*provider.DecodeError](err)
			if refused == want || (m.Text == "x") != want {
				t.Errorf("%s, %d more: have %q, %v", name, more, m.Text, err)
			}
		}
	}
}
