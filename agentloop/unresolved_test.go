package agentloop_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/plugins"
)

// half is a conversation whose process ended after the first of three calls.
func half() []message.Message {
	return []message.Message{user("go"),
		{Role: message.Assistant, Calls: []message.Call{call("a", "f", ""), call("b", "f", ""),
			call("c", "f", "")}},
		{Role: message.Tool, Result: &message.Result{CallID: "a", Outcome: message.OK}}}
}

// ledgered is a tool f as a ledger stands before it: calls at these positions are not known about.
type ledgered struct {
	failing
	unresolved []int

	mu   sync.Mutex
	made []string
}

func (l *ledgered) Call(_ context.Context, c plugins.Call) (plugins.Result, error) {
	if slices.Contains(l.unresolved, c.Position) {
		return plugins.Result{}, &plugins.ReconciliationError{Tool: c.Tool,
			Place: plugins.Place{Run: c.Run, Position: c.Position}}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.made = append(l.made, fmt.Sprint(c.ID, " ", c.Run, "#", c.Position))
	return plugins.Result{Output: plugins.Output{Value: []byte("1")}}, nil
}

// TestUnresolvedCall pins that a run which needs a person's word leaves the calls from there on as
// they are, also when it is tried again, and that the next run makes them once there is an answer.
func TestUnresolvedCall(t *testing.T) {
	for _, parallel := range []bool{false, true} {
		tools := &ledgered{unresolved: []int{2}}
		model := looptest.NewModel(looptest.Call(half()[1].Calls...), looptest.Say("ok"))
		loop := &agentloop.Loop{ID: "s", Model: model, Tools: tools, Parallel: parallel}
		for _, input := range [][]message.Message{{user("go")}, nil, {user("more")}} {
			_, err := drain(loop.Run(t.Context(), input...))
			if _, ok := errors.AsType[*plugins.ReconciliationError](err); !ok {
				t.Fatalf("%v", err)
			}
			if n := len(loop.History()); n != 3 {
				t.Errorf("%d messages", n)
			}
		}
		tools.unresolved = nil
		end(t, loop.Run(t.Context()))
		isValid(t, loop.History())
		for _, r := range results(loop.History()) {
			if r.Outcome != message.OK {
				t.Errorf("%+v", r)
			}
		}
		if n := len(model.Requests()); n != 2 {
			t.Errorf("%d requests", n)
		}
	}
}

// TestStillUnknown pins that a call which may have happened is not said not to have, whatever keeps
// it from being made again.
func TestStillUnknown(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for name, tt := range map[string]struct {
		ctx  context.Context
		loop *agentloop.Loop
	}{
		"the run is stopped": {stopped, &agentloop.Loop{Tools: &ledgered{}}},
		"it is denied": {t.Context(), &agentloop.Loop{Tools: &ledgered{},
			Approval: agentloop.Approval{Mode: agentloop.Untrusted}}},
		"its tool is gone": {t.Context(), &agentloop.Loop{}},
	} {
		tt.loop.ID, tt.loop.Model = "s", looptest.NewModel(looptest.Say("ok"))
		if err := tt.loop.Restore(half()); err != nil {
			t.Fatal(err)
		}
		_, err := drain(tt.loop.Run(tt.ctx))
		if (err != nil) != (tt.ctx == stopped) {
			t.Errorf("%s: %v", name, err)
		}
		isValid(t, tt.loop.History())
		for _, r := range results(tt.loop.History())[1:] {
			if r.Outcome != message.Unknown {
				t.Errorf("%s: %+v", name, r)
			}
		}
	}
}

// TestUnresolvedWithoutID pins that where nothing could come back to it, a call that may have
// happened has the result unknown.
func TestUnresolvedWithoutID(t *testing.T) {
	loop := &agentloop.Loop{Tools: &ledgered{unresolved: []int{0}},
		Model: looptest.NewModel(looptest.Call(call("a", "f", "")))}
	_, err := drain(loop.Run(t.Context(), user("go")))
	if _, ok := errors.AsType[*plugins.ReconciliationError](err); !ok {
		t.Errorf("%v", err)
	}
	isValid(t, loop.History())
	if r := results(loop.History())[0]; r.Outcome != message.Unknown {
		t.Errorf("%+v", r)
	}
}

// TestRestoreAgain pins that calls of a history that was given up are not made.
func TestRestoreAgain(t *testing.T) {
	tools := &ledgered{}
	loop := &agentloop.Loop{ID: "s", Tools: tools, Model: looptest.NewModel(looptest.Say("ok"))}
	for _, history := range [][]message.Message{half(), {user("hello")}} {
		if err := loop.Restore(history); err != nil {
			t.Fatal(err)
		}
	}
	end(t, loop.Run(t.Context()))
	isValid(t, loop.History())
	if len(tools.made) != 0 {
		t.Errorf("made %v", tools.made)
	}
}
