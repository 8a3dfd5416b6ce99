package agentloop_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/subagents"
	"github.com/wasmagent/wasmagent/plugins"
)

// TestBackgroundUnresolved pins that a subagent in the background which needs a person's word is not
// forgotten when that ends a run: the next one asks for it again at the same place, and once there
// is an answer it goes on from where it was.
func TestBackgroundUnresolved(t *testing.T) {
	for _, recorded := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			tools := &ledgered{unresolved: []int{2}}
			it := plays(looptest.Call(call("x", "f", ""), call("y", "f", "")), looptest.Say("done"))
			loop := &agentloop.Loop{ID: "r", Tools: tools,
				Subagents: &agentloop.Subagents{Background: subagents.AutoPolicy},
				Model: actors([]looptest.Turn{looptest.Call(background("a", "it")),
					looptest.Call(status("b", "s1")), looptest.Call(status("c", "s1")),
					looptest.Call(status("d", "s1"), status("e", "s1")), looptest.Say("ok")},
					cast{"it": it})}
			var log record
			if recorded {
				loop.Subagents.Record = func(context.Context, subagents.Lineage) (*agentloop.Record, error) {
					return &agentloop.Record{Store: &log, History: slices.Clone(log.messages)}, nil
				}
			}
			for n := range 2 {
				_, err := drain(loop.Run(t.Context(), user("go")))
				unknown, ok := errors.AsType[*plugins.ReconciliationError](err)
				if !ok || unknown.Place != (plugins.Place{Run: "r.s1", Position: 2}) {
					t.Fatalf("run %d: %v", n, err)
				}
			}
			tools.unresolved = nil
			end(t, loop.Run(t.Context()))
			isValid(t, loop.History())
			var have []string
			for _, r := range results(loop.History()) {
				have = append(have, r.Text)
			}
			running := `{"id":"s1","status":"running"}`
			want := []string{running, running, running, `{"id":"s1","status":"completed","output":"done"}`,
				`there is no subagent "s1", or its result has been given already`}
			if !slices.Equal(have, want) {
				t.Errorf("%q", have)
			}
			if made := []string{"x r.s1#1", "y r.s1#2"}; !slices.Equal(tools.made, made) {
				t.Errorf("made %q", tools.made)
			}
			if n := len(it.Requests()); n != 2 {
				t.Errorf("the subagent asked its model %d times", n)
			}
			closed(t, loop)
		})
	}
}

// TestBackgroundReopenFails pins that a subagent whose record cannot be opened ends the run, and is
// there still when it can.
func TestBackgroundReopenFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tools := &ledgered{unresolved: []int{1}}
		var log record
		var broken error
		loop := &agentloop.Loop{ID: "r", Tools: tools, Subagents: &agentloop.Subagents{
			Background: subagents.AutoPolicy, MaxConcurrent: 1,
			Record: func(context.Context, subagents.Lineage) (*agentloop.Record, error) {
				return &agentloop.Record{Store: &log, History: slices.Clone(log.messages)}, broken
			}}, Model: actors([]looptest.Turn{looptest.Call(background("a", "it")),
			looptest.Call(status("b", "s1")), looptest.Call(status("c", "s1")),
			looptest.Call(status("d", "s1")), looptest.Say("ok")},
			cast{"it": plays(looptest.Call(call("x", "f", "")), looptest.Say("done"))})}
		if _, err := drain(loop.Run(t.Context(), user("go"))); err == nil {
			t.Error("it is settled")
		}
		tools.unresolved, broken = nil, errors.New("the disk is gone")
		if _, err := drain(loop.Run(t.Context())); !errors.Is(err, broken) {
			t.Errorf("%v", err)
		}
		broken = nil
		end(t, loop.Run(t.Context(), user("again")))
		list := results(loop.History())
		if last := list[len(list)-1]; last.Text != `{"id":"s1","status":"completed","output":"done"}` {
			t.Errorf("%+v", last)
		}
		closed(t, loop)
	})
}
