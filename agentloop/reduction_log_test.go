package agentloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/reduce"
)

// TestReductionGoesOn resumes a conversation: the view is the same, byte for byte.
func TestReductionGoesOn(t *testing.T) {
	tool, _ := numbered("long", 20_000)
	first := &agentloop.Loop{Model: asks("long", 30), Tools: registry(t, tool), ContextLimit: 32_000,
		Reduction: &agentloop.Reduction{}}
	end(t, first.Run(t.Context(), user("go")))
	log, err := reduce.Decode(reduce.Encode(first.Reductions()))
	if err != nil {
		t.Fatal(err)
	}
	var history []message.Message
	if err := json.Unmarshal([]byte(asJSON(t, first.History())), &history); err != nil {
		t.Fatal(err)
	}
	var asked [2]string
	second := &agentloop.Loop{Tools: registry(t, tool), ContextLimit: 32_000,
		Reduction: &agentloop.Reduction{}}
	if err := second.Restore(history); err != nil {
		t.Fatal(err)
	}
	if err := second.RestoreReductions(log); err != nil {
		t.Fatal(err)
	}
	for i, loop := range []*agentloop.Loop{first, second} {
		model := looptest.NewModel(looptest.Say("ok"))
		loop.Model = model
		events, err := drain(loop.Run(t.Context(), user("go on")))
		if err != nil || len(warnings(events)) > 2 {
			t.Errorf("%v, %q", err, warnings(events))
		}
		asked[i] = asJSON(t, model.Requests()[0].Messages)
		if names := toolNames(model.Requests()[0]); len(names) != 3 {
			t.Errorf("offered are %v", names)
		}
	}
	if asked[0] != asked[1] {
		t.Error("the model is shown something else")
	}
}

// TestRestoreReductionsRefuses pins that a log which does not belong to a history is not taken.
func TestRestoreReductionsRefuses(t *testing.T) {
	tool, _ := numbered("long", 20_000)
	loop := &agentloop.Loop{Model: asks("long", 4), Tools: registry(t, tool),
		Reduction: &agentloop.Reduction{}}
	end(t, loop.Run(t.Context(), user("go")))
	log, history := loop.Reductions(), loop.History()
	if err := loop.Restore(history); err != nil || len(loop.Reductions()) != 0 {
		t.Errorf("%v, and %d entries of before", err, len(loop.Reductions()))
	}
	changed := slices.Clone(history)
	changed[2].Result = new(*changed[2].Result)
	changed[2].Result.Text += "!"
	for name, tt := range map[string]struct {
		history []message.Message
		want    reduce.Fault
	}{"changed": {changed, reduce.ErrMismatch}, "cut": {history[:1], reduce.ErrUnresolved}} {
		if err := loop.Restore(tt.history); err != nil {
			t.Fatal(err)
		}
		err := loop.RestoreReductions(log)
		var e *agentloop.ReductionError
		if !errors.Is(err, tt.want) || !errors.As(err, &e) || e.ID != log[0].ID ||
			agentloop.Code(err) != "reduction" || len(loop.Reductions()) != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	loop.Model = looptest.NewModel(looptest.Say("hm"))
	for range loop.Run(t.Context(), user("go on")) {
		if err := loop.RestoreReductions(log); err != agentloop.ErrBusy {
			t.Errorf("while it runs: %v", err)
		}
		break
	}
}

// TestSaveFails goes on where the log cannot be saved, and says so.
func TestSaveFails(t *testing.T) {
	tool, _ := numbered("long", 20_000)
	loop := &agentloop.Loop{Model: asks("long", 3), Tools: registry(t, tool),
		Reduction: &agentloop.Reduction{Save: func(context.Context, reduce.Log) error {
			return errors.New("the disk is full")
		}}}
	events, err := drain(loop.Run(t.Context(), user("go")))
	if told := warnings(events); err != nil || !slices.Contains(told,
		"what was reduced is not recorded: the disk is full") {
		t.Errorf("%v, %q", err, told)
	}
}

// TestLeftAtAWarning ends a run at the warning of a reduction: the model is not asked then.
func TestLeftAtAWarning(t *testing.T) {
	tool, _ := numbered("long", 20_000)
	model := asks("long", 3)
	loop := &agentloop.Loop{Model: model, Tools: registry(t, tool), Reduction: &agentloop.Reduction{}}
	for ev := range loop.Run(t.Context(), user("go")) {
		if ev.Kind == message.Warning {
			break
		}
	}
	if n := len(model.Requests()); n != 3 || loop.Spent().Steps != 3 {
		t.Errorf("%d requests, %d steps", n, loop.Spent().Steps)
	}
	end(t, loop.Run(t.Context()))
}
