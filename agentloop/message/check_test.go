package message_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

func said(role message.Role, calls ...string) message.Message {
	m := message.Message{Role: role, Text: "x"}
	for _, id := range calls {
		m.Calls = append(m.Calls, message.Call{ID: id, Name: "f"})
	}
	return m
}

func result(id string) message.Message {
	return message.Message{Role: message.Tool, Result: &message.Result{CallID: id}}
}

func TestCheck(t *testing.T) {
	type list = []message.Message
	user, system := said(message.User), said(message.System)
	both, one := said(message.Assistant, "a", "b"), said(message.Assistant, "a")
	a, b := result("a"), result("b")
	for name, tt := range map[string]struct {
		list []message.Message
		want string // of the error
	}{
		"nothing":               {nil, ""},
		"an answer":             {list{system, user, said(message.Assistant)}, ""},
		"two calls":             {list{user, both, a, b}, ""},
		"no result at the end":  {list{user, one}, `message 3: call "a" has no result`},
		"no result in between":  {list{one, user}, `message 2: call "a" has no result`},
		"a second result":       {list{one, a, a}, "message 3: a result"},
		"results out of order":  {list{both, b, a}, "message 2: a result"},
		"a tool without result": {list{said(message.Tool)}, "message 1: the role is tool"},
		"the user calls":        {list{said(message.User, "a"), a}, "message 1: calls"},
		"a result of the user's": {list{user, {Role: message.User, Result: a.Result}},
			"message 2: a result in a message of the role user"},
		"a later system prompt": {list{user, system}, "message 2: a system prompt"},
	} {
		err := message.Check(tt.list)
		have := ""
		if err != nil {
			have = err.Error()
		}
		if (tt.want == "") != (err == nil) || !strings.HasPrefix(have, tt.want) {
			t.Errorf("%s: have %v, want %q", name, err, tt.want)
		}
	}
}

// TestJSON pins the stored form.
func TestJSON(t *testing.T) {
	const text = `{"role":"assistant","text":"Hello",` +
		`"reasoning":[{"text":"hm","provider":"anthropic","opaque":{"signature":"s"}}],` +
		`"calls":[{"id":"1","name":"f","arguments":"{}"}],` +
		`"finish":"tool_calls","usage":{"input":3,"output":1},` +
		`"model":"m","time":"2026-01-02T03:04:05Z","meta":{"k":1}}`
	var m message.Message
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if string(again) != text {
		t.Errorf("have %s\nwant %s", again, text)
	}
	empty, _ := json.Marshal(message.Message{Role: message.User})
	if string(empty) != `{"role":"user"}` {
		t.Errorf("an empty message is %s", empty)
	}
}
