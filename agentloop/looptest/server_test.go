package looptest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop/looptest"
)

// TestServerRefuses sends what the real APIs refuse.
func TestServerRefuses(t *testing.T) {
	const chat, messages, responses = "/v1/chat/completions", "/v1/messages", "/v1/responses"
	for name, tt := range map[string]struct{ path, fields, want string }{
		"no JSON":    {chat, `{`, "unexpected end"},
		"no model":   {chat, `{"messages":[{"role":"user","content":"x"}]}`, "are required"},
		"no content": {chat, `{"model":"m","messages":[{"role":"user"}]}`, "no content"},
		"a role":     {chat, `{"model":"m","messages":[{"role":"tools","content":"x"}]}`, "the role"},
		"a tool": {chat, `{"model":"m","messages":[{"role":"user","content":"x"}],` +
			`"tools":[{"type":"function","function":{"name":"f"}}]}`, "takes an object"},
		"no result": {chat, `{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"a",` +
			`"type":"function","function":{"name":"f","arguments":"{}"}}]}]}`, "the calls [a] have the"},
		"no call": {chat, `{"model":"m","messages":[{"role":"tool","tool_call_id":"b"}]}`,
			"results [b]"},
		"no limit": {messages, `{"model":"m","messages":[{"role":"user","content":"x"}]}`, "max_tokens"},
		"two users": {messages, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"},` +
			`{"role":"user","content":"x"}]}`, "messages.1: the role"},
		"an empty text": {messages, `{"model":"m","max_tokens":1,"messages":[{"role":"user",` +
			`"content":[{"type":"text","text":""}]}]}`, "an empty text"},
		"unsigned": {messages, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"},` +
			`{"role":"assistant","content":[{"type":"thinking"}]}]}`, "without its signature"},
		"no result of use": {messages, `{"model":"m","max_tokens":1,"messages":[{"role":"user",` +
			`"content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"a","input":{}}]}]}`,
			"the calls [a] have the results []"},
		"a list":   {responses, `[]`, "cannot unmarshal"},
		"no input": {responses, `{"model":"m"}`, "are required"},
		"a kept response": {responses, `{"model":"m","previous_response_id":"r",` +
			`"input":[{"role":"user","content":"x"}]}`, "the whole input"},
		"no role": {responses, `{"model":"m","input":[{"content":"x"}]}`, "without a role"},
		"half a call": {responses, `{"model":"m","input":[{"type":"function_call","name":"f",` +
			`"arguments":"{"}]}`, "a call that is none"},
		"no output": {responses, `{"model":"m","input":[{"type":"function_call","name":"f",` +
			`"arguments":"{}","call_id":"a"}]}`, "the calls [a] have the results []"},
		"a stray output": {responses, `{"model":"m","input":[{"type":"function_call_output",` +
			`"call_id":"a"}]}`, "the calls [] have the results [a]"},
		"one too many": {chat, `{"model":"m","messages":[{"role":"user","content":"x"}]}`,
			"the script of this server has ended"},
	} {
		answers := []looptest.Answer{{Text: "unexpected"}}
		if name == "one too many" {
			answers = nil
		}
		server := looptest.NewServer(t, answers...)
		status, text := post(t, server.URL+tt.path, tt.fields)
		if status != http.StatusBadRequest || !strings.Contains(text, tt.want) {
			t.Errorf("%s: have %d %s, want %q", name, status, text, tt.want)
		}
		if asked := server.Asked(); len(asked) != 1 || string(asked[0].Body) != tt.fields ||
			asked[0].Path != tt.path {
			t.Errorf("%s: noted %+v", name, asked)
		}
	}
}

func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Anthropic-Version", "1")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var failure struct {
		Error struct{ Type, Message string }
	}
	if err := json.Unmarshal(text, &failure); err != nil || failure.Error.Type == "" {
		t.Errorf("%s is no error: %v", text, err)
	}
	return resp.StatusCode, fmt.Sprint(failure.Error.Message)
}
