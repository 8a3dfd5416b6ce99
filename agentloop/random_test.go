package agentloop_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/reduce"
	"github.com/wasmagent/wasmagent/plugins"
)

// TestAnyRun plays runs of every kind one after another in one conversation: models that answer,
// call, fail and repeat ids, tools and hooks that fail, people who say no, stores that are full,
// and at any event an end by who started the run or who listens. Whatever happens, each call has
// its one result, the store is behind the history or level with it, and the next run goes on.
func TestAnyRun(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := &dice{rt}
		broken := errors.New("broken")
		model, store := looptest.NewModel(), &flaky{dice: d}
		var stop context.CancelFunc
		work := func(_ context.Context, c plugins.Call) (plugins.Output, error) {
			switch string(c.Input) {
			case `{"do":"fail"}`:
				return plugins.Output{}, broken
			case `{"do":"stop"}`:
				stop()
			case `{"do":"host"}`:
				return plugins.Output{}, plugins.HostFault(broken)
			case `{"do":"much"}`:
				return plugins.Output{Value: []byte(`"` + strings.Repeat("done ", 1000) + `"`)}, nil
			}
			return plugins.Output{Value: []byte(`"done"`)}, nil
		}
		loop := &agentloop.Loop{
			Model: model, Store: store, MaxTurns: 4, System: "be brief",
			Tools:    registry(t, reads("look", work), reads("see", work), writes("do", work)),
			Parallel: rapid.Bool().Draw(rt, "parallel"),
			Approval: agentloop.Approval{
				Ask: func(context.Context, agentloop.Question) (agentloop.Answer, error) {
					if d.one(6) {
						return 0, broken
					}
					return rapid.SampledFrom([]agentloop.Answer{agentloop.AnswerDeny,
						agentloop.AnswerAllow, agentloop.AnswerAllowSession}).Draw(rt, "answer"), nil
				}},
			Hooks: agentloop.Hooks{
				BeforeTool: func(context.Context, *message.Call) error { return d.fail(12, broken) },
				AfterTool: func(context.Context, message.Call, *message.Result) error {
					return d.fail(12, broken)
				},
			},
		}
		if rapid.Bool().Draw(rt, "reduction") {
			loop.ContextLimit = 20_000 // which is room for two long outputs
			loop.Reduction = &agentloop.Reduction{Policy: reduce.Policy{Trigger: 1000, Keep: 100}}
		}
		for range rapid.IntRange(1, 4).Draw(rt, "runs") {
			model.Add(d.turns()...)
			var ctx context.Context
			ctx, stop = context.WithCancel(t.Context())
			stopAt := rapid.IntRange(1, 40).Draw(rt, "stop")
			leaveAt := rapid.IntRange(1, 40).Draw(rt, "leave")
			loop.Steering = new(agentloop.Steering)
			sayAt := rapid.IntRange(0, 40).Draw(rt, "say")
			n := 0
			for range loop.Run(ctx, user("go on")) {
				if n == sayAt {
					_ = loop.Steering.Say(user("no, wait")) // it may have ended
				}
				if n++; n == stopAt {
					stop()
				}
				if n == leaveAt {
					break
				}
			}
			stop()
			checkAll(rt, loop.History(), store.have)
		}
		for len(model.Requests()) < 1000 { // what is left of the script
			store.well = true
			loop.Hooks, loop.Approval = agentloop.Hooks{}, agentloop.Approval{}
			model.Add(looptest.Say("at last"))
			events, err := drain(loop.Run(t.Context(), user("and now?")))
			checkAll(rt, loop.History(), store.have)
			if err == nil && events[len(events)-1].End == message.EndAnswer {
				break
			}
		}
		if history := loop.History(); len(store.have) != len(history) {
			rt.Errorf("%d of %d messages are stored", len(store.have), len(history))
		}
		for _, fault := range reduce.Verify(loop.History(), loop.Reductions()) {
			rt.Error(fault)
		}
		for i, req := range model.Requests() {
			if err := message.Check(req.Messages); err != nil {
				rt.Errorf("request %d: %v", i+1, err)
			}
		}
	})
}

// checkAll checks a history, and that the store has its beginning.
func checkAll(t *rapid.T, history, stored []message.Message) {
	if err := message.Check(history); err != nil {
		t.Fatal(err)
	}
	for i, m := range history {
		var ids []string
		for _, c := range m.Calls {
			if slices.Contains(ids, c.ID) || c.ID == "" {
				t.Fatalf("message %d has the id %q twice, or none", i+1, c.ID)
			}
			ids = append(ids, c.ID)
		}
	}
	if len(stored) > len(history) {
		t.Fatalf("%d messages are stored, there are %d", len(stored), len(history))
	}
	for i := range stored {
		if stored[i].Role != history[i].Role || stored[i].Result != history[i].Result {
			t.Fatalf("stored message %d is not that of the history", i+1)
		}
	}
}

// dice decide what happens.
type dice struct{ t *rapid.T }

func (d *dice) one(of int) bool { return rapid.IntRange(1, of).Draw(d.t, "one") == of }

func (d *dice) fail(of int, err error) error {
	if d.one(of) {
		return err
	}
	return nil
}

func (d *dice) turns() (turns []looptest.Turn) {
	for range rapid.IntRange(0, 6).Draw(d.t, "turns") {
		var turn looptest.Turn
		turn.Message.Text = "hm"
		turn.Message.Finish = rapid.SampledFrom([]message.Finish{message.FinishStop,
			message.FinishCalls, message.FinishLength, message.FinishRefusal, message.FinishPause,
			""}).Draw(d.t, "finish")
		if d.one(8) {
			turn.Err = rapid.SampledFrom([]error{errors.New("x"), context.Canceled,
				&agentloop.HTTPError{Err: errors.New("x")}}).Draw(d.t, "err")
		}
		for range rapid.IntRange(0, 4).Draw(d.t, "calls") {
			turn.Message.Calls = append(turn.Message.Calls, message.Call{
				ID:   rapid.SampledFrom([]string{"", "a", "call-1", "call-2", "call-3"}).Draw(d.t, "id"),
				Name: rapid.SampledFrom([]string{"look", "see", "do", "nope", ""}).Draw(d.t, "tool"),
				Arguments: rapid.SampledFrom([]string{"", `{}`, `{"do":"fail"}`, `{"do":"stop"}`,
					`{"do":"host"}`, `{"do":"much"}`, `{"do":"much"}`,
					`{"do":"much"}`, `{"a":`, `[1]`, `{"a":1,"a":2}`}).Draw(d.t, "arguments"),
			})
		}
		turns = append(turns, turn)
	}
	return turns
}

// flaky is a store that is full now and then.
type flaky struct {
	dice *dice
	well bool
	have []message.Message
}

func (f *flaky) Append(_ context.Context, list ...message.Message) error {
	if !f.well && f.dice.one(15) {
		return errors.New("the disk is full")
	}
	f.have = append(f.have, list...)
	return nil
}
