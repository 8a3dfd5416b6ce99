package agentloop_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/session"
)

// TestCheckSize pins the edge: a message may have so many bytes as JSON, with what its calls are
// given, and one more is refused.
func TestCheckSize(t *testing.T) {
	raw := json.RawMessage(`"` + strings.Repeat("r", 50) + `"`)
	for name, m := range map[string]message.Message{
		"text":      {Role: message.User, Text: strings.Repeat("x", 200)},
		"escapes":   {Role: message.User, Text: strings.Repeat("\x00\"<\xff", 20)},
		"reasoning": {Role: message.Assistant, Reasoning: []message.Reasoning{{Text: "x", Opaque: raw}}},
		"calls":     {Role: message.Assistant, Calls: []message.Call{call("a", "f", `{"n":1}`), {}}},
		"meta":      {Role: message.User, Meta: map[string]json.RawMessage{"key": raw}},
	} {
		var text strings.Builder
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		if err := e.Encode(m); err != nil {
			t.Fatal(err)
		}
		size := text.Len() - 1 + 32*len(m.Calls)
		if err := agentloop.CheckSize(&m, size); err != nil {
			t.Errorf("%s, at the limit: %v", name, err)
		}
		if err := agentloop.CheckSize(&m, size-1); err == nil {
			t.Errorf("%s, one past it", name)
		}
	}
}

// TestLongestMessage pins that the longest message of a model's fits into a line of a session, and
// that after a longer one, and one of the user's, the conversation goes on.
func TestLongestMessage(t *testing.T) {
	dir, err := session.OpenDir(t.TempDir(), &session.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() })
	s, err := dir.Create("s", "", session.Meta{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	text := strings.Repeat("x", agentloop.MaxMessage-
		len(`{"role":"assistant","text":"","finish":"stop"}`))
	loop := &agentloop.Loop{Store: s, Model: looptest.NewModel(looptest.Say(text+text),
		looptest.Say(text), looptest.Say("ok"))}
	_, err = drain(loop.Run(t.Context(), user("go")))
	if _, ok := errors.AsType[*agentloop.DecodeError](err); !ok {
		t.Errorf("the model's: %v", err)
	}
	end(t, loop.Run(t.Context()))
	if _, err := drain(loop.Run(t.Context(), user(text+text))); !isInvalid(err) {
		t.Errorf("the user's: %v", err)
	}
	end(t, loop.Run(t.Context(), user("more")))
	if n := len(s.Messages()); n != 4 {
		t.Errorf("%d messages are recorded", n)
	}
}
