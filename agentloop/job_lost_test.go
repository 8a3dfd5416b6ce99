package agentloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/jobs"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/subagents"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
	"github.com/wasmagent/wasmagent/plugins/pluginstest"
)

// began is a conversation whose process died after the model was told that its job runs.
func began() []message.Message {
	return []message.Message{user("go"), {Role: message.Assistant, Calls: []message.Call{
		call("a", "look", "{}"), call("b", "background_exec", `{"tool":"pay","arguments":{"n":1}}`)}},
		{Role: message.Tool, Result: &message.Result{CallID: "a", Name: "look",
			Outcome: message.OK, Text: "1"}},
		{Role: message.Tool, Result: &message.Result{CallID: "b", Name: "background_exec",
			Outcome: message.OK, Text: `{"id":"bg-1-1","state":"running"}`}},
		{Role: message.Assistant, Text: "it runs"}}
}

// TestJobOfAnEarlierProcess pins what becomes of a job whose process died: a write of which nobody
// knows whether it happened stops the conversation, and of any other the model is told, once.
func TestJobOfAnEarlierProcess(t *testing.T) {
	cut := func(t *testing.T, r *plugins.Registry) { // the process died while the tool was at work
		ctx, cancel := context.WithCancel(t.Context())
		c := place("pay", 2)
		c.Started = cancel
		if _, err := r.Call(ctx, c); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		effect abi.Effect
		before func(*testing.T, *plugins.Registry)
		state  string // "": the run ends
		has    string
	}{
		"ended": {abi.EffectWrite, func(t *testing.T, r *plugins.Registry) {
			if _, err := r.Call(t.Context(), place("pay", 2)); err != nil {
				t.Fatal(err)
			}
		}, "exited", `"result":"R-1"`},
		"cut off":               {abi.EffectWrite, cut, "", ""},
		"cut off, it can again": {abi.EffectIdempotent, cut, "killed", "may or may not have done"},
		"not recorded": {abi.EffectWrite, func(*testing.T, *plugins.Registry) {}, "killed",
			"may or may not have done"},
	} {
		for _, tool := range []string{"background_status", "background_kill"} {
			t.Run(name+" "+tool, func(t *testing.T) {
				pay := &pluginstest.Spy{Is: abi.ToolSpec{Name: "pay", Effect: tt.effect},
					Reply: func(ctx context.Context, _ plugins.Call) (plugins.Output, error) {
						return plugins.Output{Value: json.RawMessage(`"R-1"`)}, ctx.Err()
					}}
				tools := plugins.NewRegistry(&plugins.Options{Ledger: &ledger.Memory{}})
				if err := tools.Add(pay); err != nil {
					t.Fatal(err)
				}
				tt.before(t, tools)
				made := len(pay.Calls())
				loop := withJobs(t, &agentloop.Loop{ID: "run", Tools: tools})
				if err := loop.Restore(began()); err != nil {
					t.Fatal(err)
				}
				if tt.state == "" {
					stopsUntilKnown(t, loop, pay)
					return
				}
				list := does(t, loop, "background_list", "")
				if !strings.Contains(list.Text, `"id":"bg-1-1","tool":"pay","state":"`+tt.state+`"`) {
					t.Errorf("listed: %s", list.Text)
				}
				told := does(t, loop, tool, `{"id":"bg-1-1"}`)
				if s := read(t, told); s.State != tt.state || !strings.Contains(told.Text, tt.has) {
					t.Errorf("have %s", told.Text)
				}
				if again := does(t, loop, tool, `{"id":"bg-1-1"}`); again.Code !=
					"background_job_not_found" {
					t.Errorf("the second time: %+v", again)
				}
				if len(pay.Calls()) != made {
					t.Error("the tool was run again")
				}
				restored := withJobs(t, &agentloop.Loop{ID: "run", Tools: tools})
				if err := restored.Restore(loop.History()); err != nil {
					t.Fatal(err)
				}
				if again := does(t, restored, tool, `{"id":"bg-1-1"}`); again.Code !=
					"background_job_not_found" {
					t.Errorf("told again in another process: %+v", again)
				}
			})
		}
	}
}

// stopsUntilKnown checks that a run ends before it begins, as often as it is tried, with or without
// background jobs.
func stopsUntilKnown(t *testing.T, loop *agentloop.Loop, pay *pluginstest.Spy) {
	t.Helper()
	loop.Model = looptest.NewModel()
	for _, on := range []*jobs.Options{nil, {}} {
		loop.Jobs = on
		_, err := drain(loop.Run(t.Context(), user("go on")))
		lost, ok := errors.AsType[*plugins.ReconciliationError](err)
		if !ok || lost.Place != (plugins.Place{Run: "run", Position: 2}) ||
			!strings.Contains(err.Error(), `job bg-1-1 of tool "pay", recorded at run#2, did not come`) {
			t.Errorf("the run ended with %v", err)
		}
		if len(loop.History()) != len(began()) || len(pay.Calls()) != 1 {
			t.Errorf("%d messages, %d calls", len(loop.History()), len(pay.Calls()))
		}
	}
}

// TestJobCutOffByClose pins that a write which is still at work when the conversation ends is an
// error of Close, and a call that only reads is none.
func TestJobCutOffByClose(t *testing.T) {
	for _, effect := range []abi.Effect{abi.EffectRead, abi.EffectWrite} {
		tools := plugins.NewRegistry(&plugins.Options{Ledger: &ledger.Memory{}})
		pay := &pluginstest.Spy{Is: abi.ToolSpec{Name: "pay", Effect: effect}, Reply: untilLeft}
		if err := tools.Add(pay); err != nil {
			t.Fatal(err)
		}
		loop := &agentloop.Loop{ID: "run", Tools: tools, Jobs: &jobs.Options{},
			Approval: agentloop.Approval{Mode: agentloop.Never}}
		begins(t, loop, "pay", `{"n":1}`)
		err := loop.Close()
		lost, ok := errors.AsType[*plugins.ReconciliationError](err)
		switch {
		case effect == abi.EffectRead && err != nil:
			t.Error(err)
		case effect == abi.EffectWrite && (!ok || lost.Place != plugins.Place{Run: "run", Position: 1}):
			t.Errorf("closed with %v", err)
		}
	}
}

// TestJobOfASubagent pins that a write which a subagent left at work stops its parent, and so it does
// in the next process, although the subagent has answered.
func TestJobOfASubagent(t *testing.T) {
	pay := &pluginstest.Spy{Is: abi.ToolSpec{Name: "pay", Effect: abi.EffectWrite}, Reply: untilLeft}
	tools := plugins.NewRegistry(&plugins.Options{Ledger: &ledger.Memory{}})
	if err := tools.Add(pay); err != nil {
		t.Fatal(err)
	}
	parent, child := &record{}, &record{}
	for n := range 2 {
		loop := &agentloop.Loop{ID: "run", Tools: tools, Jobs: &jobs.Options{}, Store: parent,
			Approval: agentloop.Approval{Mode: agentloop.Never},
			Subagents: &agentloop.Subagents{Record: func(context.Context, subagents.Lineage) (
				*agentloop.Record, error) {
				return &agentloop.Record{Store: child, History: slices.Clone(child.messages)}, nil
			}},
			Model: looptest.NewModel(
				looptest.Call(call("a", agentloop.SpawnSubagent, `{"task":"t"}`)),
				looptest.Call(call("b", "background_exec", `{"tool":"pay"}`)),
				looptest.Say("it runs"))}
		if err := loop.Restore(slices.Clone(parent.messages)); err != nil {
			t.Fatal(err)
		}
		var said []message.Message
		if n == 0 {
			said = append(said, user("go"))
		}
		_, err := drain(loop.Run(t.Context(), said...))
		lost, ok := errors.AsType[*plugins.ReconciliationError](err)
		if !ok || lost.Place != (plugins.Place{Run: "run.s1", Position: 1}) || len(pay.Calls()) != 1 {
			t.Errorf("process %d: %v, %d calls", n+1, err, len(pay.Calls()))
		}
		if err := loop.Close(); err != nil {
			t.Error(err)
		}
	}
}
