package agentloop_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

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
		if _, err := drain(loop.Run(t.Context(), user("go"))); agentloop.SdkCode(err) != agentloop.SdkInvalidArgument {
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
			`a background subagent needs capabilities.subagents.background_prompts to be ` +
				`"auto_policy" or "parent"`},
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
