package anthropic_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/provider"
	"github.com/wasmagent/wasmagent/agentloop/provider/anthropic"
)

// server answers all requests with one body, and keeps the last request.
type server struct {
	body string
	sent string
}

func (s *server) RoundTrip(req *http.Request) (*http.Response, error) {
	sent, err := io.ReadAll(req.Body)
	s.sent = req.URL.String() + " " + string(sent)
	return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(s.body))}, err
}

func (s *server) ask(t *testing.T, opts provider.Options, req message.Request) (
	message.Message, error) {
	t.Helper()
	opts.Client = &http.Client{Transport: s}
	if opts.BaseURL == "" {
		opts.APIKey = "k"
	}
	m, err := anthropic.New("m", &opts)
	if err != nil {
		t.Fatal(err)
	}
	return m.Turn(t.Context(), req)
}

// events is a streamed answer.
func events(list ...string) string {
	var b strings.Builder
	for _, e := range list {
		fmt.Fprintf(&b, "data: %s\n\n", e)
	}
	return b.String()
}

func start(index int, block string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, block)
}

func delta(index int, fields string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{%s}}`, index, fields)
}

func stop(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + reason +
		`"},"usage":{"output_tokens":9}}`
}

const (
	text = `{"type":"text","text":""}`
	end  = `{"type":"message_stop"}`
)

// TestStreams tells what streams come to.
func TestStreams(t *testing.T) {
	for name, tt := range map[string]struct{ body, want string }{
		"text": {events(start(0, text), delta(0, `"type":"text_delta","text":"Hel"`),
			delta(0, `"type":"text_delta","text":"lo"`), stop("end_turn"), end), "Hello; stop"},
		"more after the end": {events(start(0, text), stop("end_turn"), end) + "data: {\n\n",
			"stop"},
		"a call in pieces": {events(start(0, `{"type":"tool_use","id":"a","name":"f","input":{}}`),
			delta(0, `"type":"input_json_delta","partial_json":""`),
			delta(0, `"type":"input_json_delta","partial_json":"{\"x\": "`),
			delta(0, `"type":"input_json_delta","partial_json":"1}"`), stop("tool_use"), end),
			`a f {"x": 1}; tool_calls`},
		"calls at the same time": {events(start(0, `{"type":"tool_use","id":"a","name":"f"}`),
			start(7, `{"type":"tool_use","id":"b","name":"g"}`),
			delta(0, `"partial_json":"{"`), delta(7, `"partial_json":"{ }"`),
			delta(0, `"partial_json":"}"`),
			stop("tool_use"), end), `a f {}; b g { }; tool_calls`},
		"a call without arguments": {events(
			start(0, `{"type":"tool_use","id":"a","name":"f","input":{}}`),
			stop("tool_use"), end), `a f {}; tool_calls`},
		"half of a call": {events(start(0, `{"type":"tool_use","id":"a","name":"f","input":{}}`),
			delta(0, `"partial_json":"{\"x"`), stop("max_tokens"), end), `a f {"x; length`},
		"missing and used ids": {events(start(0, `{"type":"tool_use","name":"f","input":{}}`),
			start(1, `{"type":"tool_use","id":"old","name":"g","input":{}}`), stop("tool_use"), end),
			`* f {}; * g {}; tool_calls`},
		"thinking": {events(start(0, `{"type":"thinking","thinking":"","signature":""}`),
			delta(0, `"type":"thinking_delta","thinking":"hm"`),
			delta(0, `"type":"thinking_delta","thinking":"m"`),
			delta(0, `"type":"signature_delta","signature":"s"`), start(1, text),
			delta(1, `"text":"x"`),
			stop("end_turn"), end), "(hmm); x; stop"},
		"other reasons": {events(start(0, text), delta(0, `"text":"x"`), stop("moon"), end),
			"x; other"},
		"refusal": {events(stop("refusal"), end), "refusal"},
		"pause": {events(start(0, text), delta(0, `"text":"x"`), stop("pause_turn"), end),
			"x; pause"},
		"compaction": {events(start(0, `{"type":"compaction","content":"c"}`),
			stop("compaction"), end), "(); pause"},
		"the window": {events(start(0, text), delta(0, `"text":"x"`),
			stop("model_context_window_exceeded"), end),
			"x; length"},
		"unknown things": {events(`{"type":"moon","index":"x","delta":7}`, `{"type":"ping"}`,
			start(0, text),
			delta(0, `"type":"moon_delta","moon":[]`), delta(0, `"text":"x","new":{}`),
			stop("end_turn"), end), "x; stop"},
		"no stop event": {events(start(0, text), delta(0, `"text":"x"`), stop("end_turn")),
			"x; stop"},
		"no stop reason": {events(start(0, text), delta(0, `"text":"x"`)), "broken"},
		"only [DONE]":    {events("[DONE]"), "broken"},
		"a lost piece":   {events(delta(3, `"text":"x"`), stop("end_turn"), end), "broken"},
		"no block":       {events(start(0, `7`)), "broken"},
		"no message":     {events(`{"type":"message_start"}`), "broken"},
		"a wrong type":   {events(`{"type":"content_block_delta","index":"x"}`), "broken"},
		"an error": {events(`{"type":"error","error":{"type":"invalid_request_error"}}`),
			"status 400"},
		"an unknown error": {events(`{"type":"error","error":"no"}`), "status 0"},
	} {
		s := &server{body: tt.body}
		old := message.Message{Role: message.Assistant,
			Calls: []message.Call{{ID: "old", Name: "f"}}}
		m, err := s.ask(t, provider.Options{}, message.Request{Messages: []message.Message{old}})
		if have := shown(m, err); have != tt.want {
			t.Errorf("%s: have %q (%v), want %q", name, have, err, tt.want)
		}
	}
}

func shown(m message.Message, err error) string {
	if refused, ok := errors.AsType[*provider.StatusError](err); ok {
		return fmt.Sprint("status ", refused.Status)
	}
	if _, ok := errors.AsType[*provider.DecodeError](err); ok {
		return "broken"
	}
	if err != nil {
		return err.Error()
	}
	var list []string
	for _, r := range m.Reasoning {
		list = append(list, "("+r.Text+")")
	}
	if m.Text != "" {
		list = append(list, m.Text)
	}
	for _, c := range m.Calls {
		if strings.HasPrefix(c.ID, "call_") {
			c.ID = "*"
		}
		list = append(list, c.ID+" "+c.Name+" "+c.Arguments)
	}
	return strings.Join(append(list, string(m.Finish)), "; ")
}

// TestUsage tells what the numbers come to: those of the end count, where there are such.
func TestUsage(t *testing.T) {
	begin := `{"type":"message_start","message":{"model":"m2","usage":{"input_tokens":10,` +
		`"cache_read_input_tokens":5,"cache_creation_input_tokens":2,"output_tokens":1}}}`
	for name, tt := range map[string]struct {
		body string
		want *message.Usage
	}{
		"stream": {events(begin, stop("end_turn"), end), &message.Usage{Input: 17, Output: 9,
			Cached: 5}},
		"stream, all again": {events(begin,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},`+
				`"usage":{"input_tokens":20,"output_tokens":9,`+
				`"output_tokens_details":{"thinking_tokens":4}}}`, end),
			&message.Usage{Input: 27, Output: 9, Cached: 5, Reasoning: 4}},
		"none": {events(`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, end), nil},
	} {
		s := &server{body: tt.body}
		m, err := s.ask(t, provider.Options{}, message.Request{})
		if err != nil || (m.Usage == nil) != (tt.want == nil) || tt.want != nil && *m.Usage != *tt.want {
			t.Errorf("%s: have %+v, %v", name, m.Usage, err)
		}
	}
}

// TestGivenBack sends blocks back that are neither text nor calls, each at its place.
func TestGivenBack(t *testing.T) {
	s := &server{body: events(
		start(0, text), delta(0, `"text":"\n"`),
		start(1, `{"type":"thinking","thinking":"","signature":""}`), delta(1, `"thinking":"one"`),
		delta(1, `"signature":"s1"`),
		start(2, text), delta(2, `"text":"Let me"`),
		start(3, `{"type":"redacted_thinking","data":"d"}`),
		start(4, text), delta(4, `"text":" see."`),
		start(5, `{"type":"server_tool_use","id":"s","name":"web","input":{}}`),
		delta(5, `"partial_json":"{\"q\":1}"`),
		start(6, `{"type":"tool_use","id":"a.1","name":"f","input":{}}`),
		start(7, `{"type":"thinking","thinking":"two","signature":"s2"}`),
		start(8, `{"type":"tool_use","id":"b","name":"g","input":{}}`),
		stop("tool_use"), end)}
	first, err := s.ask(t, provider.Options{}, message.Request{})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := json.Marshal(first)
	if err != nil {
		t.Fatal(err)
	}
	var loaded message.Message
	if err := json.Unmarshal(stored, &loaded); err != nil {
		t.Fatal(err)
	}
	const want = `"messages":[{"role":"assistant","content":[` +
		`{"text":"\nLet me see.","type":"text"},` +
		`{"signature":"s1","thinking":"one","type":"thinking"},` +
		`{"data":"d","type":"redacted_thinking"},` +
		`{"id":"s","input":{"q":1},"name":"web","type":"server_tool_use"},` +
		`{"id":"a_1","input":{},"name":"f","type":"tool_use"},` +
		`{"signature":"s2","thinking":"two","type":"thinking"},` +
		`{"id":"b","input":{},"name":"g","type":"tool_use"}]}`
	_, err = s.ask(t, provider.Options{}, message.Request{Messages: []message.Message{loaded}})
	if err != nil || !strings.Contains(s.sent, want) {
		t.Errorf("have %s, %v\nwant %s", s.sent, err, want)
	}
}

// TestRequest pins a whole request.
func TestRequest(t *testing.T) {
	s := &server{body: events(stop("end_turn"), end)}
	_, err := s.ask(t, provider.Options{}, message.Request{Messages: []message.Message{
		{Role: message.System, Text: "S"},
		{Role: message.User, Text: "U <b>"},
		{Role: message.Assistant, Text: "A", Calls: []message.Call{
			{ID: "1", Name: "f"}, {ID: "2:x", Name: "no such name", Arguments: `{"a":`}}},
		{Role: message.Tool, Result: &message.Result{CallID: "1", Text: "R", Outcome: message.OK}},
		{Role: message.Tool, Result: &message.Result{CallID: "2:x", Outcome: message.Unknown,
			Text: "it was stopped"}},
		{Role: message.User, Text: "V"},
		{Role: message.Assistant, Text: " "},
		{Role: message.User, Text: "W"},
	}, Tools: []message.Spec{{Name: "f", Description: "D"}}})
	const want = anthropic.BaseURL + `/v1/messages {"max_tokens":16384,"messages":[` +
		`{"role":"user","content":[{"text":"U <b>","type":"text"}]},` +
		`{"role":"assistant","content":[{"text":"A","type":"text"},` +
		`{"id":"1","input":{},"name":"f","type":"tool_use"},` +
		`{"id":"2_x","input":{"not_an_object":"{\"a\":"},"name":"no_such_name","type":"tool_use"}]},` +
		`{"role":"user","content":[{"content":"R","tool_use_id":"1","type":"tool_result"},` +
		`{"content":"the outcome is not known: it was stopped","is_error":true,` +
		`"tool_use_id":"2_x","type":"tool_result"},` +
		`{"text":"V","type":"text"},{"text":"W","type":"text"}]}],` +
		`"model":"m","stream":true,"system":"S",` +
		`"tools":[{"description":"D","input_schema":{"type":"object","properties":{}},"name":"f"}]}`
	if err != nil || s.sent != want {
		t.Errorf("have %s, %v\nwant %s", s.sent, err, want)
	}
	for base, want := range map[string]string{"https://x": "https://x/v1/messages ",
		"https://x/v1/":    "https://x/v1/messages ",
		"https://x/claude": "https://x/claude/v1/messages "} {
		_, err := s.ask(t, provider.Options{BaseURL: base}, message.Request{})
		if err != nil || !strings.HasPrefix(s.sent, want) {
			t.Errorf("%s: have %s, %v", base, s.sent, err)
		}
	}
}

// TestCounts pins how many calls and blocks one answer may have.
func TestCounts(t *testing.T) {
	many := func(n int, block string) string {
		return events(strings.Split(strings.Repeat(start(0, block)+"\n", n), "\n")[:n]...) +
			events(stop("end_turn"), end)
	}
	const call, thought = `{"type":"tool_use","name":"f"}`, `{"type":"thinking"}`
	for name, tt := range map[string]struct {
		body string
		want bool
	}{
		"calls":        {many(provider.MaxCalls, call), true},
		"calls, past":  {many(provider.MaxCalls+1, call), false},
		"blocks":       {many(provider.MaxParts, thought), true},
		"blocks, past": {many(provider.MaxParts+1, thought), false},
	} {
		s := &server{body: tt.body}
		_, err := s.ask(t, provider.Options{}, message.Request{})
		if _, refused := errors.AsType[*provider.DecodeError](err); refused == tt.want {
			t.Errorf("%s: have %v", name, err)
		}
	}
}
