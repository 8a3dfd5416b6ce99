package agentloop_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/session"
)

// TestMessageSize pins the edge of what a model and a user may say: it is recorded in a session, and
// with a byte more it is refused and the conversation goes on without it.
func TestMessageSize(t *testing.T) {
	dir, err := session.OpenDir(t.TempDir(), &session.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() })
	quotes := strings.Repeat(`"`, 1<<20) // twice as long as JSON
	for more := range 2 {
		s, err := dir.Create(fmt.Sprint("s", more), "", session.Meta{})
		if err != nil {
			t.Fatal(err)
		}
		long := func(frame int) string {
			return quotes + strings.Repeat("x", agentloop.MaxMessage-frame-2*len(quotes)+more)
		}
		says := looptest.Say(long(len(`{"role":"assistant","text":"","finish":"stop"}`)))
		loop := &agentloop.Loop{Store: s, Model: looptest.NewModel(says, looptest.Say("short"))}
		_, err = drain(loop.Run(t.Context(), user("go")))
		if _, refused := errors.AsType[*agentloop.DecodeError](err); refused != (more == 1) {
			t.Errorf("%d more: the model's: %v", more, err)
		}
		if more == 1 {
			end(t, loop.Run(t.Context()))
		}
		loop.Model = looptest.NewModel(looptest.Say("ok"), looptest.Say("ok"))
		_, err = drain(loop.Run(t.Context(), user(long(len(`{"role":"user","text":""}`)))))
		if isInvalid(err) != (more == 1) || err != nil && more == 0 {
			t.Errorf("%d more: the user's: %v", more, err)
		}
		end(t, loop.Run(t.Context(), user("more")))
		if stored, want := len(s.Messages()), 6-2*more; stored != want {
			t.Errorf("%d messages are recorded, want %d", stored, want)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSizeOfCalls pins that calls without IDs count with those that they get.
func TestSizeOfCalls(t *testing.T) {
	many := make([]message.Call, agentloop.MaxMessage/50)
	loop := &agentloop.Loop{Model: looptest.NewModel(looptest.Call(many...))}
	if _, err := drain(loop.Run(t.Context(), user("go"))); agentloop.Code(err) != "decode" {
		t.Errorf("%v", err)
	}
}
