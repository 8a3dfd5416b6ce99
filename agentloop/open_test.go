package agentloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/plugins"
)

// recorded is tools that keep the calls they get, and do not know what became of some.
type recorded struct {
	*plugins.Registry
	unknown map[int]bool // by position
	calls   []plugins.Call
}

func (r *recorded) Specs() iter.Seq[abi.ToolSpec] { return r.Registry.Specs() }

func (r *recorded) Call(ctx context.Context, c plugins.Call) (plugins.Result, error) {
	r.calls = append(r.calls, c)
	place := plugins.Place{Run: c.Run, Position: c.Position}
	if r.unknown[c.Position] {
		return plugins.Result{}, &plugins.ReconciliationError{Place: place, Tool: c.Tool}
	}
	c.Run, c.Position = "", 0 // there is no ledger
	return r.Registry.Call(ctx, c)
}

// interrupted is a conversation whose process ended when one of two calls had its result.
func interrupted() []message.Message {
	return []message.Message{
		user("go"),
		{Role: message.Assistant, Calls: []message.Call{call("a", "f", "{}")}},
		{Role: message.Tool, Result: &message.Result{CallID: "a", Outcome: message.OK}},
		{Role: message.Assistant, Calls: []message.Call{call("b", "f", "{}"), call("c", "f", "{}"),
			call("d", "f", "{}")}},
		{Role: message.Tool, Result: &message.Result{CallID: "b", Outcome: message.OK}},
	}
}

// TestOpenCalls pins that a restored conversation begins with the calls that have no result, each
// at its place, and records their results in order before anything else is said.
func TestOpenCalls(t *testing.T) {
	tools := &recorded{Registry: registry(t, reads("f", gives("3")))}
	store := &record{}
	model := looptest.NewModel(looptest.Say("done"))
	loop := &agentloop.Loop{Model: model, Tools: tools, ID: "run", Store: store}
	if err := loop.Restore(interrupted()); err != nil {
		t.Fatal(err)
	}
	end(t, loop.Run(t.Context(), user("and now?")))
	if len(tools.calls) != 2 || tools.calls[0].ID != "c" || tools.calls[0].Position != 3 ||
		tools.calls[1].Position != 4 || tools.calls[1].Run != "run" {
		t.Errorf("calls %+v", tools.calls)
	}
	isValid(t, loop.History())
	var stored []message.Role
	for _, m := range store.messages {
		stored = append(stored, m.Role)
	}
	want := []message.Role{message.Tool, message.Tool, message.User, message.Assistant}
	if !slices.Equal(stored, want) {
		t.Errorf("stored %v, want %v", stored, want)
	}
}

// TestUndecidedCall pins that a call of which nobody knows whether it happened stays without a
// result, and that the next run comes to its place again.
func TestUndecidedCall(t *testing.T) {
	tools := &recorded{Registry: registry(t, reads("f", gives("3"))), unknown: map[int]bool{3: true}}
	store := &record{}
	loop := &agentloop.Loop{Model: looptest.NewModel(looptest.Say("done")), Tools: tools, ID: "run",
		Store: store}
	if err := loop.Restore(interrupted()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, err := drain(loop.Run(t.Context()))
		undecided, ok := errors.AsType[*plugins.ReconciliationError](err)
		if !ok || undecided.Place != (plugins.Place{Run: "run", Position: 3}) {
			t.Fatalf("have %v", err)
		}
		if len(store.messages) != 0 {
			t.Fatalf("stored %+v", store.messages)
		}
	}
	tools.unknown, tools.calls = nil, nil
	end(t, loop.Run(t.Context()))
	if len(tools.calls) != 2 || tools.calls[0].Position != 3 {
		t.Errorf("calls %+v", tools.calls)
	}
	isValid(t, loop.History())
}

// looks is tools whose ledger knows of one call what became of it, and of the others nothing.
type looks struct {
	*plugins.Registry
	known int // its position
}

func (l looks) Recall(_ context.Context, at plugins.Place) (plugins.Result, error) {
	if at.Position == l.known {
		return plugins.Result{Output: plugins.Output{Value: json.RawMessage("7")}}, nil
	}
	return plugins.Result{}, &plugins.ReconciliationError{Place: at, Tool: "f"}
}

// TestUndecidedCallOfNoTool pins the same where the tool is not there any more: what is recorded
// counts, and what nobody knows stops the run.
func TestUndecidedCallOfNoTool(t *testing.T) {
	loop := &agentloop.Loop{Model: looptest.NewModel(), Tools: looks{plugins.NewRegistry(nil), 3},
		ID: "run"}
	if err := loop.Restore(interrupted()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, err := drain(loop.Run(t.Context()))
		undecided, ok := errors.AsType[*plugins.ReconciliationError](err)
		all := results(loop.History())
		if !ok || undecided.Place.Position != 4 || len(all) != 3 || all[2].Text != "7" ||
			all[2].Outcome != message.OK {
			t.Fatalf("have %v, %+v", err, all)
		}
	}
}

// TestOpenCallsNeedAnID pins that without a ledger's run nothing is made again.
func TestOpenCallsNeedAnID(t *testing.T) {
	loop := &agentloop.Loop{Model: looptest.NewModel()}
	if err := loop.Restore(interrupted()); !isInvalid(err) {
		t.Errorf("have %v", err)
	}
	between := interrupted()
	between[4].Result.CallID = "c" // its results are not the first ones
	loop.ID = "run"
	if err := loop.Restore(between); !isInvalid(err) {
		t.Errorf("have %v", err)
	}
}
