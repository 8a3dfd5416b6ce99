package agentloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/plugins"
)

// TestCallsThatDoNotRun pins what the model is told of a call that cannot be made, and that no tool
// sees it.
func TestCallsThatDoNotRun(t *testing.T) {
	for name, tt := range map[string]struct {
		tool, arguments   string
		finish            message.Finish
		code, cause, text string
	}{
		"unknown tool": {"nope", `{}`, "", "unknown_tool", "unknown_tool",
			`there is no tool "nope"; there are f`},
		"half an object": {"f", `{"a":`, "", "invalid_arguments", "carriage",
			`tool "f" was not run: the arguments cannot be used: they are not JSON: unexpected end of ` +
				`JSON input`},
		"an array": {"f", `[1]`, "", "invalid_arguments", "carriage",
			`tool "f" was not run: the arguments cannot be used: they are not a JSON object`},
		"null": {"f", `null`, "", "invalid_arguments", "carriage",
			`tool "f" was not run: the arguments cannot be used: they are not a JSON object`},
		"two objects": {"f", `{}{}`, "", "invalid_arguments", "carriage",
			`tool "f" was not run: the arguments cannot be used: they are not JSON: invalid character ` +
				`'{' after top-level value`},
		"a duplicate key": {"f", `{"n":1,"n":2}`, "", "invalid_arguments", "carriage", `tool "f" was `},
		"schema violation": {"f", `{"n":"x"}`, "", "invalid_arguments", "schema",
			`tool "f" was not run: the arguments do not match its schema: at /n: want an integer, ` +
				`have a string`},
		"half a call at the length limit": {"f", `{"n":`, message.FinishLength, "invalid_arguments",
			"carriage", `tool "f" was not run: the arguments cannot be used: they were cut off`},
		"no arguments at the length limit": {"f", ``, message.FinishLength, "invalid_arguments",
			"carriage", `tool "f" was not run: the arguments cannot be used: they were cut off`},
	} {
		t.Run(name, func(t *testing.T) {
			spy := reads("f", nil)
			spy.Is.InputSchema = `{"type":"object","properties":{"n":{"type":"integer"}}}`
			turn := looptest.Call(call("a", tt.tool, tt.arguments))
			turn.Message.Finish = tt.finish
			loop := &agentloop.Loop{Model: looptest.NewModel(turn, looptest.Say("ok")),
				Tools: registry(t, spy)}
			end(t, loop.Run(t.Context(), user("go")))
			if len(spy.Calls()) != 0 {
				t.Error("the tool was run")
			}
			have := results(loop.History())[0]
			if have.Outcome != message.Error || have.Code != tt.code || have.Cause != tt.cause ||
				!strings.HasPrefix(have.Text, tt.text) {
				t.Errorf("have %+v\nwant %s, %s: %s", have, tt.code, tt.cause, tt.text)
			}
		})
	}
}

// TestNoArguments pins that nothing at all counts as an empty object.
func TestNoArguments(t *testing.T) {
	for _, arguments := range []string{"", " \n", "{}"} {
		spy := reads("f", nil)
		loop := &agentloop.Loop{Tools: registry(t, spy),
			Model: looptest.NewModel(looptest.Call(call("a", "f", arguments)), looptest.Say("ok"))}
		end(t, loop.Run(t.Context(), user("go")))
		if calls := spy.Calls(); len(calls) != 1 || string(calls[0].Input) != "{}" {
			t.Errorf("%q: %+v", arguments, calls)
		}
	}
}

// TestCallIDs pins that each call of a turn has an ID of its own.
func TestCallIDs(t *testing.T) {
	loop := &agentloop.Loop{Tools: registry(t, reads("f", nil)), Model: looptest.NewModel(
		looptest.Call(call("x", "f", "")),
		looptest.Call(call("", "f", ""), call("a", "f", ""), call("a", "f", "")), looptest.Say("ok"))}
	end(t, loop.Run(t.Context(), user("go")))
	var ids []string
	for _, r := range results(loop.History()) {
		ids = append(ids, r.CallID)
	}
	if want := []string{"x", "call-2", "a", "call-4"}; !slices.Equal(ids, want) {
		t.Errorf("IDs %v, want %v", ids, want)
	}
}

// TestMadeUpWords pins how much of what a model makes up is kept.
func TestMadeUpWords(t *testing.T) {
	const maxID, maxName = 16 << 10, 256
	long, name := strings.Repeat("x", maxID), strings.Repeat("é", maxName/2)
	loop := &agentloop.Loop{Tools: registry(t, reads("f", nil)), Model: looptest.NewModel(
		looptest.Call(call(long, "f", ""), call(long+"x", "f", ""), call("a", name, ""),
			call("b", name+"f", ""), call("c", "x"+name, "")), looptest.Say("ok"))}
	end(t, loop.Run(t.Context(), user("go")))
	have := loop.History()[1].Calls
	isValid(t, loop.History())
	if have[0].ID != long || have[1].ID != "call-2" {
		t.Errorf("IDs of %d and %d bytes", len(have[0].ID), len(have[1].ID))
	}
	for i, want := range []string{name, name + "…", "x" + name[:maxName-2] + "…"} {
		if have[2+i].Name != want {
			t.Errorf("the name %q", have[2+i].Name)
		}
	}
}

// TestHostFault pins that a fault of the host's ends the run, and that nobody knows what became of
// the call.
func TestHostFault(t *testing.T) {
	fault := plugins.HostFault(errors.New("the disk is full"))
	loop := &agentloop.Loop{
		Tools: registry(t, reads("f", fails(fault)), reads("g", nil)),
		Model: looptest.NewModel(looptest.Call(call("a", "f", ""), call("b", "g", ""))),
	}
	_, err := drain(loop.Run(t.Context(), user("go")))
	if err == nil || agentloop.FeedsModel(err) || plugins.FaultOf(err) != plugins.FaultHost {
		t.Errorf("error %v", err)
	}
	history := loop.History()
	isValid(t, history)
	have := results(history)
	if have[0].Outcome != message.Unknown || have[1].Outcome != message.Error ||
		strings.Contains(have[0].Text, "disk") {
		t.Errorf("results %+v", have)
	}
}

// TestToolsChange pins that each request has the tools that there are then.
func TestToolsChange(t *testing.T) {
	tools := plugins.NewRegistry(nil)
	add := reads("add_g", func(context.Context, plugins.Call) (plugins.Output, error) {
		return plugins.Output{Value: json.RawMessage("1")}, tools.Add(reads("g", nil))
	})
	if err := tools.Add(add); err != nil {
		t.Fatal(err)
	}
	model := looptest.NewModel(looptest.Call(call("a", "add_g", "")),
		looptest.Call(call("b", "g", "")), looptest.Say("ok"))
	loop := &agentloop.Loop{Model: model, Tools: tools}
	end(t, loop.Run(t.Context(), user("go")))
	for i, want := range []int{1, 2, 2} {
		if have := model.Requests()[i].Tools; len(have) != want {
			t.Errorf("request %d has %d tools", i, len(have))
		} else if string(have[0].Schema) != `{"type":"object","properties":{}}` {
			t.Errorf("schema %s", have[0].Schema)
		}
	}
	if have := results(loop.History())[1]; have.Outcome != message.OK {
		t.Errorf("the new tool: %+v", have)
	}
}

// TestMaxCalls pins the edge: so many calls of one message are made, and the model is told of those
// past it that they were not.
func TestMaxCalls(t *testing.T) {
	for _, parallel := range []bool{false, true} {
		calls := slices.Repeat([]message.Call{call("", "f", "")}, agentloop.MaxCalls+2)
		spy := reads("f", nil)
		loop := &agentloop.Loop{Tools: registry(t, spy), Parallel: parallel,
			Model: looptest.NewModel(looptest.Call(calls...), looptest.Call(calls[:1]...),
				looptest.Say("ok"))}
		end(t, loop.Run(t.Context(), user("go")))
		isValid(t, loop.History())
		if n := len(spy.Calls()); n != agentloop.MaxCalls+1 {
			t.Errorf("%d calls were made", n)
		}
		for i, r := range results(loop.History()) {
			past := i == agentloop.MaxCalls || i == agentloop.MaxCalls+1
			if past != (r.Code == "denied") || past && r.Text != `tool "f" was not run, the call is denied: `+
				`it is one of more than 128 calls at once; what is still needed of these can be called next` {
				t.Errorf("call %d: %+v", i+1, r)
			}
		}
	}
}

// TestMaxCallsAgain pins that calls which another process left open count as those of their message.
func TestMaxCallsAgain(t *testing.T) {
	var calls []message.Call
	for i := range agentloop.MaxCalls + 2 {
		calls = append(calls, call(fmt.Sprint("c", i), "f", ""))
	}
	tools := &ledgered{}
	loop := &agentloop.Loop{ID: "r", Tools: tools, Model: looptest.NewModel(looptest.Say("ok"))}
	history := []message.Message{user("go"), {Role: message.Assistant, Calls: calls},
		{Role: message.Tool, Result: &message.Result{CallID: "c0", Outcome: message.OK}}}
	if err := loop.Restore(history); err != nil {
		t.Fatal(err)
	}
	end(t, loop.Run(t.Context()))
	if n := len(tools.made); n != agentloop.MaxCalls-1 {
		t.Errorf("%d calls were made", n)
	}
	isValid(t, loop.History())
}
