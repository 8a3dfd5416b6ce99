package agentloop_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/reduce"
	"github.com/wasmagent/wasmagent/agentloop/subagents"
)

// TestSubagentReductions pins that what a subagent's model is shown less of is saved where its
// record says, and that one which goes on is shown the same; a log that does not fit is a warning,
// and the model is shown a new view.
func TestSubagentReductions(t *testing.T) {
	tool, _ := numbered("long", 20_000)
	kept := map[string]reduce.Log{}
	logs := map[string]*record{}
	live := func(it *looptest.Model, fails int, with reduce.Log) []message.Event {
		loop := &agentloop.Loop{Tools: registry(t, tool), Reduction: &agentloop.Reduction{},
			Model: cast{"it": it, "go": plays(looptest.Call(spawn("a", "it")), looptest.Say("ok"))},
			Subagents: &agentloop.Subagents{
				Record: func(_ context.Context, of subagents.Lineage) (*agentloop.Record, error) {
					if logs[of.ID] == nil {
						logs[of.ID] = &record{}
					}
					return &agentloop.Record{Store: logs[of.ID], History: slices.Clone(logs[of.ID].messages),
						Reductions: with, Save: func(_ context.Context, log reduce.Log) error {
							kept[of.ID] = log
							return nil
						}}, nil
				}}}
		events, err := drain(loop.Run(t.Context(), user("go")))
		if failed := results(loop.History())[0].Outcome != message.OK; err != nil || failed != (fails == 1) {
			t.Fatalf("%v: %+v", err, results(loop.History()))
		}
		return events
	}
	first := plays(looptest.Call(call("x", "long", "")), looptest.Call(call("y", "long", "")),
		looptest.Call(call("z", "long", "")), looptest.Fail(errors.New("it breaks off")))
	live(first, 1, nil)
	log := kept["s1"]
	if len(kept) != 1 || len(log) != 1 {
		t.Fatalf("kept is %+v", kept)
	}
	second := plays(looptest.Say("done"))
	for _, ev := range live(second, 0, log) {
		if ev.Kind == message.Warning {
			t.Errorf("%+v", ev)
		}
	}
	was, is := first.Requests()[3].Messages, second.Requests()[0].Messages
	if asJSON(t, was) != asJSON(t, is) {
		t.Error("the model is shown something else")
	}
	logs["s1"].messages = logs["s1"].messages[:1]
	var told []string
	for _, ev := range live(plays(looptest.Say("done")), 0, log) {
		if ev.Kind == message.Warning {
			told = append(told, ev.Agent+" "+ev.Text)
		}
	}
	if len(told) != 1 || !strings.HasPrefix(told[0], "s1 reduction "+log[0].ID) ||
		!strings.HasSuffix(told[0], "; what the model is shown is reduced anew") {
		t.Errorf("%q", told)
	}
}
