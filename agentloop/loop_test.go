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

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/agentloop"
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

// TestCallsThatDoNotRun pins what the model is told of a call that cannot be made, and that no tool
// sees it.
func TestCallsThatDoNotRun(t *testing.T) {
	for name, tt := range map[string]struct {
		tool, arguments   string
		finish            message.Finish
		code, cause, text string
	}{
		"unknown tool": {"nope", `{}`, "", "unknown_tool", "",
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

// TestOutputs pins how a tool's output reads.
func TestOutputs(t *testing.T) {
	for name, tt := range map[string]struct {
		out  plugins.Output
		want string
	}{
		"an object": {plugins.Output{Value: json.RawMessage(`{"a":"<\n>"}`)}, `{"a":"<\n>"}`},
		"a string":  {plugins.Output{Value: json.RawMessage(`"a\nb"`)}, "a\nb"},
		"null":      {plugins.Output{Value: json.RawMessage(`null`)}, "null"},
		"content": {plugins.Output{Content: []abi.Block{
			{Type: "text", Text: "here:"},
			{Type: "image", MIME: "image/png", Name: "a\x1b[2Jb", Data: []byte("12345")},
			{Type: "text", Text: "\xff!"},
		}}, "here:\n[image, image/png, \"ab\", 5 bytes, which are not shown]\n\uFFFD!"},
		"no content": {plugins.Output{Content: []abi.Block{}}, ""},
	} {
		spy := reads("f", func(context.Context, plugins.Call) (plugins.Output, error) {
			return tt.out, nil
		})
		loop := &agentloop.Loop{Tools: registry(t, spy),
			Model: looptest.NewModel(looptest.Call(call("a", "f", "")), looptest.Say("ok"))}
		end(t, loop.Run(t.Context(), user("go")))
		if have := results(loop.History())[0]; have.Text != tt.want || have.Outcome != message.OK {
			t.Errorf("%s: %q\nwant %q", name, have.Text, tt.want)
		}
	}
}

// TestLongOutput cuts an output and reads on in it, until its end.
func TestLongOutput(t *testing.T) {
	whole := strings.Repeat("0123456789", 1000)
	long := reads("long", gives(`"`+whole+`"`))
	model := looptest.NewModel(looptest.Call(call("a", "long", "")))
	loop := &agentloop.Loop{Model: model, Tools: registry(t, long), OutputCap: 4096}
	drain(loop.Run(t.Context(), user("go"))) // the script ends
	cut := results(loop.History())[0]
	if len(cut.Text) > 4096 || cut.Bytes != len(whole) || cut.Handle == "" {
		t.Fatalf("%d bytes, %d before, handle %q", len(cut.Text), cut.Bytes, cut.Handle)
	}
	if n := len(model.Requests()[0].Tools); n != 1 {
		t.Errorf("%d tools before anything was cut", n)
	}
	read, _, _ := strings.Cut(cut.Text, "\n[…")
	for len(read) < len(whole) {
		model.Add(looptest.Call(call("", "read_more",
			fmt.Sprintf(`{"handle":%q,"offset":%d}`, cut.Handle, len(read)))))
		drain(loop.Run(t.Context()))
		all := results(loop.History())
		page := all[len(all)-1]
		text, where, ok := strings.Cut(page.Text, "\n[bytes ")
		if page.Outcome != message.OK || !ok || page.Handle != "" || len(page.Text) > 4096 {
			t.Fatalf("page %+v (%s)", page, where)
		}
		read += text
	}
	if read != whole {
		t.Error("what was read is not the whole")
	}
	requests := model.Requests()
	if tools := requests[len(requests)-1].Tools; len(tools) != 2 || tools[1].Name != "read_more" {
		t.Errorf("tools %+v", tools)
	}
}

// TestOutputCap pins the edge of the cap and that it can be switched off.
func TestOutputCap(t *testing.T) {
	for _, tt := range []struct {
		cap, size int
		cut       bool
	}{
		{0, 48 << 10, false}, {0, 48<<10 + 1, true}, {2000, 2000, false}, {2000, 2001, true},
		{-1, 1 << 20, false},
	} {
		f := reads("f", gives(`"`+strings.Repeat("a", tt.size)+`"`))
		loop := &agentloop.Loop{Tools: registry(t, f), OutputCap: tt.cap,
			Model: looptest.NewModel(looptest.Call(call("a", "f", "")), looptest.Say("ok"))}
		end(t, loop.Run(t.Context(), user("go")))
		if have := results(loop.History())[0]; (have.Handle != "") != tt.cut {
			t.Errorf("cap %d, %d bytes: handle %q", tt.cap, tt.size, have.Handle)
		}
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
		"stop":  {[]looptest.Turn{said("a", message.FinishStop)}, "a", "", 1},
		"pause": {[]looptest.Turn{said("a", message.FinishPause), said("b", message.FinishStop)}, "b", "", 2},
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

// TestRepeated ends a run whose model makes the same call again and again and sees it fail.
func TestRepeated(t *testing.T) {
	broken := errors.New("no funds")
	for name, tt := range map[string]struct {
		turns []looptest.Turn
		ends  int // the turn that ends it; 0: there is an answer
	}{
		"the same call": {[]looptest.Turn{
			looptest.Call(call("a", "bad", `{"a":1,"b":2}`)),
			looptest.Call(call("b", "bad", `{"b":2, "a":1}`)),
			looptest.Call(call("c", "bad", `{"a":1,"b":2}`)),
			looptest.Call(call("d", "bad", `{"a":1,"b":2}`)),
		}, 3},
		"an unknown tool": {slices.Repeat([]looptest.Turn{looptest.Call(call("", "nope", "{}"))}, 4), 3},
		"broken JSON":     {slices.Repeat([]looptest.Turn{looptest.Call(call("", "bad", "{"))}, 4), 3},
		"the same two": {slices.Repeat([]looptest.Turn{
			looptest.Call(call("", "bad", "{}"), call("", "nope", "{}"))}, 4), 3},
		"three in one turn": {[]looptest.Turn{
			looptest.Call(call("a", "bad", ""), call("b", "bad", ""), call("c", "bad", "")),
		}, 0},
		"other arguments": {[]looptest.Turn{
			looptest.Call(call("a", "bad", `{"a":1}`)), looptest.Call(call("b", "bad", `{"a":2}`)),
			looptest.Call(call("c", "bad", `{"a":1}`)), looptest.Call(call("d", "bad", `{"a":2}`)),
		}, 0},
		"a success between": {[]looptest.Turn{
			looptest.Call(call("a", "bad", "")), looptest.Call(call("b", "bad", "")),
			looptest.Call(call("c", "good", "")), looptest.Call(call("d", "bad", "")),
		}, 0},
		"good ones": {slices.Repeat([]looptest.Turn{looptest.Call(call("", "good", "{}"))}, 6), 0},
	} {
		model := looptest.NewModel(append(tt.turns, looptest.Say("ok"))...)
		loop := &agentloop.Loop{Model: model,
			Tools: registry(t, reads("bad", fails(broken)), reads("good", nil))}
		last := end(t, loop.Run(t.Context(), user("go")))
		want, requests := message.EndAnswer, len(tt.turns)+1
		if tt.ends > 0 {
			want, requests = message.EndRepeated, tt.ends
		}
		if last.End != want || len(model.Requests()) != requests {
			t.Errorf("%s: %s after %d requests (%s)", name, last.End, len(model.Requests()), last.Text)
		}
		isValid(t, loop.History())
	}
}

// TestRepeatsCollapse pins that the model reads a failure once, and then how often.
func TestRepeatsCollapse(t *testing.T) {
	n := 0
	f := reads("f", func(context.Context, plugins.Call) (plugins.Output, error) {
		if n++; n == 3 {
			return plugins.Output{Value: json.RawMessage("1")}, nil
		}
		return plugins.Output{}, errors.New("no funds")
	})
	turns := []looptest.Turn{}
	for i := range 4 {
		turns = append(turns, looptest.Call(call("", "f", fmt.Sprintf(`{"n":%d}`, i))))
	}
	loop := &agentloop.Loop{Tools: registry(t, f),
		Model: looptest.NewModel(append(turns, looptest.Say("ok"))...)}
	end(t, loop.Run(t.Context(), user("go")))
	const first = `tool "f" failed: it reported: "no funds"`
	for i, want := range []string{first, `tool "f" failed in the same way again (handler), 2 times`,
		"1", first} {
		if have := results(loop.History())[i].Text; !strings.HasPrefix(have, want) {
			t.Errorf("result %d: %s", i, have)
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
		if err != agentloop.ErrBusy || agentloop.SdkCode(err) != "busy" {
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
			if _, err := drain(loop.Run(t.Context())); agentloop.SdkCode(err) != "input" {
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
	for name, tt := range map[string]struct {
		history, input []message.Message
		want           string // in the error
	}{
		"nothing":             {nil, nil, "nobody has said anything"},
		"answered":            {[]message.Message{user("a"), {Role: message.Assistant}}, nil, "has answered"},
		"the assistant":       {nil, []message.Message{{Role: message.Assistant}}, `its role is "assistant"`},
		"a result":            {nil, []message.Message{{Role: message.Tool}}, `message 1: its role is "tool"`},
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
		if agentloop.SdkCode(err) != "input" || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
		if len(model.Requests()) != 0 || len(loop.History()) != len(tt.history) {
			t.Errorf("%s: something was done", name)
		}
	}
	half := []message.Message{{Role: message.Assistant, Calls: []message.Call{call("a", "f", "")}}}
	if err := new(agentloop.Loop).Restore(half); agentloop.SdkCode(err) != "input" {
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
		"a price is negative":    {Model: model, Budget: agentloop.Budget{Prices: agentloop.Prices{Input: -1}}},
		`no approval mode "all"`: {Model: model, Approval: agentloop.Approval{Mode: "all"}},
		"the name read_more":     {Model: model, Tools: registry(t, reads("read_more", nil))},
	} {
		_, err := drain(loop.Run(t.Context(), user("go")))
		if agentloop.SdkCode(err) != "configuration" || !strings.Contains(fmt.Sprint(err), want) {
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
