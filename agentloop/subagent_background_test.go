package agentloop_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/subagents"
	"github.com/wasmagent/wasmagent/plugins"
)

// paced plays turns, each when nothing else goes on.
type paced struct{ *looptest.Model }

func (p paced) Turn(ctx context.Context, req message.Request) (message.Message, error) {
	synctest.Wait()
	return p.Model.Turn(ctx, req)
}

// actors is a cast whose top agent waits until its subagents can do nothing more.
func actors(top []looptest.Turn, others cast) agentloop.Model {
	model := paced{plays(top...)}
	return byTask(map[string]actor{"go": model.Turn}, others)
}

// TestStatus pins what a background subagent's status is: while it runs, once it has ended, and
// after that has been told; of one that does not exist; and of one of a sibling's.
func TestStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		slow := looptest.Say("the <answer>")
		slow.Wait = release
		sibling := plays(looptest.Call(background("x", "quick"), status("y", "s1")), looptest.Say("ok"))
		top := []looptest.Turn{
			looptest.Call(background("a", "slow"), background("b", "bad"), spawn("c", "sibling")),
			looptest.Call(status("d", "s1"), status("e", "s2"), status("f", "s3.1"), status("g", "s9")),
			looptest.Say("wait"),
			looptest.Call(status("h", "s1"), status("i", "s1"), status("j", "s2")), looptest.Say("ok"),
		}
		loop := &agentloop.Loop{Subagents: &agentloop.Subagents{Background: subagents.AutoPolicy},
			Model: actors(top, cast{"slow": plays(slow), "sibling": sibling,
				"bad": plays(looptest.Fail(errors.New("out of ideas"))), "quick": plays(looptest.Say("q"))})}
		end(t, loop.Run(t.Context(), user("go")))
		close(release)
		synctest.Wait()
		end(t, loop.Run(t.Context(), user("and?")))
		var have []string
		for _, r := range results(loop.History()) {
			have = append(have, strings.TrimSpace(r.Code+" "+r.Text))
		}
		gone := func(id string) string {
			return fmt.Sprintf("subagent_not_found there is no subagent %q, or its result has been given "+
				"already", id)
		}
		want := []string{`{"id":"s1","status":"running"}`, `{"id":"s2","status":"running"}`, "ok",
			`{"id":"s1","status":"running"}`, `{"id":"s2","status":"failed","error":"model: out of ideas"}`,
			gone("s3.1"), gone("s9"),
			`{"id":"s1","status":"completed","output":"the <answer>"}`, gone("s1"), gone("s2")}
		if !slices.Equal(have, want) {
			t.Errorf("have %q\nwant %q", have, want)
		}
		last := sibling.Requests()[1].Messages
		if r := last[len(last)-1].Result; r.Code != "subagent_not_found" {
			t.Errorf("a sibling's: %+v", r)
		}
		closed(t, loop)
	})
}

// TestCloseSubagents pins that Close ends subagents in the background, and theirs, and waits until they are
// gone; that it may be called twice; and that there is no run after it and no Close during one.
func TestCloseSubagents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := actor(func(ctx context.Context, _ message.Request) (message.Message, error) {
			<-ctx.Done()
			return message.Message{}, ctx.Err()
		})
		ended := 0
		loop := &agentloop.Loop{Subagents: &agentloop.Subagents{Background: subagents.AutoPolicy,
			Record: func(context.Context, subagents.Lineage) (*agentloop.Record, error) {
				return &agentloop.Record{Close: func() error { ended++; return nil }}, nil
			}},
			Model: byTask(map[string]actor{"hang": hangs}, cast{
				"outer": plays(looptest.Call(background("x", "hang"), spawn("y", "hang"))),
				"go":    plays(looptest.Call(background("a", "outer")), looptest.Say("ok"))})}
		for ev, err := range loop.Run(t.Context(), user("go")) {
			if err != nil {
				t.Fatal(err)
			}
			if ev.Kind == message.Ended {
				break
			}
			if err := loop.Close(); !errors.Is(err, agentloop.ErrBusy) {
				t.Errorf("during a run: %v", err)
			}
		}
		synctest.Wait()
		if ids := loop.RunningSubagents(); !slices.Equal(ids, []string{"s1"}) {
			t.Errorf("%q", ids)
		}
		if ended != 0 {
			t.Errorf("%d have ended with the run", ended)
		}
		closed(t, loop)
		if ended != 3 {
			t.Errorf("%d have ended", ended)
		}
		closed(t, loop)
		_, err := drain(loop.Run(t.Context(), user("more")))
		if !errors.Is(err, agentloop.ErrClosed) || agentloop.SdkCode(err) != "closed" {
			t.Errorf("%v", err)
		}
	})
}

// TestSubagentEndsWithItsAgent pins that an agent's answer is the end of those that it has in the
// background, and that this is told.
func TestSubagentEndsWithItsAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := looptest.Say("never")
		stuck.Wait = make(chan struct{})
		loop := &agentloop.Loop{Subagents: &agentloop.Subagents{Background: subagents.AutoPolicy},
			Model: cast{"stuck": plays(stuck),
				"outer": plays(looptest.Call(background("x", "stuck")), looptest.Say("out")),
				"go":    plays(looptest.Call(spawn("a", "outer")), looptest.Say("ok"))}}
		events, err := drain(loop.Run(t.Context(), user("go")))
		if err != nil {
			t.Fatal(err)
		}
		var have []string
		for _, ev := range events {
			if ev.Kind == message.AgentEnded {
				have = append(have, fmt.Sprint(ev.Agent, " ", ev.End, ev.Text))
			}
		}
		want := []string{"s1.1 the run was stopped: context canceled", "s1 answer"}
		if !slices.Equal(have, want) {
			t.Errorf("%q", have)
		}
		closed(t, loop)
	})
}

// TestLateEvents pins that what happens while no run is at work is told by the next one, first.
func TestLateEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := make(chan struct{})
		slow := looptest.Say("done")
		slow.Wait = begin
		loop := &agentloop.Loop{Subagents: &agentloop.Subagents{Background: subagents.AutoPolicy},
			Model: cast{"slow": plays(slow),
				"go": plays(looptest.Call(background("a", "slow")), looptest.Say("ok"), looptest.Say("ok"))}}
		end(t, loop.Run(t.Context(), user("go")))
		close(begin)
		synctest.Wait()
		events, err := drain(loop.Run(t.Context(), user("more")))
		if err != nil {
			t.Fatal(err)
		}
		var have []string
		for _, ev := range events {
			have = append(have, fmt.Sprint(ev.Agent, " ", ev.Kind))
		}
		want := []string{"s1 text_delta", "s1 turn_completed", "s1 usage", "s1 agent_ended",
			" text_delta", " turn_completed", " usage", " ended"}
		if !slices.Equal(have, want) {
			t.Errorf("%q", have)
		}
		closed(t, loop)
	})
}

// TestEventsDuringACall pins that what happens to a subagent is told while the run waits for a
// tool, by the goroutine that iterates.
func TestEventsDuringACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := make(chan struct{})
		wait := reads("wait", func(ctx context.Context, _ plugins.Call) (plugins.Output, error) {
			select {
			case <-told:
			case <-ctx.Done():
			}
			return plugins.Output{Value: []byte("1")}, ctx.Err()
		})
		loop := &agentloop.Loop{Tools: registry(t, wait),
			Subagents: &agentloop.Subagents{Background: subagents.AutoPolicy},
			Model: cast{"it": plays(looptest.Say("done")), "go": plays(
				looptest.Call(background("a", "it"), call("b", "wait", "{}")), looptest.Say("ok"))}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // of a clock that is not real
		defer cancel()
		for ev, err := range loop.Run(ctx, user("go")) {
			if err != nil {
				t.Fatal(err)
			}
			if ev.Kind == message.AgentEnded {
				close(told)
			}
		}
		closed(t, loop)
	})
}

// TestBackgroundTime pins that a budget of time counts while a subagent works, also between runs,
// and what runs side by side once.
func TestBackgroundTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		takes := func(d time.Duration) actor {
			return func(ctx context.Context, req message.Request) (message.Message, error) {
				timer := time.NewTimer(d)
				defer timer.Stop()
				select {
				case <-timer.C:
				case <-ctx.Done():
				}
				return message.Message{Text: "ok", Finish: message.FinishStop}, ctx.Err()
			}
		}
		loop := &agentloop.Loop{Subagents: &agentloop.Subagents{Background: subagents.AutoPolicy},
			Budget: agentloop.Budget{Wall: 20 * time.Second},
			Model: byTask(map[string]actor{"a": takes(10 * time.Second), "b": takes(15 * time.Second)},
				cast{"go": plays(looptest.Call(background("a", "a"), background("b", "b")),
					looptest.Say("ok"), looptest.Call(spawn("c", "a")))})}
		end(t, loop.Run(t.Context(), user("go")))
		time.Sleep(time.Hour)
		if s := loop.Spent(); s.Wall != 15*time.Second {
			t.Errorf("%v", s.Wall)
		}
		if e := end(t, loop.Run(t.Context(), user("more"))); e.End != message.EndBudget {
			t.Errorf("%+v", e)
		}
		closed(t, loop)
	})
}

// TestBackgroundFault pins that what a person has to look at ends the run that is told of it, and
// is the error of Close when no run was.
func TestBackgroundFault(t *testing.T) {
	unknown := &plugins.ReconciliationError{Tool: "f", Place: plugins.Place{Run: "r.s1", Position: 1}}
	for _, asks := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			top := []looptest.Turn{looptest.Call(background("a", "it")), looptest.Say("ok")}
			if asks {
				top[1] = looptest.Call(status("b", "s1"))
			}
			loop := &agentloop.Loop{Tools: failing{unknown},
				Subagents: &agentloop.Subagents{Background: subagents.AutoPolicy},
				Model:     actors(top, cast{"it": plays(looptest.Call(call("x", "f", "")))})}
			_, err := drain(loop.Run(t.Context(), user("go")))
			isValid(t, loop.History())
			synctest.Wait()
			closing := loop.Close()
			if !asks {
				err, closing = closing, err
			}
			if have, ok := errors.AsType[*plugins.ReconciliationError](err); !ok || have != unknown {
				t.Errorf("asks %v: %v", asks, err)
			}
			if closing != nil {
				t.Errorf("asks %v, the other one: %v", asks, closing)
			}
		})
	}
}
