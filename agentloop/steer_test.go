package agentloop_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/plugins"
)

// script is a history in few words: what was said, and calls and results by their ids.
func script(history []message.Message) (list []string) {
	for _, m := range history {
		switch {
		case m.Result != nil:
			list = append(list, "="+m.Result.CallID)
		case len(m.Calls) > 0:
			for _, c := range m.Calls {
				list = append(list, "?"+c.ID)
			}
		default:
			list = append(list, m.Text)
		}
	}
	return list
}

// TestSteering says something at every place of a run, and pins where it comes into the
// conversation: before the next request, with every result in its place.
func TestSteering(t *testing.T) {
	broken := errors.New("broken")
	two := looptest.Call(call("a", "f", ""), call("b", "f", ""))
	for name, tt := range map[string]struct {
		turns  []looptest.Turn
		at     message.EventKind // the first of this kind; "": before the run
		budget int
		want   []string
		code   string
	}{
		"before it begins": {[]looptest.Turn{looptest.Say("ok")}, "", 0,
			[]string{"go", "wait", "ok"}, ""},
		"while the model calls": {[]looptest.Turn{two, looptest.Say("ok")}, message.TurnCompleted, 0,
			[]string{"go", "?a", "?b", "=a", "=b", "wait", "ok"}, ""},
		"between two calls": {[]looptest.Turn{two, looptest.Say("ok")}, message.ToolCompleted, 0,
			[]string{"go", "?a", "?b", "=a", "=b", "wait", "ok"}, ""},
		"while it answers": {[]looptest.Turn{looptest.Say("first"), looptest.Say("ok")},
			message.TextDelta, 0, []string{"go", "first", "wait", "ok"}, ""},
		"the run fails": {[]looptest.Turn{two, looptest.Fail(broken)}, message.ToolCompleted, 0,
			[]string{"go", "?a", "?b", "=a", "=b", "wait"}, "other"},
		"the tool fails for good": {[]looptest.Turn{
			looptest.Call(call("a", "bad", ""), call("b", "f", ""))}, message.ToolStarted, 0,
			[]string{"go", "?a", "?b", "=a", "=b", "wait"}, "other"},
		"the budget is used up": {[]looptest.Turn{two}, message.ToolCompleted, 1,
			[]string{"go", "?a", "?b", "=a", "=b", "wait"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			bad := reads("bad", fails(plugins.HostFault(broken)))
			store, steering := &record{}, new(agentloop.Steering)
			loop := &agentloop.Loop{Model: looptest.NewModel(tt.turns...), Store: store,
				Steering: steering, Budget: agentloop.Budget{Steps: tt.budget},
				Tools: registry(t, reads("f", nil), bad)}
			say := func(kind message.EventKind) {
				if kind == tt.at {
					tt.at = "-"
					if err := steering.Say(user("wait")); err != nil {
						t.Error(err)
					}
				}
			}
			say("")
			var err error
			var told []string
			for ev, e := range loop.Run(t.Context(), user("go")) {
				if err = e; e != nil {
					break
				}
				if ev.Kind == message.Said {
					told = append(told, ev.Message.Text)
				}
				say(ev.Kind)
			}
			if code := agentloop.Code(err); code != tt.code {
				t.Errorf("it ended with %q: %v", code, err)
			}
			if have := script(loop.History()); !slices.Equal(have, tt.want) {
				t.Errorf("history %q, want %q", have, tt.want)
			}
			if have := script(store.messages); !slices.Equal(have, tt.want) {
				t.Errorf("stored %q", have)
			}
			if !slices.Equal(told, []string{"wait"}) {
				t.Errorf("told of %q", told)
			}
			if err := steering.Say(user("late")); agentloop.SdkCode(err) != agentloop.SdkNotFound {
				t.Errorf("after the end: %v", err)
			}
			loop.Budget, loop.Model = agentloop.Budget{}, looptest.NewModel(looptest.Say("then"))
			end(t, loop.Run(t.Context(), user("next")))
		})
	}
}

// TestSteeringOpenCalls keeps what was said to a run that had to leave calls without results, and
// puts it after them.
func TestSteeringOpenCalls(t *testing.T) {
	steering := new(agentloop.Steering)
	lost := true
	f := toolsFunc(func(context.Context, plugins.Call) (plugins.Result, error) {
		if lost {
			lost = false
			if err := steering.Say(user("wait")); err != nil {
				t.Error(err)
			}
			return plugins.Result{}, &plugins.ReconciliationError{Tool: "f"}
		}
		return plugins.Result{Output: plugins.Output{Value: []byte(`"paid"`)}}, nil
	})
	model := looptest.NewModel(looptest.Call(call("a", "f", "")), looptest.Say("ok"))
	store := &record{}
	loop := &agentloop.Loop{ID: "r", Model: model, Tools: f, Steering: steering, Store: store}
	if _, err := drain(loop.Run(t.Context(), user("go"))); err == nil {
		t.Fatal("nobody had to be asked")
	}
	if have := script(loop.History()); !slices.Equal(have, []string{"go", "?a"}) {
		t.Errorf("history %q", have)
	}
	if err := loop.CheckInput(); err != nil {
		t.Errorf("the run cannot go on: %v", err)
	}
	loop.Steering = nil
	end(t, loop.Run(t.Context(), user("now")))
	want := []string{"go", "?a", "=a", "wait", "now", "ok"}
	if have := script(loop.History()); !slices.Equal(have, want) {
		t.Errorf("history %q, want %q", have, want)
	}
	if have := script(store.messages); !slices.Equal(have, want) {
		t.Errorf("stored %q", have)
	}
}

// TestSteeringLimits pins what Say refuses.
func TestSteeringLimits(t *testing.T) {
	steering := new(agentloop.Steering)
	many := slices.Repeat([]message.Message{user("x")}, agentloop.MaxSteering+1)
	for want, said := range map[string][]message.Message{
		agentloop.SdkBusy:            many,
		agentloop.SdkInvalidArgument: nil,
	} {
		if err := steering.Say(said...); agentloop.SdkCode(err) != want {
			t.Errorf("%d messages: %v", len(said), err)
		}
	}
	err := steering.Say(message.Message{Role: message.System})
	if !isInvalid(err) {
		t.Errorf("a system prompt: %v", err)
	}
	if err := steering.Say(many[1:]...); err != nil {
		t.Error(err)
	}
	if err := steering.Say(user("x")); agentloop.SdkCode(err) != agentloop.SdkBusy {
		t.Errorf("one more: %v", err)
	}
}

// TestCheck pins that the checks tell what a run would, and only between runs.
func TestCheck(t *testing.T) {
	loop := &agentloop.Loop{Model: looptest.NewModel(looptest.Say("ok"))}
	if err := loop.Check(); err != nil {
		t.Error(err)
	}
	for range loop.Run(t.Context(), user("go")) {
		if err := loop.Check(); err != agentloop.ErrBusy {
			t.Errorf("during a run: %v", err)
		}
		if err := loop.CheckInput(user("go")); err != agentloop.ErrBusy {
			t.Errorf("during a run: %v", err)
		}
		break
	}
	loop.MaxTurns = -1
	if err := loop.Check(); !isInvalid(err) {
		t.Errorf("%v", err)
	}
	loop.Steering = new(agentloop.Steering)
	if _, err := drain(loop.Run(t.Context(), user("go"))); agentloop.Code(err) != "sdk" {
		t.Errorf("%v", err)
	}
	if err := loop.Steering.Say(user("x")); agentloop.SdkCode(err) != agentloop.SdkNotFound {
		t.Errorf("a run that could not begin takes more: %v", err)
	}
}
