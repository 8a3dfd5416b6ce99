package looptest_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
)

func TestModel(t *testing.T) {
	out := errors.New("out of ideas")
	said := looptest.Say("hello")
	said.Deltas = []message.Delta{{Text: "hel"}, {Text: "lo"}}
	m := looptest.NewModel(said, looptest.Fail(out))
	var spoken string
	req := message.Request{Messages: []message.Message{{Role: message.User, Text: "hi"}},
		Delta: func(d message.Delta) { spoken += d.Text }}
	reply, err := m.Turn(t.Context(), req)
	if err != nil || reply.Role != message.Assistant || reply.Text != "hello" || spoken != "hello" {
		t.Errorf("%+v, %v, spoken %q", reply, err, spoken)
	}
	if _, err := m.Turn(t.Context(), req); !errors.Is(err, out) {
		t.Errorf("error %v", err)
	}
	if _, err := m.Turn(t.Context(), req); err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("error %v", err)
	}
	if n := len(m.Requests()); n != 3 {
		t.Errorf("%d requests", n)
	}
}

// TestModelRefuses pins what no request may have.
func TestModelRefuses(t *testing.T) {
	for want, list := range map[string][]message.Message{
		"no result": {{Role: message.Assistant, Calls: []message.Call{{ID: "a", Name: "f"}}}},
		"metadata": {{Role: message.User,
			Meta: map[string]json.RawMessage{"k": json.RawMessage("1")}}},
	} {
		m := looptest.NewModel(looptest.Say("hello"))
		_, err := m.Turn(t.Context(), message.Request{Messages: list})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestModelWaits(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	turn := looptest.Say("hello")
	turn.Wait = make(chan struct{})
	if _, err := looptest.NewModel(turn).Turn(ctx, message.Request{}); err != context.Canceled {
		t.Errorf("error %v", err)
	}
}
