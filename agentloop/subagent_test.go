package agentloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/subagents"
)

// cast is a model of many: who answers goes by the first thing that the user has said, which of a
// subagent is its task.
type cast map[string]*looptest.Model

func (c cast) Turn(ctx context.Context, req message.Request) (message.Message, error) {
	for _, m := range req.Messages {
		if m.Role != message.User {
			continue
		}
		if model := c[m.Text]; model != nil {
			return model.Turn(ctx, req)
		}
		return message.Message{}, fmt.Errorf("nobody plays %q", m.Text)
	}
	return message.Message{}, errors.New("nobody has said anything")
}

func plays(turns ...looptest.Turn) *looptest.Model { return looptest.NewModel(turns...) }

// spawn is a call that begins a subagent with this task.
func spawn(id, task string) message.Call {
	return call(id, agentloop.SpawnSubagent, fmt.Sprintf(`{"task":%q}`, task))
}

func background(id, task string) message.Call {
	return call(id, agentloop.SpawnSubagent, fmt.Sprintf(`{"task":%q,"background":true}`, task))
}

func status(id, agent string) message.Call {
	return call(id, agentloop.SubagentStatus, fmt.Sprintf(`{"id":%q}`, agent))
}

func closed(t testing.TB, loop *agentloop.Loop) {
	t.Helper()
	if err := loop.Close(); err != nil {
		t.Error(err)
	}
}

// TestSubagent pins the foreground: the subagent has a conversation of its own, and its answer is
// the result of the call.
func TestSubagent(t *testing.T) {
	actors := cast{
		"go":   plays(looptest.Call(spawn("a", "look")), looptest.Say("done")),
		"look": plays(looptest.Call(call("x", "f", "{}")), looptest.Say("3 <things>\nand more")),
	}
	f := reads("f", gives(`1`))
	loop := &agentloop.Loop{Model: actors, Tools: registry(t, f), System: "Be brief.",
		Subagents: &agentloop.Subagents{}}
	if e := end(t, loop.Run(t.Context(), user("go"))); e.Message.Text != "done" {
		t.Errorf("%+v", e)
	}
	isValid(t, loop.History())
	if r := results(loop.History())[0]; r.Outcome != message.OK || r.Text != "3 <things>\nand more" {
		t.Errorf("%+v", r)
	}
	first := actors["look"].Requests()[0]
	if len(first.Messages) != 2 || first.Messages[0].Text != "Be brief." {
		t.Errorf("it sees more than its task: %+v", first.Messages)
	}
	if len(f.Calls()) != 1 {
		t.Errorf("%d calls", len(f.Calls()))
	}
	closed(t, loop)
}

// TestNoSubagents pins that without the part its tools are neither offered nor known, and that
// their names are taken in either case.
func TestNoSubagents(t *testing.T) {
	for _, c := range []message.Call{spawn("a", "t"), status("a", "s1")} {
		model := plays(looptest.Call(c), looptest.Say("ok"))
		loop := &agentloop.Loop{Model: model}
		end(t, loop.Run(t.Context(), user("go")))
		if r := results(loop.History())[0]; r.Code != "unknown_tool" {
			t.Errorf("%+v", r)
		}
		if tools := model.Requests()[0].Tools; len(tools) != 0 {
			t.Errorf("%+v", tools)
		}
		loop = &agentloop.Loop{Model: plays(), Tools: registry(t, reads(c.Name, nil))}
		if _, err := drain(loop.Run(t.Context(), user("go"))); agentloop.SdkCode(err) != "configuration" {
			t.Errorf("%v", err)
		}
	}
}

// TestSpawnRefused pins what is refused, under which code, with which text, and that each is
// refused once and begins nothing.
func TestSpawnRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		call       string
		code, text string
	}{
		"no task": {`{}`, "invalid_arguments",
			`tool "spawn_subagent" was not run: the arguments do not match its schema: `},
		"a blank task": {`{"task":" "}`, "invalid_arguments",
			`tool "spawn_subagent" was not run: the arguments cannot be used: the task is blank`},
		"a long task": {`{"task":"` + strings.Repeat("x", subagents.MaxTask+1) + `"}`,
			"invalid_arguments", `tool "spawn_subagent" was not run: the arguments cannot be used: the ` +
				`task has 65537 bytes, at most 65536 are allowed`},
		"an unknown kind": {`{"task":"t","agent_type":"poet"}`, "subagent_definition_not_found",
			`there is no agent type "poet"`},
		"too deep": {`{"task":"t","background":true}`, "subagent_depth_exceeded",
			`a subagent at depth 1 would be too deep, at most 0 is allowed`},
		"no policy": {`{"task":"t","background":true}`, "subagent_background_policy_missing",
			`a background subagent needs background_prompts to be "auto_policy" or "parent"`},
	} {
		t.Run(name, func(t *testing.T) {
			model := plays(looptest.Call(call("a", agentloop.SpawnSubagent, tt.call)), looptest.Say("ok"))
			loop := &agentloop.Loop{Model: cast{"go": model}, Subagents: &agentloop.Subagents{}}
			if name == "too deep" {
				loop.Subagents.MaxDepth = -1
			}
			var events []message.Event
			for ev, err := range loop.Run(t.Context(), user("go")) {
				if err != nil {
					t.Fatal(err)
				}
				events = append(events, ev)
			}
			r := results(loop.History())[0]
			if r.Outcome != message.Error || r.Code != tt.code ||
				!strings.HasPrefix(r.Text, tt.text) {
				t.Errorf("have %s, %s\nwant %s, %s", r.Code, r.Text, tt.code, tt.text)
			}
			if slices.Contains(kinds(events), message.AgentStarted) {
				t.Error("it began")
			}
			closed(t, loop)
		})
	}
}

// TestNestedRefusal pins that a subagent is told of what it may not begin, and that its parent
// still gets its answer.
func TestNestedRefusal(t *testing.T) {
	for name, tt := range map[string]struct {
		subagents agentloop.Subagents
		code      string
	}{
		"too deep":    {agentloop.Subagents{MaxDepth: 1}, "subagent_depth_exceeded"},
		"one at most": {agentloop.Subagents{MaxConcurrent: 1}, "subagent_concurrency_exceeded"},
	} {
		inner := plays(looptest.Call(spawn("b", "inner")), looptest.Say("alone, then"))
		actors := cast{"outer": inner,
			"go": plays(looptest.Call(spawn("a", "outer")), looptest.Say("ok"))}
		loop := &agentloop.Loop{Model: actors, Subagents: &tt.subagents}
		end(t, loop.Run(t.Context(), user("go")))
		if r := results(loop.History())[0]; r.Text != "alone, then" {
			t.Errorf("%s: %+v", name, r)
		}
		last := inner.Requests()[1].Messages
		if r := last[len(last)-1].Result; r.Code != tt.code {
			t.Errorf("%s: %+v", name, r)
		}
		closed(t, loop)
	}
}

// TestSubagentEnds pins what the parent is told of a subagent that ends without an answer, and that
// its place is free again: at most one may run, and a second one does each time.
func TestSubagentEnds(t *testing.T) {
	same := looptest.Call(call("x", "nope", "{}"))
	long := looptest.Say("half of i")
	long.Message.Finish = message.FinishLength
	refusal := looptest.Say("I")
	refusal.Message.Finish = message.FinishRefusal
	for name, tt := range map[string]struct {
		turns []looptest.Turn
		text  string
	}{
		"an error": {[]looptest.Turn{looptest.Fail(&agentloop.StatusError{Status: 500, Body: "oops"})},
			`tool "spawn_subagent" failed: it reported: "subagent s1: the provider answered with an ` +
				`error, status 500 (Internal Server Error): oops"; its effect may or may not have happened`},
		"its model's own error": {[]looptest.Turn{looptest.Fail(errors.New("out of ideas"))},
			`tool "spawn_subagent" failed: it reported: "subagent s1: model: out of ideas"; its effect ` +
				`may or may not have happened`},
		"repetition": {[]looptest.Turn{same, same, same}, `tool "spawn_subagent" failed: it reported: ` +
			`"subagent s1: it ended without an answer: the same call of nope failed in the same way 3 ` +
			`times in a row"; its effect may or may not have happened`},
		"too many turns": {[]looptest.Turn{same, looptest.Call(call("y", "other", "")), same,
			looptest.Call(call("y", "other", ""))}, `tool "spawn_subagent" failed: it reported: ` +
			`"subagent s1: no answer after 4 round trips with the model"; its effect may or may not ` +
			`have happened`},
		"no more": {[]looptest.Turn{refusal},
			"I\n[the subagent's model, or a filter before it, refused to go on]"},
		"half an answer": {[]looptest.Turn{long},
			"half of i\n[cut off: the subagent's answer reached its model's length limit]"},
	} {
		t.Run(name, func(t *testing.T) {
			actors := cast{"it": plays(tt.turns...), "again": plays(looptest.Say("fine")),
				"go": plays(looptest.Call(spawn("a", "it")), looptest.Call(spawn("b", "again")),
					looptest.Say("ok"))}
			loop := &agentloop.Loop{Model: actors, MaxTurns: 4,
				Subagents: &agentloop.Subagents{MaxConcurrent: 1}}
			end(t, loop.Run(t.Context(), user("go")))
			list := results(loop.History())
			if list[0].Text != tt.text {
				t.Errorf("have %s\nwant %s", list[0].Text, tt.text)
			}
			if list[1].Text != "fine" {
				t.Errorf("the second one: %+v", list[1])
			}
			closed(t, loop)
		})
	}
}

// actor is a model that is a function.
type actor func(context.Context, message.Request) (message.Message, error)

func (a actor) Turn(ctx context.Context, req message.Request) (message.Message, error) {
	return a(ctx, req)
}

// byTask has a model play the tasks that are named, and another one the rest.
func byTask(named map[string]actor, rest agentloop.Model) agentloop.Model {
	return actor(func(ctx context.Context, req message.Request) (message.Message, error) {
		for _, m := range req.Messages {
			if play := named[m.Text]; m.Role == message.User && play != nil {
				return play(ctx, req)
			}
		}
		return rest.Turn(ctx, req)
	})
}

// TestSubagentPanics pins that a model that panics is a failure of its subagent and no more, and
// that its place is free again.
func TestSubagentPanics(t *testing.T) {
	model := byTask(map[string]actor{
		"it": func(context.Context, message.Request) (message.Message, error) { panic("oops") },
	}, cast{"again": plays(looptest.Say("fine")),
		"go": plays(looptest.Call(spawn("a", "it")), looptest.Call(background("b", "it")),
			looptest.Call(spawn("c", "again")), looptest.Say("ok"))})
	loop := &agentloop.Loop{Model: model, Subagents: &agentloop.Subagents{MaxConcurrent: 2,
		Background: subagents.AutoPolicy}}
	end(t, loop.Run(t.Context(), user("go")))
	list := results(loop.History())
	if list[0].Code != "tool" || list[0].Cause != "panic" || list[2].Text != "fine" {
		t.Errorf("%+v", list)
	}
	closed(t, loop)
}

// TestSubagentCancelled pins that the end of the run is the end of its subagents in the foreground.
func TestSubagentCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	actors := byTask(map[string]actor{
		"inner": func(ctx context.Context, _ message.Request) (message.Message, error) {
			cancel()
			<-ctx.Done()
			return message.Message{}, ctx.Err()
		},
	}, cast{"outer": plays(looptest.Call(spawn("b", "inner"))), "again": plays(looptest.Say("fine")),
		"go": plays(looptest.Call(spawn("a", "outer")), looptest.Call(spawn("c", "again")),
			looptest.Say("ok"))})
	loop := &agentloop.Loop{Model: actors, Subagents: &agentloop.Subagents{MaxConcurrent: 2}}
	_, err := drain(loop.Run(ctx, user("go")))
	if !errors.Is(err, context.Canceled) || agentloop.Code(err) != "cancelled" {
		t.Errorf("%v", err)
	}
	if r := results(loop.History())[0]; r.Outcome != message.Unknown {
		t.Errorf("%+v", r)
	}
	end(t, loop.Run(t.Context()))
	if r := results(loop.History())[1]; r.Text != "fine" {
		t.Errorf("%+v", r)
	}
	isValid(t, loop.History())
	closed(t, loop)
}

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

// TestSubagentEvents pins whose events are whose, and that a run has one end.
func TestSubagentEvents(t *testing.T) {
	actors := cast{"inner": plays(looptest.Say("in")),
		"outer": plays(looptest.Call(spawn("b", "inner")), looptest.Say("out")),
		"go":    plays(looptest.Call(call("z", "nope", ""), spawn("a", "outer")), looptest.Say("ok"))}
	loop := &agentloop.Loop{Model: actors, Subagents: &agentloop.Subagents{}}
	events, err := drain(loop.Run(t.Context(), user("go")))
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, ev := range events {
		switch ev.Kind {
		case message.TextDelta, message.UsageChanged:
		case message.AgentStarted, message.AgentEnded:
			have = append(have, strings.TrimSpace(fmt.Sprint(ev.Agent, " ", ev.Kind, " ", ev.Text, ev.End)))
		default:
			have = append(have, strings.TrimSpace(fmt.Sprint(ev.Agent, " ", ev.Kind)))
		}
	}
	want := []string{"turn_completed", "tool_completed", "tool_started", "s2 agent_started outer",
		"s2 turn_completed", "s2 tool_started", "s2.1 agent_started inner", "s2.1 turn_completed",
		"s2.1 agent_ended answer", "s2 tool_completed", "s2 turn_completed", "s2 agent_ended answer",
		"tool_completed", "turn_completed", "ended"}
	if !slices.Equal(have, want) {
		t.Errorf("have %q\nwant %q", have, want)
	}
	closed(t, loop)
}

// TestInherited pins that a subagent has everything from its parent that is not its own: whoever
// adds a field to Loop says here which it is.
func TestInherited(t *testing.T) {
	own := []string{"ID", "Budget", "Store"} // of each agent's own; a parent's budget counts for all
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
		Now: time.Now, Subagents: &agentloop.Subagents{},
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
	if agentloop.SdkCode(err) != "configuration" {
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
		if _, err := drain(loop.Run(t.Context(), user("go"))); agentloop.SdkCode(err) != "configuration" {
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
