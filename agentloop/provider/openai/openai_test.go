package openai_test

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
	"github.com/wasmagent/wasmagent/agentloop/provider/openai"
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

func (s *server) ask(t *testing.T, opts provider.Options, list ...message.Message) (
	message.Message, error) {
	t.Helper()
	opts.Client = &http.Client{Transport: s}
	m, err := openai.New("m", &opts)
	if err != nil {
		t.Fatal(err)
	}
	return m.Turn(t.Context(), message.Request{Messages: list})
}

// events is a streamed answer of some chunks, each of which is what its first choice has.
func events(choices ...string) string {
	var b strings.Builder
	for _, c := range choices {
		fmt.Fprintf(&b, "data: {\"choices\":[%s]}\n\n", c)
	}
	return b.String() + "data: [DONE]\n\n"
}

func delta(fields string) string { return `{"delta":{` + fields + `}}` }

func calls(list ...string) string { return delta(`"tool_calls":[` + strings.Join(list, ",") + `]`) }

// TestServers tells what the ways of different servers come to. A made-up id is shown as *.
func TestServers(t *testing.T) {
	for name, tt := range map[string]struct{ body, want string }{
		"pieces by index": {events(
			calls(`{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}`),
			calls(`{"index":1,"id":"b","type":"function","function":{"name":"g","arguments":""}}`),
			calls(`{"index":0,"function":{"arguments":"{\"x\""}}`,
				`{"index":1,"function":{"arguments":"{"}}`),
			calls(`{"index":1,"function":{"arguments":"}"}}`,
				`{"index":0,"function":{"arguments":":1}"}}`),
			`{"delta":{},"finish_reason":"tool_calls"}`), `a f {"x":1}; b g {}; tool_calls`},
		"whole calls without index": {events(
			calls(`{"id":"a","function":{"name":"f","arguments":"{}"}}`),
			calls(`{"id":"b","function":{"name":"f","arguments":"{}"}}`)),
			`a f {}; b f {}; tool_calls`},
		"whole calls without index and id": {events(
			calls(`{"function":{"name":"f","arguments":"{}"}}`,
				`{"function":{"name":"f","arguments":"{}"}}`)),
			`* f {}; * f {}; tool_calls`},
		"pieces without index": {events(
			calls(`{"id":"a","function":{"name":"f","arguments":"{"}}`),
			calls(`{"function":{"arguments":"}"}}`)), `a f {}; tool_calls`},
		"an id that comes later": {events(
			calls(`{"index":0,"function":{"name":"f","arguments":"{"}}`),
			calls(`{"index":0,"id":"a","function":{"arguments":"}"}}`)), `a f {}; tool_calls`},
		"index 0 for all": {events(
			calls(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`),
			calls(`{"index":0,"id":"b","function":{"name":"g","arguments":"{"}}`),
			calls(`{"index":0,"function":{"arguments":"}"}}`)), `a f {}; b g {}; tool_calls`},
		"name and id in each piece": {events(
			calls(`{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}`),
			calls(`{"index":0,"id":"a","function":{"name":"f","arguments":"}"}}`)),
			`a f {}; tool_calls`},
		"far indices": {events(
			calls(`{"index":2000000000,"id":"a","function":{"name":"f","arguments":""}}`),
			calls(`{"index":-7,"id":"b","function":{"name":"g"}}`)), `a f ; b g ; tool_calls`},
		"the same id twice": {events(
			calls(`{"index":0,"id":"a","function":{"name":"f"}}`,
				`{"index":1,"id":"a","function":{"name":"g"}}`)),
			`a f ; * g ; tool_calls`},
		"an id of before": {events(calls(`{"index":0,"id":"old","function":{"name":"f"}}`)),
			`* f ; tool_calls`},
		"arguments that are an object": {events(
			calls(`{"id":"a","function":{"name":"f","arguments":{"x": 1}}}`)),
			`a f {"x": 1}; tool_calls`},
		"arguments that are none": {events(
			calls(`{"id":"a","function":{"name":"f","arguments":null}}`)), `a f ; tool_calls`},
		"half of a call": {events(calls(`{"id":"a","function":{"name":"f","arguments":"{\"x"}}`),
			`{"finish_reason":"length"}`), `a f {"x; length`},
		"it says stop and calls": {
			events(calls(`{"id":"a","function":{"name":"f","arguments":"{}"}}`),
				`{"finish_reason":"stop"}`), `a f {}; tool_calls`},
		"content is null": {events(delta(`"content":null`), delta(`"content":"x"`)),
			"x; stop"},
		"content is a list": {
			events(delta(`"content":[{"type":"thinking","thinking":[]},{"type":"text","text":"x"}]`)),
			"x; stop"},
		"a refusal": {events(delta(`"refusal":"I wi"`), delta(`"refusal":"ll not"`),
			`{"finish_reason":"stop"}`), "I will not; refusal"},
		"a filter": {events(delta(`"content":"x"`),
			`{"finish_reason":"content_filter"}`), "x; refusal"},
		"another reason": {events(delta(`"content":"x"`), `{"finish_reason":"moon"}`),
			"x; other"},
		"no reason, no [DONE]": {strings.TrimSuffix(events(delta(`"content":"x"`)),
			"data: [DONE]\n\n"), "broken"},
		"a reason, no [DONE]": {strings.TrimSuffix(events(delta(`"content":"x"`),
			`{"finish_reason":"stop"}`), "data: [DONE]\n\n"), "x; stop"},
		"only [DONE]": {"data: [DONE]\n\n", "broken"},
		"unknown things": {events(`{"delta":{"content":"x","moon":[{}]},"sun":1}`),
			"x; stop"},
		"another choice": {events(`{"index":1,"delta":{"content":"y"}}`,
			delta(`"content":"x"`)), "x; stop"},
		"reasoning": {events(delta(`"reasoning":"hm"`), delta(`"reasoning":"m"`),
			delta(`"content":"x"`)), "(hmm); x; stop"},
		"reasoning_content": {events(delta(`"reasoning_content":"hmm","reasoning":"hmm"`),
			delta(`"content":"x"`)), "(hmm); x; stop"},
		"an error of its own": {`data: {"error":{"message":"no","code":"402"}}` + "\n\n",
			"status 402"},
		"an error in a choice": {events(`{"delta":{},"error":{"message":"no","code":400}}`),
			"status 400"},
		"an error as a text": {`data: {"error":"no","choices":[]}` + "\n\n", "status 0"},
		"an error that is none": {`data: {"error":null,"choices":[{"delta":{"content":"x"}}]}` +
			"\n\ndata: [DONE]\n\n", "x; stop"},
		"empty events": {"data:\n\n: keep\n\n" + events(delta(`"content":"x"`)),
			"x; stop"},
		"a detail that is none": {events(delta(`"reasoning_details":[1]`)), "broken"},
	} {
		s := &server{body: tt.body}
		old := message.Message{Role: message.Assistant,
			Calls: []message.Call{{ID: "old", Name: "f"}}}
		m, err := s.ask(t, provider.Options{BaseURL: "http://localhost/v1"}, old)
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

// TestUsage tells what the numbers of different servers come to.
func TestUsage(t *testing.T) {
	for name, tt := range map[string]struct {
		usage string
		want  message.Usage
	}{
		"plain": {`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}`,
			message.Usage{Input: 10, Output: 5}},
		"details": {`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,
			"prompt_tokens_details":{"cached_tokens":8},"completion_tokens_details":{"reasoning_tokens":3}}`,
			message.Usage{Input: 10, Output: 5, Cached: 8, Reasoning: 3}},
		"reasoning beside": {`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":18,
			"completion_tokens_details":{"reasoning_tokens":3}}`,
			message.Usage{Input: 10, Output: 8, Reasoning: 3}},
		"cache hits": {`{"prompt_tokens":10,"completion_tokens":5,"prompt_cache_hit_tokens":6}`,
			message.Usage{Input: 10, Output: 5, Cached: 6}},
		"nulls": {`{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":null}`,
			message.Usage{Input: 10, Output: 5}},
	} {
		s := &server{body: `data: {"choices":[{"delta":{"content":"x"}}],"usage":{"prompt_tokens":1}}` +
			"\n\n" + `data: {"choices":[],"usage":` + strings.ReplaceAll(tt.usage, "\n", "") +
			"}\n\ndata: [DONE]\n\n"}
		m, err := s.ask(t, provider.Options{BaseURL: "http://localhost/v1"})
		if err != nil || m.Usage == nil || *m.Usage != tt.want {
			t.Errorf("%s: have %+v, %v", name, m.Usage, err)
		}
	}
	s := &server{body: events(delta(`"content":"x"`))}
	m, err := s.ask(t, provider.Options{BaseURL: "http://localhost/v1"})
	if err != nil || m.Usage != nil {
		t.Errorf("no usage: have %+v, %v", m.Usage, err)
	}
}

// TestGivenBack sends a message back to the server that said it, and to another one.
func TestGivenBack(t *testing.T) {
	s := &server{body: events(
		delta(`"reasoning_content":"hmm"`),
		delta(`"reasoning_details":[{"type":"reasoning.text","index":0,"text":"h","format":null}]`),
		delta(`"reasoning_details":[{"type":"reasoning.text","index":0,"text":"m","format":"x"}]`),
		delta(`"reasoning_details":[{"type":"reasoning.text","index":0,"signature":"s"}]`),
		delta(`"reasoning_details":[{"type":"reasoning.encrypted","index":1,"data":"d"}]`),
		delta(`"reasoning_details":[{"type":"reasoning.encrypted","data":"e"}]`),
		calls(`{"id":"a","function":{"name":"f","arguments":"{}"},`+
			`"extra_content":{"google":{"thought":"z"}}}`))}
	first, err := s.ask(t, provider.Options{BaseURL: "https://one/v1"})
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
	const own = `{"role":"assistant","content":null,"reasoning_content":"hmm","reasoning_details":[` +
		`{"format":"x","index":0,"signature":"s","text":"hm","type":"reasoning.text"},` +
		`{"data":"d","index":1,"type":"reasoning.encrypted"},` +
		`{"data":"e","type":"reasoning.encrypted"}],` +
		`"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"},` +
		`"extra_content":{"google":{"thought":"z"}}}]}`
	const plain = `{"role":"assistant","content":null,` +
		`"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	for base, want := range map[string]string{"https://one/v1": own, "https://two/v1": plain} {
		if _, err := s.ask(t, provider.Options{BaseURL: base}, loaded); err != nil {
			t.Error(err)
		}
		if !strings.Contains(s.sent, `"messages":[`+want+`]`) {
			t.Errorf("%s: have %s\nwant %s", base, s.sent, want)
		}
	}
}

// TestRequest pins a whole request.
func TestRequest(t *testing.T) {
	s := &server{body: events(delta(`"content":"x"`))}
	opts := provider.Options{BaseURL: "https://x/v1?version=1", MaxTokens: 5}
	_, err := s.ask(t, opts,
		message.Message{Role: message.System, Text: "S"},
		message.Message{Role: message.User, Text: "U <b>"},
		message.Message{Role: message.Assistant, Text: "A", Calls: []message.Call{
			{ID: "1", Name: "f"}, {ID: "2", Name: "no such name", Arguments: `{"a":`}}},
		message.Message{Role: message.Tool, Result: &message.Result{CallID: "1", Text: "R",
			Outcome: message.OK}},
		message.Message{Role: message.Tool, Result: &message.Result{CallID: "2",
			Outcome: message.Unknown, Text: "it was stopped"}},
		message.Message{Role: message.Assistant})
	const want = `https://x/v1/chat/completions?version=1 {"max_tokens":5,"messages":[` +
		`{"role":"system","content":"S"},{"role":"user","content":"U <b>"},` +
		`{"role":"assistant","content":"A","tool_calls":[` +
		`{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}},` +
		`{"id":"2","type":"function","function":{"name":"no_such_name",` +
		`"arguments":"{\"not_an_object\":\"{\\\"a\\\":\"}"}}]},` +
		`{"role":"tool","content":"R","tool_call_id":"1"},` +
		`{"role":"tool","content":"the outcome is not known: it was stopped","tool_call_id":"2"},` +
		`{"role":"assistant","content":""}],` +
		`"model":"m","stream":true,"stream_options":{"include_usage":true}}`
	if err != nil || s.sent != want {
		t.Errorf("have %s, %v\nwant %s", s.sent, err, want)
	}
	opts.BaseURL, opts.APIKey = "", "k"
	if _, err := s.ask(t, opts); err != nil ||
		!strings.HasPrefix(s.sent, openai.BaseURL+"/chat/completions") ||
		!strings.Contains(s.sent, `"max_completion_tokens":5`) {
		t.Errorf("have %s, %v", s.sent, err)
	}
}

// TestCounts pins how many calls and parts one answer may have.
func TestCounts(t *testing.T) {
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "data: {\"choices\":["+format+"]}\n\n", i)
		}
		return b.String() + "data: [DONE]\n\n"
	}
	call := calls(`{"index":%d,"function":{"name":"f"}}`)
	detail := delta(`"reasoning_details":[{"index":%d}]`)
	for name, tt := range map[string]struct {
		body string
		want bool
	}{
		"calls":         {many(provider.MaxCalls, call), true},
		"calls, past":   {many(provider.MaxCalls+1, call), false},
		"details":       {many(provider.MaxParts, detail), true},
		"details, past": {many(provider.MaxParts+1, detail), false},
	} {
		s := &server{body: tt.body}
		_, err := s.ask(t, provider.Options{BaseURL: "http://localhost/v1"})
		if _, refused := errors.AsType[*provider.DecodeError](err); refused == tt.want {
			t.Errorf("%s: have %v", name, err)
		}
	}
}
