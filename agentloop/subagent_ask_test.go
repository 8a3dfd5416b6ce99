package agentloop_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/subagents"
)

// TestAskedInOrder pins that a question of a subagent in the foreground is asked where the run is
// iterated, when all that has happened before has been told.
func TestAskedInOrder(t *testing.T) {
	told := "" // by no other goroutine, or the race detector says so
	loop := &agentloop.Loop{Tools: registry(t, writes("f", gives("1"))),
		Subagents: &agentloop.Subagents{},
		Approval: agentloop.Approval{Ask: func(_ context.Context, q agentloop.Question) (
			agentloop.Answer, error) {
			told += " asked for " + q.Agent
			return agentloop.AnswerAllow, nil
		}},
		Model: cast{"inner": plays(looptest.Call(call("x", "f", "")), looptest.Say("in")),
			"outer": plays(looptest.Call(spawn("b", "inner")), looptest.Say("out")),
			"go":    plays(looptest.Call(spawn("a", "outer")), looptest.Say("ok"))}}
	for ev, err := range loop.Run(t.Context(), user("go")) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Kind == message.AgentStarted || ev.Kind == message.AgentEnded {
			told += fmt.Sprint(" ", ev.Agent, " ", ev.Kind)
		}
	}
	const want = " s1 agent_started s1.1 agent_started asked for s1.1 s1.1 agent_ended s1 agent_ended"
	if told != want {
		t.Errorf("%q", told)
	}
	closed(t, loop)
}

// TestLeftWhileAsking pins that a question goes when nobody listens any more.
func TestLeftWhileAsking(t *testing.T) {
	loop := &agentloop.Loop{Tools: registry(t, writes("f", nil)), Subagents: &agentloop.Subagents{},
		Approval: agentloop.Approval{Ask: func(context.Context, agentloop.Question) (
			agentloop.Answer, error) {
			panic("no terminal")
		}},
		Model: cast{"it": plays(looptest.Call(call("x", "f", ""))),
			"go": plays(looptest.Call(spawn("a", "it")))}}
	func() {
		defer func() {
			if v := recover(); v != "no terminal" {
				t.Errorf("%v", v)
			}
		}()
		_, _ = drain(loop.Run(t.Context(), user("go")))
	}()
	isValid(t, loop.History())
	closed(t, loop)
}

// TestBackgroundAsks pins who answers what a subagent in the background asks for: by policy, by
// rule, and by whether the parent is still there.
func TestBackgroundAsks(t *testing.T) {
	allow := func(agentloop.Question) agentloop.Verdict { return agentloop.Allow }
	for name, tt := range map[string]struct {
		policy subagents.Policy
		rule   func(agentloop.Question) agentloop.Verdict
		nobody bool // there is no Ask
		late   bool // the parent's run ends before the call
		asked  string
		text   string
	}{
		"auto_policy":             {policy: subagents.AutoPolicy, text: "nobody can be asked"},
		"auto_policy, allowed":    {policy: subagents.AutoPolicy, rule: allow, text: "1"},
		"parent":                  {policy: subagents.Parent, asked: "s1", text: "1"},
		"parent, allowed":         {policy: subagents.Parent, rule: allow, text: "1"},
		"parent, and nobody":      {policy: subagents.Parent, nobody: true, text: "nobody can be asked"},
		"parent, which is gone":   {policy: subagents.Parent, late: true, text: "nobody is there to ask"},
		"gone, but it is allowed": {policy: subagents.Parent, rule: allow, late: true, text: "1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := ""
				begin := make(chan struct{})
				calls := looptest.Call(call("x", "f", "{}"))
				calls.Wait = begin
				it := plays(calls, looptest.Say("done"))
				loop := &agentloop.Loop{Tools: registry(t, writes("f", gives("1"))),
					Approval:  agentloop.Approval{Rule: tt.rule},
					Subagents: &agentloop.Subagents{Background: tt.policy}}
				if !tt.nobody {
					loop.Approval.Ask = func(_ context.Context, q agentloop.Question) (agentloop.Answer, error) {
						asked += q.Agent
						return agentloop.AnswerAllow, nil
					}
				}
				if !tt.late {
					close(begin)
				}
				loop.Model = actors([]looptest.Turn{looptest.Call(background("a", "it")), looptest.Say("ok")},
					cast{"it": it})
				end(t, loop.Run(t.Context(), user("go")))
				if tt.late {
					close(begin)
				}
				synctest.Wait()
				last := it.Requests()[1].Messages
				if r := last[len(last)-1].Result; !strings.Contains(r.Text, tt.text) || asked != tt.asked {
					t.Errorf("%+v, asked for %q", r, asked)
				}
				closed(t, loop)
			})
		})
	}
}

// TestOneQuestionAtATime pins that subagents wait for one another's questions, that an answer for
// the session holds for all, and that a question which is open when the run ends is denied before
// it does.
func TestOneQuestionAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		open, most, asked := 0, 0, 0
		answers := make(chan agentloop.Answer)
		child := func() *looptest.Model {
			return plays(looptest.Call(call("x", "f", "{}")), looptest.Say("done"))
		}
		f := writes("f", gives("1"))
		loop := &agentloop.Loop{Tools: registry(t, f),
			Subagents: &agentloop.Subagents{Background: subagents.Parent},
			Approval: agentloop.Approval{Ask: func(ctx context.Context, q agentloop.Question) (
				agentloop.Answer, error) {
				mu.Lock()
				asked++
				open++
				most = max(most, open)
				mu.Unlock()
				defer func() {
					mu.Lock()
					open--
					mu.Unlock()
				}()
				select {
				case a := <-answers:
					return a, nil
				case <-ctx.Done():
					return agentloop.AnswerDeny, ctx.Err()
				}
			}}}
		it := child()
		loop.Model = actors([]looptest.Turn{
			looptest.Call(background("a", "one"), background("b", "two"), background("c", "three")),
			looptest.Say("ok"), looptest.Call(background("d", "it")), looptest.Say("ok"),
		}, cast{"one": child(), "two": child(), "three": child(), "it": it})
		go func() {
			answers <- agentloop.AnswerAllow
			answers <- agentloop.AnswerAllowSession
		}()
		end(t, loop.Run(t.Context(), user("go")))
		if asked != 2 || most != 1 || len(f.Calls()) != 3 {
			t.Errorf("%d questions, %d at a time, %d calls", asked, most, len(f.Calls()))
		}
		loop.Approval.Subject = func(message.Call) string { return "another" }
		end(t, loop.Run(t.Context(), user("more")))
		if mu.Lock(); open != 0 || asked != 3 {
			t.Errorf("%d questions are open of %d", open, asked)
		}
		mu.Unlock()
		synctest.Wait()
		last := it.Requests()[1].Messages
		if r := last[len(last)-1].Result; r.Code != "denied" {
			t.Errorf("%+v", r)
		}
		closed(t, loop)
	})
}

// TestEndWhileWaitingToAsk pins that a subagent whose question has to wait for another's can be
// ended meanwhile.
func TestEndWhileWaitingToAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		wants := func() *looptest.Model { return plays(looptest.Call(call("x", "f", "{}"))) }
		middle := paced{plays(looptest.Call(background("b", "two")), looptest.Say("out"))}
		loop := &agentloop.Loop{Tools: registry(t, writes("f", nil)),
			Subagents: &agentloop.Subagents{Background: subagents.Parent},
			Approval: agentloop.Approval{Ask: func(ctx context.Context, _ agentloop.Question) (
				agentloop.Answer, error) {
				asked++
				<-ctx.Done()
				return agentloop.AnswerDeny, ctx.Err()
			}},
			Model: byTask(map[string]actor{"middle": middle.Turn}, cast{"one": wants(), "two": wants(),
				"go": plays(looptest.Call(background("a", "one"), spawn("c", "middle")),
					looptest.Say("ok"))})}
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
		want := []string{"s2.1 the run was stopped: context canceled", "s2 answer"}
		if !slices.Equal(have, want) || asked != 1 {
			t.Errorf("%q, %d questions", have, asked)
		}
		closed(t, loop)
	})
}
