package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/jobs"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/sdk"
	"github.com/wasmagent/wasmagent/agentloop/subagents"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/pluginstest"
)

// TestListeners pins that everybody hears everything, in its order, whenever they came, until the
// agent is closed.
func TestListeners(t *testing.T) {
	a := playing(t, nil, looptest.Call(call("a", "look", "")), looptest.Say("ok"))
	heard := make([][]sdk.Event, 3)
	var all sync.WaitGroup
	listen := func(i int, after int64) {
		all.Go(func() {
			for ev, err := range a.Events(context.Background(), after) {
				if err != nil {
					if name(t, err) != agentloop.SdkClosed {
						t.Error(err)
					}
					return
				}
				heard[i] = append(heard[i], ev)
			}
		})
	}
	listen(0, 0)
	last := say(t, a, "go")
	listen(1, 0)
	listen(2, last.Seq-1)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	want := []message.EventKind{message.Said, message.TurnCompleted, message.UsageChanged,
		message.ToolStarted, message.ToolCompleted, message.TextDelta, message.TurnCompleted,
		message.UsageChanged, message.Ended}
	for i, list := range [][]message.EventKind{want, want, want[len(want)-1:]} {
		if have := kinds(heard[i]); !slices.Equal(have, list) {
			t.Errorf("listener %d heard %v, want %v", i, have, list)
		}
		for n, ev := range heard[i] {
			if first := heard[i][0].Seq; ev.Seq != first+int64(n) {
				t.Errorf("listener %d: event %d has the number %d", i, n, ev.Seq)
			}
		}
	}
}

// TestLateListener pins what is kept: exactly the last Keep events, and a word on the others.
func TestLateListener(t *testing.T) {
	for _, tt := range []struct {
		keep int
		want string // kinds, by their first letters
	}{{5, "said text_delta turn_completed usage ended"},
		{4, "missed text_delta turn_completed usage ended"},
		{1, "missed ended"}} {
		a := playing(t, &sdk.Options{Keep: tt.keep}, looptest.Say("ok"))
		if err := a.Input(t.Context(), user("go")); err != nil {
			t.Fatal(err)
		}
		_ = until(t, a, 0, message.Ended)
		list := until(t, a, 0, message.Ended)
		var have []string
		for _, ev := range list {
			have = append(have, string(ev.Kind))
		}
		if strings.Join(have, " ") != tt.want {
			t.Errorf("of %d: %v", tt.keep, have)
		}
		if first := list[0]; first.Kind == sdk.Missed && first.Seq != int64(5-tt.keep) {
			t.Errorf("of %d: %+v", tt.keep, first)
		}
	}
}

// TestSlowListener pins that a run does not wait for somebody who listens slowly.
func TestSlowListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		many := looptest.Say("")
		many.Deltas = slices.Repeat([]message.Delta{{Text: "x"}}, 100)
		a := playing(t, &sdk.Options{Keep: 10}, many)
		defer a.Close()
		if err := a.Input(t.Context(), user("go")); err != nil {
			t.Fatal(err)
		}
		heard, missed := 0, int64(0)
		for ev, err := range a.Events(t.Context(), 0) {
			synctest.Wait() // all has happened by the time that one event has been heard
			if err != nil {
				t.Fatal(err)
			}
			if heard++; ev.Kind == sdk.Missed {
				missed = ev.Seq
			}
			if ev.Kind == message.Ended {
				break
			}
		}
		if heard > 12 || missed < 90 {
			t.Errorf("%d events were heard, %d missed", heard, missed)
		}
	})
}

// TestLockstep pins that nothing happens before an event has been heard by all who listen, however
// little is kept, and that nobody needs to be there before the run begins.
func TestLockstep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := looptest.NewModel(looptest.Call(call("a", "look", "")), looptest.Say("ok"))
		loop := &agentloop.Loop{Model: model, Tools: tools(t)}
		a := started(t, loop, &sdk.Options{Lockstep: true, Keep: 1})
		defer a.Close()
		if err := a.Input(t.Context(), user("go")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := len(loop.History()); n != 2 {
			t.Errorf("before anybody listens there are %d messages", n)
		}
		requests := map[int64]int{}
		var all sync.WaitGroup
		slow := make(chan struct{})
		all.Go(func() { // another one, who waits with each
			for ev, err := range a.Events(t.Context(), 1) {
				<-slow
				if err != nil || ev.Kind == message.Ended {
					return
				}
			}
		})
		synctest.Wait()
		for ev, err := range a.Events(t.Context(), 1) {
			if err != nil || ev.Kind == sdk.Missed {
				t.Fatal(ev, err)
			}
			synctest.Wait()
			requests[ev.Seq] = len(model.Requests())
			slow <- struct{}{}
			if ev.Kind == message.Ended {
				break
			}
			if ev.Kind == message.ToolCompleted {
				synctest.Wait()
				if n := len(model.Requests()); n != 1 {
					t.Errorf("%d requests while the tool's event is heard", n)
				}
			}
		}
		all.Wait()
		if requests[5] != 1 || requests[6] != 2 {
			t.Errorf("requests by event: %v", requests)
		}
	})
}

// TestLockstepAlone ends what waits for a listener that never comes.
func TestLockstepAlone(t *testing.T) {
	for name, end := range map[string]func(a *sdk.Local, cancel func()){
		"interrupt": func(a *sdk.Local, _ func()) { _ = a.Interrupt(nil) },
		"reason":    func(a *sdk.Local, _ func()) { _ = a.Interrupt(errBroken) },
		"context":   func(_ *sdk.Local, cancel func()) { cancel() },
		"close":     func(a *sdk.Local, _ func()) { _ = a.Close() },
	} {
		synctest.Test(t, func(t *testing.T) {
			a := playing(t, &sdk.Options{Lockstep: true}, looptest.Call(call("a", "look", "")))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if err := a.Input(ctx, user("go")); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			end(a, cancel)
			synctest.Wait()
			list := until(t, a, 0, sdk.Failed)
			if last := list[len(list)-1]; last.Code != "cancelled" {
				t.Errorf("%s: %+v", name, last)
			} else if name == "reason" && (!errors.Is(last.Err, errBroken) ||
				!strings.Contains(last.Text, errBroken.Error())) {
				t.Errorf("its reason is lost: %+v", last)
			}
			_ = a.Close()
		})
	}
}

// TestCloseByListener closes an agent while its run waits for the very listener that does so. It
// hears how the run ended, and that the agent is closed.
func TestCloseByListener(t *testing.T) {
	a := playing(t, &sdk.Options{Lockstep: true}, looptest.Call(call("a", "look", "")),
		looptest.Say("ok"))
	if err := a.Input(t.Context(), user("go")); err != nil {
		t.Fatal(err)
	}
	var last sdk.Event
	for ev, err := range a.Events(t.Context(), 0) {
		if err != nil {
			if name(t, err) != agentloop.SdkClosed {
				t.Error(err)
			}
			break
		}
		if last = ev; ev.Kind == message.ToolStarted {
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if last.Kind != sdk.Failed || last.Code != "cancelled" {
		t.Errorf("the last event is %+v", last)
	}
}

// TestEventsEnd pins how listening ends.
func TestEventsEnd(t *testing.T) {
	a := playing(t, nil)
	for _, after := range []int64{-1, 1} {
		for _, err := range a.Events(t.Context(), after) {
			if name(t, err) != agentloop.SdkInvalidArgument {
				t.Errorf("after %d: %v", after, err)
			}
		}
	}
	why := errors.New("the window was shut")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	n := 0
	for _, err := range a.Events(ctx, 0) {
		if n++; !errors.Is(err, why) {
			t.Errorf("%v", err)
		}
	}
	if n != 1 {
		t.Errorf("%d events", n)
	}
}

// TestEndsAtClose pins that the ends which Close makes are told before there is nothing more to hear:
// those of jobs and of subagents in the background.
func TestEndsAtClose(t *testing.T) {
	registry := plugins.NewRegistry(nil)
	err := registry.Add(&pluginstest.Spy{Is: abi.ToolSpec{Name: "wait", Effect: abi.EffectRead},
		Reply: func(ctx context.Context, c plugins.Call) (plugins.Output, error) {
			if c.Started != nil {
				c.Started()
			}
			<-ctx.Done()
			return plugins.Output{}, ctx.Err()
		}})
	if err != nil {
		t.Fatal(err)
	}
	loop := &agentloop.Loop{Tools: registry, Jobs: &jobs.Options{},
		Subagents: &agentloop.Subagents{Background: subagents.AutoPolicy},
		Model: modelFunc(func(ctx context.Context, req message.Request) (message.Message, error) {
			switch last := req.Messages[len(req.Messages)-1]; {
			case last.Text == "go":
				return message.Message{Calls: []message.Call{
					call("a", "background_exec", `{"tool":"wait"}`),
					call("b", "spawn_subagent", `{"task":"wait","background":true}`)}}, nil
			case last.Text == "wait":
				<-ctx.Done()
				return message.Message{}, ctx.Err()
			}
			return message.Message{Text: "ok"}, nil
		}), Approval: agentloop.Approval{Mode: agentloop.Never}}
	a := started(t, loop, nil)
	if err := a.Input(t.Context(), user("go")); err != nil {
		t.Fatal(err)
	}
	list := until(t, a, 0, message.Ended)
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	var have []string
	for ev, err := range a.Events(t.Context(), list[len(list)-1].Seq) {
		switch {
		case err != nil:
			if name(t, err) != agentloop.SdkClosed {
				t.Error(err)
			}
		case ev.Job != nil:
			have = append(have, fmt.Sprint(ev.Kind, " ", ev.Job.Tool, " ", ev.Job.State))
		default:
			have = append(have, fmt.Sprint(ev.Kind, " ", ev.Agent))
		}
	}
	if want := []string{"job wait killed", "agent_ended s2"}; !slices.Equal(have, want) {
		t.Errorf("%q", have)
	}
}

// TestEventJSON pins the form of events for programs.
func TestEventJSON(t *testing.T) {
	a := playing(t, &sdk.Options{Ask: true}, looptest.Call(call("a", "pay", `{"n":1}`)),
		looptest.Fail(errBroken))
	if err := a.Input(t.Context(), user("go")); err != nil {
		t.Fatal(err)
	}
	list := until(t, a, 0, sdk.Asked)
	if err := a.Respond("q-1", agentloop.AnswerDeny); err != nil {
		t.Fatal(err)
	}
	list = append(list, until(t, a, list[len(list)-1].Seq, sdk.Failed)...)
	const question = `"question":{"id":"q-1","call":{"id":"a","name":"pay","arguments":"{\"n\":1}"},` +
		`"subject":"{\"n\":1}"}}`
	for kind, want := range map[message.EventKind]string{
		message.Said: `{"event":"said","message":{"role":"user","text":"go"},"seq":1}`,
		sdk.Asked:    `{"event":"asked","seq":4,` + question,
		sdk.Answered: `{"event":"answered","text":"deny","seq":5,` + question,
		sdk.Failed: `{"event":"failed","text":"model: broken","seq":7,"name":"execution",` +
			`"code":"other"}`,
	} {
		i := slices.IndexFunc(list, func(ev sdk.Event) bool { return ev.Kind == kind })
		have, err := json.Marshal(list[i])
		if err != nil || string(have) != want {
			t.Errorf("%s\n%s\nwant\n%s", err, have, want)
		}
	}
}
