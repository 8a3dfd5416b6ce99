package agentloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/subagents"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
	"github.com/wasmagent/wasmagent/plugins/pluginstest"
)

// TestSubagentOfAnEarlierProcess pins that a write of a subagent in the background, or of one below
// it, whose process died stops the conversation as long as nobody knows what became of it.
func TestSubagentOfAnEarlierProcess(t *testing.T) {
	spawned := func(running bool) []message.Message {
		list := []message.Message{user("go"), {Role: message.Assistant, Calls: []message.Call{
			call("a", agentloop.SpawnSubagent, `{"task":"t","background":true}`)}}}
		if !running {
			return list
		}
		return append(list, message.Message{Role: message.Tool, Result: &message.Result{CallID: "a",
			Name: agentloop.SpawnSubagent, Outcome: message.OK, Text: `{"id":"s1","status":"running"}`}})
	}
	paying := []message.Message{user("t"), {Role: message.Assistant,
		Calls: []message.Call{call("b", "pay", `{"n":1}`)}}}
	stopped := append(paying[:2:2], message.Message{Role: message.Tool, Result: &message.Result{
		CallID: "b", Name: "pay", Outcome: message.Unknown}})
	for name, tt := range map[string]struct {
		records map[string][]message.Message
		run     string // of the call that began and has no end; "": there is none
	}{
		"at work":    {map[string][]message.Message{"s1": paying}, "run.s1"},
		"stopped":    {map[string][]message.Message{"s1": stopped}, "run.s1"},
		"below it":   {map[string][]message.Message{"s1": spawned(false), "s1.1": paying}, "run.s1.1"},
		"it is done": {map[string][]message.Message{"s1": paying}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			pay := &pluginstest.Spy{Is: abi.ToolSpec{Name: "pay", Effect: abi.EffectWrite},
				Reply: func(ctx context.Context, _ plugins.Call) (plugins.Output, error) {
					return plugins.Output{Value: json.RawMessage("1")}, ctx.Err()
				}}
			tools := plugins.NewRegistry(&plugins.Options{Ledger: &ledger.Memory{}})
			if err := tools.Add(pay); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			c := place("pay", 1)
			if c.Run = tt.run; c.Run == "" {
				c.Run = "run.s1"
			} else {
				c.Started = cancel
			}
			_, _ = tools.Call(ctx, c)
			cancel()
			opened := 0
			loop := &agentloop.Loop{ID: "run", Tools: tools, Subagents: &agentloop.Subagents{
				Background: subagents.AutoPolicy,
				Record: func(_ context.Context, of subagents.Lineage) (*agentloop.Record, error) {
					opened++
					return &agentloop.Record{History: tt.records[of.ID], Close: func() error {
						opened--
						return nil
					}}, nil
				}}}
			if err := loop.Restore(spawned(true)); err != nil {
				t.Fatal(err)
			}
			if tt.run != "" {
				loop.Model = looptest.NewModel()
				_, err := drain(loop.Run(t.Context(), user("go on")))
				lost, ok := errors.AsType[*plugins.ReconciliationError](err)
				if !ok || lost.Place.Run != tt.run || len(loop.History()) != 3 {
					t.Errorf("the run ended with %v", err)
				}
			} else {
				told := does(t, loop, agentloop.SubagentStatus, `{"id":"s1"}`)
				if !strings.Contains(told.Text, `"status":"failed","error":"its process ended`) {
					t.Errorf("have %s", told.Text)
				}
				again := does(t, loop, agentloop.SubagentStatus, `{"id":"s1"}`)
				if again.Code != "subagent_not_found" {
					t.Errorf("the second time: %+v", again)
				}
			}
			if err := loop.Close(); err != nil || opened != 0 || len(pay.Calls()) != 1 {
				t.Errorf("%v, %d records are open, %d calls", err, opened, len(pay.Calls()))
			}
		})
	}
}
