package agentloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/jobs"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/reduce"
	"github.com/wasmagent/wasmagent/agentloop/subagents"
)

// TestDefinition pins what a kind of agent changes: its prompt and model are its own, and its tools
// some of its parent's, down to the agents that it begins itself, whatever those are called.
func TestDefinition(t *testing.T) {
	inner := plays(looptest.Call(call("y", "g", "{}"), call("y2", "f", "{}")), looptest.Say("inner"))
	small := cast{"outer": plays(looptest.Call(call("x", "g", "{}"), call("b", agentloop.SpawnSubagent,
		`{"task":"inner","agent_type":"all"}`)), looptest.Say("outer"))}
	f, g := reads("f", gives("1")), reads("g", gives("1"))
	loop := &agentloop.Loop{System: "top", Tools: registry(t, f, g),
		Model: cast{"inner": inner, "go": plays(looptest.Call(call("a", agentloop.SpawnSubagent,
			`{"task":"outer","agent_type":"narrow"}`)), looptest.Say("ok"))},
		Subagents: &agentloop.Subagents{
			Agents: map[string]subagents.Definition{
				"narrow": {System: "narrow", Tools: []string{"g", "spawn_*", "nothing"}, Model: "small"},
				"all":    {Tools: []string{"*"}, Model: "large"},
			},
			Model: func(name string) (agentloop.NamedModel, error) {
				if name == "small" {
					return agentloop.NamedModel{Model: small}, nil
				}
				return agentloop.NamedModel{Model: cast{"inner": inner}}, nil
			},
		}}
	events, err := drain(loop.Run(t.Context(), user("go")))
	if err != nil {
		t.Fatal(err)
	}
	outer := small["outer"].Requests()[0]
	if outer.Messages[0].Text != "narrow" {
		t.Errorf("%+v", outer.Messages[0])
	}
	for name, req := range map[string]message.Request{"outer": outer, "inner": inner.Requests()[0]} {
		var names []string
		for _, tool := range req.Tools {
			names = append(names, tool.Name)
		}
		if have := strings.Join(names, " "); have != "g spawn_subagent subagent_status" {
			t.Errorf("%s has %s", name, have)
		}
	}
	if first := inner.Requests()[0].Messages[0]; first.Text != "narrow" {
		t.Errorf("the inner prompt is not its parent's: %+v", first)
	}
	last := inner.Requests()[1].Messages
	if r := last[len(last)-1].Result; r.Code != "unknown_tool" {
		t.Errorf("%+v", r)
	}
	var models []string
	for _, ev := range events {
		if ev.Kind == message.TurnCompleted {
			models = append(models, ev.Agent+" "+ev.Message.Model)
		}
	}
	want := []string{" ", "s1 small", "s1.2 large", "s1.2 large", "s1 small", " "}
	if !slices.Equal(models, want) {
		t.Errorf("%q", models)
	}
	closed(t, loop)
}

// TestJobsOfASubagent pins that its jobs end with it, and that their ends are told before its own.
func TestJobsOfASubagent(t *testing.T) {
	loop := &agentloop.Loop{Tools: registry(t, reads("slow", untilLeft)), Jobs: &jobs.Options{},
		Subagents: &agentloop.Subagents{},
		Model: cast{"go": plays(looptest.Call(spawn("a", "begin")), looptest.Say("ok")),
			"begin": plays(looptest.Call(call("x", agentloop.BackgroundExec, `{"tool":"slow"}`)),
				looptest.Say("begun"))}}
	events, err := drain(loop.Run(t.Context(), user("go")))
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, ev := range events {
		switch ev.Kind {
		case message.JobChanged:
			told = append(told, ev.Agent+" "+ev.Job.State)
		case message.AgentEnded:
			told = append(told, ev.Agent+" ended")
		}
	}
	if want := []string{"s1 running", "s1 killed", "s1 ended"}; !slices.Equal(told, want) {
		t.Errorf("%q", told)
	}
	closed(t, loop)
}

// TestWithoutSpawning pins that a kind of agent whose tools leave it out begins no agents.
func TestWithoutSpawning(t *testing.T) {
	lone := plays(looptest.Call(spawn("b", "t")), looptest.Say("alone"))
	loop := &agentloop.Loop{Subagents: &agentloop.Subagents{
		Agents: map[string]subagents.Definition{"lone": {Tools: []string{}}}},
		Model: cast{"lone": lone, "go": plays(looptest.Call(call("a", agentloop.SpawnSubagent,
			`{"task":"lone","agent_type":"lone"}`)), looptest.Say("ok"))}}
	end(t, loop.Run(t.Context(), user("go")))
	last := lone.Requests()[1].Messages
	if r := last[len(last)-1].Result; r.Code != "unknown_tool" {
		t.Errorf("%+v", r)
	}
	closed(t, loop)
}

// TestInherited pins that a subagent has everything from its parent that is not its own: whoever
// adds a field to Loop says here which it is.
func TestInherited(t *testing.T) {
	// Of each agent's own; a parent's budget counts for all, and of a reduction the policy is inherited.
	own := []string{"ID", "Budget", "Store", "Reduction", "Steering"}
	var sent []string
	loop := &agentloop.Loop{
		Tools: registry(t, writes("f", gives(`"`+strings.Repeat("x", 3000)+`"`))), System: "S",
		MaxTurns: 3, ModelName: "m", ContextLimit: 190_000, Parallel: true, OutputCap: 1 << 10,
		Approval: agentloop.Approval{Ask: func(_ context.Context, q agentloop.Question) (
			agentloop.Answer, error) {
			sent = append(sent, "asked for "+q.Agent)
			return agentloop.AnswerAllow, nil
		}},
		Hooks: agentloop.Hooks{BeforeTool: func(_ context.Context, c *message.Call) error {
			sent = append(sent, "hook "+c.Name)
			return nil
		}},
		Now: time.Now, Jobs: &jobs.Options{}, Subagents: &agentloop.Subagents{},
	}
	it := plays(looptest.Call(call("x", "f", "{}")), looptest.Say("done"))
	loop.Model = cast{"it": it, "go": plays(looptest.Call(spawn("a", "it")), looptest.Say("ok"))}
	heir := agentloop.Heir(loop)
	for _, field := range fields(loop) {
		parents := reflect.ValueOf(loop).Elem().FieldByName(field)
		its := reflect.ValueOf(heir).Elem().FieldByName(field)
		switch {
		case slices.Contains(own, field):
		case parents.IsZero():
			t.Errorf("%s has no value here", field)
		case its.IsZero(), parents.Comparable() && !its.Equal(parents):
			t.Errorf("%s is not inherited", field)
		}
	}
	end(t, loop.Run(t.Context(), user("go")))
	if want := []string{"hook spawn_subagent", "hook f", "asked for s1"}; !slices.Equal(sent, want) {
		t.Errorf("%q", sent)
	}
	last := it.Requests()[1].Messages
	if r := last[len(last)-1].Result; r.Handle == "" || len(r.Text) > 1<<10 {
		t.Errorf("the output is not cut: %+v", r)
	}
	closed(t, loop)
}

// TestInheritedReduction pins that a subagent's view is reduced as its parent's is, and that the log
// of it is not taken for the parent's.
func TestInheritedReduction(t *testing.T) {
	policy := reduce.Policy{Trigger: 5000}
	heir := agentloop.Heir(&agentloop.Loop{Reduction: &agentloop.Reduction{Policy: policy,
		Save: func(context.Context, reduce.Log) error { return nil }}})
	if heir.Reduction == nil || heir.Reduction.Policy != policy || heir.Reduction.Save != nil {
		t.Errorf("%+v", heir.Reduction)
	}
}

// fields are the exported fields of a loop.
func fields(loop *agentloop.Loop) (names []string) {
	for f := range reflect.TypeOf(loop).Elem().Fields() {
		if f.IsExported() {
			names = append(names, f.Name)
		}
	}
	return names
}

// TestSubagentBudget pins that a budget is the tree's: what subagents take counts, and they stop
// when it is used up.
func TestSubagentBudget(t *testing.T) {
	spends := func(turn looptest.Turn) looptest.Turn {
		turn.Message.Usage = &message.Usage{Input: 100, Output: 10}
		return turn
	}
	for name, tt := range map[string]struct {
		budget agentloop.Budget
		why    string
	}{
		"steps":  {agentloop.Budget{Steps: 2}, "the budget of 2 steps is used up"},
		"tokens": {agentloop.Budget{Tokens: 220}, "the budget of 220 tokens is used up: 220 were taken"},
		"dollars": {agentloop.Budget{Dollars: 200, Prices: agentloop.Prices{Input: 1e6}},
			"the budget of $200.00 is used up: $200.0000 were spent"},
	} {
		actors := cast{"it": plays(spends(looptest.Call(call("x", "nope", ""))), looptest.Say("late")),
			"go": plays(spends(looptest.Call(spawn("a", "it"))), looptest.Say("late"))}
		loop := &agentloop.Loop{Model: actors, Budget: tt.budget, Subagents: &agentloop.Subagents{}}
		e := end(t, loop.Run(t.Context(), user("go")))
		if e.End != message.EndBudget || e.Text != tt.why {
			t.Errorf("%s: %+v", name, e)
		}
		if r := results(loop.History())[0]; !strings.Contains(r.Text, "without an answer: "+tt.why) {
			t.Errorf("%s: %+v", name, r)
		}
		if s := loop.Spent(); s.Steps != 2 || s.Usage.Input != 200 {
			t.Errorf("%s: %+v", name, s)
		}
		closed(t, loop)
	}
}

// TestSubagentWithoutPrice pins that no subagent gets around a budget of dollars by a model of
// which nobody knows the price.
func TestSubagentWithoutPrice(t *testing.T) {
	loop := &agentloop.Loop{Budget: agentloop.Budget{Dollars: 1, Prices: agentloop.Prices{Input: 1}},
		Model: plays(looptest.Call(call("a", agentloop.SpawnSubagent, `{"task":"t","agent_type":"x"}`))),
		Subagents: &agentloop.Subagents{
			Agents: map[string]subagents.Definition{"x": {Model: "small"}},
			Model: func(string) (agentloop.NamedModel, error) {
				return agentloop.NamedModel{Model: plays(looptest.Say("free"))}, nil
			}}}
	_, err := drain(loop.Run(t.Context(), user("go")))
	if agentloop.SdkCode(err) != agentloop.SdkInvalidArgument {
		t.Errorf("%v", err)
	}
	closed(t, loop)
}

// TestSubagentWithoutModel pins that a model that cannot be had ends the run: it is configured
// wrongly, and its place is free again.
func TestSubagentWithoutModel(t *testing.T) {
	c := call("a", agentloop.SpawnSubagent, `{"task":"t","agent_type":"x"}`)
	loop := &agentloop.Loop{Model: plays(looptest.Call(c), looptest.Call(c)),
		Subagents: &agentloop.Subagents{MaxConcurrent: 1,
			Agents: map[string]subagents.Definition{"x": {Model: "small"}},
			Model: func(string) (agentloop.NamedModel, error) {
				return agentloop.NamedModel{}, &agentloop.MissingAPIKeyError{Variable: "KEY"}
			}}}
	for range 2 {
		_, err := drain(loop.Run(t.Context(), user("go")))
		if agentloop.Code(err) != "missing_api_key" || !strings.HasPrefix(err.Error(), "agent type x: ") {
			t.Errorf("%v", err)
		}
	}
	closed(t, loop)
}

// TestSubagentConfiguration pins which settings are refused.
func TestSubagentConfiguration(t *testing.T) {
	for name, s := range map[string]*agentloop.Subagents{
		"depth":      {MaxDepth: -2},
		"concurrent": {MaxConcurrent: -1},
		"policy":     {Background: "auto"},
		"model":      {Agents: map[string]subagents.Definition{"x": {Model: "small"}}},
	} {
		loop := &agentloop.Loop{Model: plays(), Subagents: s}
		if _, err := drain(loop.Run(t.Context(), user("go"))); agentloop.SdkCode(err) != agentloop.SdkInvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLineage pins what is recorded of a subagent, with the result of the call that began it and
// in its own conversation, and that no model sees it.
func TestLineage(t *testing.T) {
	kept := map[string]*record{}
	closes := 0
	loop := &agentloop.Loop{ID: "conversation", ModelName: "large", Subagents: &agentloop.Subagents{
		Record: func(_ context.Context, of subagents.Lineage) (*agentloop.Record, error) {
			kept[of.ID] = &record{}
			return &agentloop.Record{Store: kept[of.ID], Close: func() error { closes++; return nil }}, nil
		}},
		Model: cast{"inner": plays(looptest.Say("in")),
			"outer": plays(looptest.Call(spawn("b", "inner")), looptest.Say("out")),
			"go":    plays(looptest.Call(spawn("a", "outer")), looptest.Say("ok"))}}
	end(t, loop.Run(t.Context(), user("go")))
	lineage := func(m message.Message) (l subagents.Lineage) {
		if err := json.Unmarshal(m.Meta[agentloop.MetaSubagent], &l); err != nil {
			t.Fatal(err)
		}
		if l.Time.IsZero() {
			t.Error("it has no time")
		}
		l.Time = time.Time{}
		return l
	}
	first, second := lineage(loop.History()[2]), lineage(kept["s1"].messages[2])
	if want := (subagents.Lineage{ID: "s1", Run: "conversation.s1", Session: "conversation", Call: "a",
		Depth: 1, Task: "outer", Model: "large"}); first != want {
		t.Errorf("%+v", first)
	}
	if want := (subagents.Lineage{ID: "s1.1", Run: "conversation.s1.1", Session: "conversation.s1",
		Parent: "s1", Call: "b", Depth: 2, Task: "inner", Model: "large"}); second != want {
		t.Errorf("%+v", second)
	}
	if own := lineage(kept["s1.1"].messages[0]); own.ID != "s1.1" {
		t.Errorf("%+v", own)
	}
	if n := len(kept["s1.1"].messages); n != 2 || closes != 2 {
		t.Errorf("%d messages, %d closed", n, closes)
	}
	closed(t, loop)
}

// TestSubagentNotRecorded pins that a record that fails ends the run: nobody would know what the
// subagent did.
func TestSubagentNotRecorded(t *testing.T) {
	broken := errors.New("the disk is full")
	for name, open := range map[string]func() (*agentloop.Record, error){
		"open": func() (*agentloop.Record, error) { return nil, broken },
		"store": func() (*agentloop.Record, error) {
			return &agentloop.Record{Store: &record{fail: func(int) error { return broken }}}, nil
		},
		"close": func() (*agentloop.Record, error) {
			return &agentloop.Record{Close: func() error { return broken }}, nil
		},
		"history": func() (*agentloop.Record, error) {
			return &agentloop.Record{History: []message.Message{{Role: message.Tool}},
				Close: func() error { return broken }}, nil
		},
	} {
		loop := &agentloop.Loop{
			Model: cast{"it": plays(looptest.Say("ok")), "go": plays(looptest.Call(spawn("a", "it")))},
			Subagents: &agentloop.Subagents{MaxConcurrent: 1, Record: func(context.Context,
				subagents.Lineage) (*agentloop.Record, error) {
				return open()
			}}}
		_, err := drain(loop.Run(t.Context(), user("go")))
		if !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
		isValid(t, loop.History())
		closed(t, loop)
	}
}
