package agentloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/jobs"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/plugins"
)

// TestTurns is a whole run: what happens, what is sent and what is kept.
func TestTurns(t *testing.T) {
	model := looptest.NewModel(
		looptest.Turn{
			Deltas:  []message.Delta{{Reasoning: "hm"}, {Text: "Let me "}, {Text: "see."}},
			Message: looptest.Call(call("a", "add", `{"n":1}`)).Message,
		},
		looptest.Turn{Message: message.Message{Text: "It is 3.", Finish: message.FinishStop,
			Usage: &message.Usage{Input: 10, Output: 2}}},
	)
	loop := &agentloop.Loop{
		Model: model, ModelName: "m", System: "Be brief.",
		Tools: registry(t, reads("zero", nil), reads("add", gives("3"))),
	}
	events, err := drain(loop.Run(t.Context(), user("1 + 2?")))
	if err != nil {
		t.Fatal(err)
	}
	want := []message.EventKind{
		message.ReasoningDelta, message.TextDelta, message.TextDelta, message.TurnCompleted,
		message.UsageChanged, message.ToolStarted, message.ToolCompleted,
		message.TextDelta, message.TurnCompleted, message.UsageChanged, message.Ended,
	}
	if have := kinds(events); !slices.Equal(have, want) {
		t.Errorf("events %v\nwant   %v", have, want)
	}
	last := events[len(events)-1]
	if last.End != message.EndAnswer || last.Message.Text != "It is 3." || last.Usage.Output < 2 {
		t.Errorf("the end is %+v", last)
	}
	history := loop.History()
	isValid(t, history)
	if len(history) != 4 || history[0].Time.IsZero() || history[1].Model != "m" {
		t.Errorf("history %+v", history)
	}
	want0 := message.Result{CallID: "a", Name: "add", Outcome: message.OK, Text: "3"}
	if have := results(history); len(have) != 1 || have[0] != want0 {
		t.Errorf("results %+v", have)
	}
	requests := model.Requests()
	if first := requests[0]; len(first.Messages) != 2 || first.Messages[0].Role != message.System ||
		first.Tools[0].Name != "add" || first.Tools[1].Name != "zero" {
		t.Errorf("the first request is %+v", first)
	}
	if n := len(requests[1].Messages); n != 4 {
		t.Errorf("the second request has %d messages", n)
	}
}

// TestFinish pins what becomes of each reason to stop.
func TestFinish(t *testing.T) {
	said := func(text string, finish message.Finish, calls ...message.Call) looptest.Turn {
		return looptest.Turn{Message: message.Message{Text: text, Finish: finish, Calls: calls}}
	}
	for name, tt := range map[string]struct {
		turns    []looptest.Turn
		answer   string
		warning  string
		requests int
	}{
		"stop": {[]looptest.Turn{said("a", message.FinishStop)}, "a", "", 1},
		"pause": {[]looptest.Turn{said("a", message.FinishPause), said("b", message.FinishStop)},
			"b", "", 2},
		"length": {[]looptest.Turn{said("a", message.FinishLength)}, "a",
			"the answer was cut off", 1},
		"refusal": {[]looptest.Turn{said("no", message.FinishRefusal)}, "no", "refused to go on", 1},
		"refusal with a call": {[]looptest.Turn{said("no", message.FinishRefusal, call("a", "f", ""))},
			"no", "calls are left out", 1},
		"nothing": {[]looptest.Turn{said("", message.FinishStop)}, "", "an empty answer", 1},
		"calls without the word": {[]looptest.Turn{said("", message.FinishStop, call("a", "f", "")),
			said("b", message.FinishOther)}, "b", "", 2},
	} {
		f, model := reads("f", nil), looptest.NewModel(tt.turns...)
		loop := &agentloop.Loop{Model: model, Tools: registry(t, f)}
		events, err := drain(loop.Run(t.Context(), user("go")))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		warnings := ""
		for _, ev := range events {
			if ev.Kind == message.Warning {
				warnings += ev.Text
			}
		}
		last := events[len(events)-1]
		if last.End != message.EndAnswer || last.Message.Text != tt.answer ||
			(warnings == "") != (tt.warning == "") || !strings.Contains(warnings, tt.warning) ||
			len(model.Requests()) != tt.requests {
			t.Errorf("%s: %+v, warnings %q, %d requests", name, last, warnings,
				len(model.Requests()))
		}
		isValid(t, loop.History())
	}
}

// TestMaxTurns runs out of round trips; what was gathered stays, and a later run goes on.
func TestMaxTurns(t *testing.T) {
	again := looptest.Call(call("", "f", ""))
	for name, tt := range map[string]struct{ max, want int }{
		"two": {2, 2}, "default": {0, agentloop.DefaultMaxTurns},
	} {
		model := looptest.NewModel(slices.Repeat([]looptest.Turn{again}, tt.want+1)...)
		loop := &agentloop.Loop{Model: model, MaxTurns: tt.max, Tools: registry(t, reads("f", nil))}
		_, err := drain(loop.Run(t.Context(), user("go")))
		if e, ok := errors.AsType[*agentloop.MaxIterationsError](err); !ok || e.N != tt.want {
			t.Errorf("%s: %v", name, err)
		}
		if n := len(model.Requests()); n != tt.want {
			t.Errorf("%s: %d requests", name, n)
		}
		if n := len(results(loop.History())); n != tt.want {
			t.Errorf("%s: %d results are kept", name, n)
		}
		model.Add(looptest.Say("done"))
		if last := end(t, loop.Run(t.Context(), user("and?"))); last.Message.Text != "done" {
			t.Errorf("%s: a later run: %+v", name, last)
		}
	}
}

// TestBusy pins that a loop has one run at a time, and is free when that has ended.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := make(chan struct{})
		turn := looptest.Say("first")
		turn.Wait = wait
		loop := &agentloop.Loop{Model: looptest.NewModel(turn, looptest.Say("second"))}
		first := make(chan error)
		go func() {
			_, err := drain(loop.Run(t.Context(), user("a")))
			first <- err
		}()
		synctest.Wait()
		_, err := drain(loop.Run(t.Context(), user("b")))
		if err != agentloop.ErrBusy || agentloop.SdkCode(err) != agentloop.SdkBusy {
			t.Errorf("the second run: %v", err)
		}
		if err := loop.Restore(nil); err != agentloop.ErrBusy {
			t.Errorf("restoring: %v", err)
		}
		close(wait)
		if err := <-first; err != nil {
			t.Error(err)
		}
		for ev, err := range loop.Run(t.Context(), user("b")) {
			if err != nil {
				t.Error(err)
			}
			if ev.Kind != message.Ended {
				continue
			}
			if _, err := drain(loop.Run(t.Context())); !isInvalid(err) {
				t.Errorf("a run at the end of another: %v", err)
			}
		}
		if n := len(loop.History()); n != 4 {
			t.Errorf("%d messages", n)
		}
	})
}

// TestMetadata pins that what is only kept is not sent.
func TestMetadata(t *testing.T) {
	said := user("hello")
	said.Meta = map[string]json.RawMessage{"secret": json.RawMessage(`"x"`)}
	turn := looptest.Call(call("a", "f", ""))
	turn.Message.Meta, turn.Message.Usage = said.Meta, &message.Usage{Input: 7}
	turn.Message.Reasoning = []message.Reasoning{{Text: "hm", Provider: "p",
		Opaque: json.RawMessage(`1`)}}
	model := looptest.NewModel(turn, looptest.Say("ok")) // which refuses metadata
	loop := &agentloop.Loop{Model: model, ModelName: "m", Tools: registry(t, reads("f", nil))}
	end(t, loop.Run(t.Context(), said))
	for _, m := range model.Requests()[1].Messages {
		if m.Meta != nil || m.Usage != nil || m.Model != "" || !m.Time.IsZero() {
			t.Errorf("sent: %+v", m)
		}
	}
	if sent := model.Requests()[1].Messages[1]; len(sent.Reasoning) != 1 {
		t.Error("reasoning is not sent back")
	}
	if history := loop.History(); string(history[0].Meta["secret"]) != `"x"` ||
		history[1].Usage == nil {
		t.Error("metadata is not kept")
	}
}

// TestInput pins what a run can begin with.
func TestInput(t *testing.T) {
	said := message.Message{Role: message.Assistant, Text: "hello"}
	for name, tt := range map[string]struct {
		history, input []message.Message
		want           string // in the error
	}{
		"nothing":       {nil, nil, "nobody has said anything"},
		"answered":      {[]message.Message{user("a"), said}, nil, "has answered"},
		"the assistant": {nil, []message.Message{said}, `its role is "assistant"`},
		"a result":      {nil, []message.Message{{Role: message.Tool}}, `message 1: its role`},
		"a call of the user's": {nil, []message.Message{{Role: message.User,
			Calls: []message.Call{call("a", "f", "")}}}, "message 1: it has calls"},
		"a result of the user's": {nil, []message.Message{{Role: message.User,
			Result: &message.Result{CallID: "a"}}}, "message 1: it has calls"},
		"no text":             {nil, []message.Message{user("")}, "message 1: it says nothing"},
		"the second of two":   {nil, []message.Message{user("a"), {}}, "message 2"},
		"a question restored": {[]message.Message{user("a")}, nil, ""},
		"paused": {[]message.Message{user("a"),
			{Role: message.Assistant, Finish: message.FinishPause}}, nil, ""},
	} {
		model := looptest.NewModel(looptest.Say("ok"))
		loop := &agentloop.Loop{Model: model}
		if err := loop.Restore(tt.history); err != nil {
			t.Fatal(err)
		}
		_, err := drain(loop.Run(t.Context(), tt.input...))
		if tt.want == "" && err == nil {
			continue
		}
		if !isInvalid(err) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
		if len(model.Requests()) != 0 || len(loop.History()) != len(tt.history) {
			t.Errorf("%s: something was done", name)
		}
	}
	half := []message.Message{{Role: message.Assistant, Calls: []message.Call{call("a", "f", "")}}}
	if err := new(agentloop.Loop).Restore(half); !isInvalid(err) {
		t.Errorf("half a history: %v", err)
	}
}

// TestConfiguration pins which fields a run refuses, before it asks anybody anything.
func TestConfiguration(t *testing.T) {
	model := looptest.NewModel()
	for want, loop := range map[string]*agentloop.Loop{
		"no Model":               {},
		"MaxTurns is -1":         {Model: model, MaxTurns: -1},
		"ContextLimit is -1":     {Model: model, ContextLimit: -1},
		"OutputCap is -2":        {Model: model, OutputCap: -2},
		"a budget is negative":   {Model: model, Budget: agentloop.Budget{Steps: -1}},
		"needs the model's pric": {Model: model, Budget: agentloop.Budget{Dollars: 1}},
		"MaxConcurrent -1":       {Model: model, Jobs: &jobs.Options{MaxConcurrent: -1}},
		"MaxOutput -1":           {Model: model, Jobs: &jobs.Options{MaxOutput: -1}},
		"a price is negative": {Model: model,
			Budget: agentloop.Budget{Prices: agentloop.Prices{Input: -1}}},
		`no approval mode "all"`: {Model: model, Approval: agentloop.Approval{Mode: "all"}},
		"the name read_more":     {Model: model, Tools: registry(t, reads("read_more", nil))},
	} {
		_, err := drain(loop.Run(t.Context(), user("go")))
		if !isInvalid(err) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("want %s, have %v", want, err)
		}
		if len(loop.History()) != 0 {
			t.Errorf("%s: the input became history", want)
		}
	}
	if len(model.Requests()) != 0 {
		t.Error("the model was asked")
	}
}

// TestModelErrors pins that a model's error ends the run as what it is, and leaves a history that
// another run can go on from.
func TestModelErrors(t *testing.T) {
	for want, err := range map[string]error{
		"http":            &agentloop.HTTPError{Err: errors.New("refused")},
		"provider":        &agentloop.StatusError{Status: 404, Body: "no such model"},
		"decode":          &agentloop.DecodeError{Err: errors.New("cut")},
		"missing_api_key": &agentloop.MissingAPIKeyError{Variable: "KEY"},
		"io":              &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist},
		"other":           errors.New("out of ideas"),
	} {
		model := looptest.NewModel(looptest.Call(call("a", "f", "")), looptest.Fail(err))
		loop := &agentloop.Loop{Model: model, Tools: registry(t, reads("f", nil))}
		_, have := drain(loop.Run(t.Context(), user("go")))
		if agentloop.Code(have) != want || !errors.Is(have, err) {
			t.Errorf("%s: %v", want, have)
		}
		isValid(t, loop.History())
		model.Add(looptest.Say("ok"))
		if last := end(t, loop.Run(t.Context())); last.End != message.EndAnswer {
			t.Errorf("%s: the next run ended with %+v", want, last)
		}
	}
}

// TestOddModels pins what is made of a model that does not keep to what a Model is.
func TestOddModels(t *testing.T) {
	loop := &agentloop.Loop{Model: looptest.NewModel(looptest.Fail(context.Canceled))}
	_, err := drain(loop.Run(t.Context(), user("go")))
	if agentloop.Code(err) != "other" || !errors.Is(err, context.Canceled) {
		t.Errorf("a model that stops by itself: %v", err)
	}
	loop.Model = turner(func(context.Context, message.Request) (message.Message, error) {
		return message.Message{Role: message.Tool, Text: "ok", Result: &message.Result{}}, nil
	})
	end(t, loop.Run(t.Context()))
	isValid(t, loop.History())
}

// TestLookWhileRunning looks at a loop while it is at work.
func TestLookWhileRunning(t *testing.T) {
	var loop *agentloop.Loop
	f := reads("f", func(context.Context, plugins.Call) (plugins.Output, error) {
		if n := len(loop.History()); n < 2 || loop.Spent().Steps != 1 {
			t.Errorf("%d messages, spent %+v", n, loop.Spent())
		}
		return plugins.Output{Value: []byte("1")}, nil
	})
	loop = &agentloop.Loop{Parallel: true, Tools: registry(t, f), Model: looptest.NewModel(
		looptest.Call(slices.Repeat([]message.Call{call("", "f", "")}, 20)...), looptest.Say("ok"))}
	end(t, loop.Run(t.Context(), user("go")))
}
