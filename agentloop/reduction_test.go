package agentloop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/reduce"
	"github.com/wasmagent/wasmagent/agentloop/tokens"
	"github.com/wasmagent/wasmagent/plugins"
)

// numbered is a tool that gives long outputs, each another one.
func numbered(name string, size int) (plugins.Tool, *int) {
	n := new(int)
	return reads(name, func(context.Context, plugins.Call) (plugins.Output, error) {
		*n++
		line := fmt.Sprintf("line %d of something long. ", *n)
		value, err := json.Marshal(strings.Repeat(line, size/len(line)+1)[:size])
		return plugins.Output{Value: value}, err
	}), n
}

// asks is a model that calls a tool so many times and answers then.
func asks(tool string, times int) *looptest.Model {
	model := looptest.NewModel()
	for i := range times {
		model.Add(looptest.Call(call(fmt.Sprintf("c%d", i), tool, fmt.Sprintf(`{"n":%d}`, i))))
	}
	model.Add(looptest.Say("ok"))
	return model
}

func warnings(events []message.Event) (list []string) {
	for _, ev := range events {
		if ev.Kind == message.Warning {
			list = append(list, ev.Text)
		}
	}
	return list
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// toolNames lists the tools of a request.
func toolNames(req message.Request) (names []string) {
	for _, spec := range req.Tools {
		names = append(names, spec.Name)
	}
	return names
}

// TestReduction reduces old outputs: what is recorded stays, the model sees stubs and gets the
// tools for them, and each stub is told of once.
func TestReduction(t *testing.T) {
	tool, _ := numbered("long", 60_000)
	model := asks("long", 4)
	var saved []reduce.Log
	loop := &agentloop.Loop{Model: model, Tools: registry(t, tool), OutputCap: 2000,
		Reduction: &agentloop.Reduction{Save: func(_ context.Context, log reduce.Log) error {
			saved = append(saved, log)
			return nil
		}}}
	events, err := drain(loop.Run(t.Context(), user("go")))
	if err != nil {
		t.Fatal(err)
	}
	history, log := loop.History(), loop.Reductions()
	for _, r := range results(history) {
		if len(r.Text) != 60_000 || r.Handle != "" {
			t.Errorf("%d bytes are recorded, handle %q", len(r.Text), r.Handle)
		}
	}
	requests := model.Requests()
	shown := results(requests[4].Messages)
	for i, size := range []int{1024, 1024, 60_000, 60_000} {
		text, stub, reduced := strings.Cut(shown[i].Text, "\n[reduced output r000")
		if len(text) != size || reduced != (size == 1024) {
			t.Errorf("result %d: %d bytes, then %q", i+1, len(text), stub)
		}
	}
	both := []string{"expand_reduction", "long", "sidecar_search"}
	for i, want := range [][]string{both[1:2], both[1:2], both[1:2], both, both} {
		if names := toolNames(requests[i]); !slices.Equal(names, want) {
			t.Errorf("request %d offers %v", i+1, names)
		}
	}
	told := warnings(events)
	if len(told) != 2 || len(log) != 2 || !strings.Contains(told[0], log[0].ID) ||
		!strings.Contains(told[1], log[1].ID) {
		t.Errorf("%d entries, told are %q", len(log), told)
	}
	if len(saved) != 2 || !reflect.DeepEqual(saved[1], log) {
		t.Errorf("saved are %+v", saved)
	}
	full, err := reduce.Invert(requests[4].Messages, log, history[:len(history)-1])
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(full, history[:len(history)-1], func(a, b message.Message) bool {
		return a.Role == b.Role && a.Text == b.Text && reflect.DeepEqual(a.Result, b.Result)
	}) {
		t.Error("the view does not give the record back")
	}
}

// TestReducedTools reads and searches what was reduced, as a model does.
func TestReducedTools(t *testing.T) {
	tool, _ := numbered("long", 20_000)
	model := asks("long", 3)
	loop := &agentloop.Loop{Model: model, Tools: registry(t, tool),
		Reduction: &agentloop.Reduction{}}
	end(t, loop.Run(t.Context(), user("go")))
	id, whole := loop.Reductions()[0].ID, results(loop.History())[0].Text
	ask := func(tool, arguments string) message.Result {
		model.Add(looptest.Call(call("x", tool, arguments)), looptest.Say("ok"))
		end(t, loop.Run(t.Context(), user("and?")))
		all := results(loop.History())
		return all[len(all)-1]
	}
	read := ""
	for len(read) < len(whole) {
		page := ask("expand_reduction", fmt.Sprintf(`{"id":%q,"offset":%d}`, id, len(read)))
		text, where, ok := strings.Cut(page.Text, "\n[bytes ")
		if !ok || len(page.Text) > reduce.DefaultTrigger || text == "" {
			t.Fatalf("page %+v (%s)", page, where)
		}
		read += text
	}
	if read != whole {
		t.Error("the pages are not the original")
	}
	found := ask("sidecar_search", `{"text":"LINE 1 of"}`)
	var out struct {
		Places []reduce.Hit
		More   bool
	}
	if err := json.Unmarshal([]byte(found.Text), &out); err != nil || len(out.Places) == 0 ||
		out.Places[0].ID != id || !out.More || !strings.Contains(out.Places[0].Text, "line 1 of") {
		t.Errorf("%+v, %v", found, err)
	}
	if none := ask("sidecar_search", `{"text":"nowhere"}`); none.Text != `{"places":[]}` {
		t.Errorf("%+v", none)
	}
	for _, tt := range []struct{ tool, arguments, code, text string }{
		{"expand_reduction", `{"id":"r0009-abcd"}`, "reduction",
			"reduction r0009-abcd: there is no such"},
		{"expand_reduction", fmt.Sprintf(`{"id":%q,"offset":20000}`, id), "tool", "ends at byte 20000"},
		{"expand_reduction", `{}`, "invalid_arguments", "id"},
		{"sidecar_search", `{"text":""}`, "invalid_arguments", "text"},
		{"sidecar_search", fmt.Sprintf(`{"text":%q}`, strings.Repeat("a", 257)),
			"invalid_arguments", "256"},
	} {
		have := ask(tt.tool, tt.arguments)
		if have.Code != tt.code || have.Outcome != message.Error ||
			!strings.Contains(have.Text, tt.text) {
			t.Errorf("%s %s: %+v", tt.tool, tt.arguments, have)
		}
	}
}

// TestRefusedOnce pins that a refusal of the loop's own tools is no failure to try again: no time
// is waited.
func TestRefusedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tool, _ := numbered("long", 20_000)
		model := asks("long", 3)
		loop := &agentloop.Loop{Model: model, Tools: registry(t, tool),
			Reduction: &agentloop.Reduction{}}
		end(t, loop.Run(t.Context(), user("go")))
		model.Add(looptest.Call(call("x", "expand_reduction", `{"id":"r0009-abcd"}`)),
			looptest.Say("ok"))
		began := time.Now()
		end(t, loop.Run(t.Context(), user("and?")))
		if waited := time.Since(began); waited != 0 {
			t.Errorf("it was tried again after %v", waited)
		}
	})
}

// TestReductionOff pins that the tools are not there while nothing is reduced, and that a caller's
// tools cannot have their names.
func TestReductionOff(t *testing.T) {
	loop := &agentloop.Loop{Reduction: &agentloop.Reduction{}, Model: looptest.NewModel(
		looptest.Call(call("a", "expand_reduction", `{"id":"r0001-abcd"}`)), looptest.Say("ok"))}
	end(t, loop.Run(t.Context(), user("go")))
	if r := results(loop.History())[0]; r.Code != "unknown_tool" {
		t.Errorf("%+v", r)
	}
	for _, name := range []string{"expand_reduction", "sidecar_search"} {
		loop := &agentloop.Loop{Model: looptest.NewModel(), Tools: registry(t, reads(name, nil))}
		if _, err := drain(loop.Run(t.Context(), user("go"))); agentloop.SdkCode(err) != agentloop.SdkInvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestManyTurns takes 300 turns with outputs of 20 KB through a context of 32,000 tokens. No
// request is refused, the record is whole, and the view is tightened now and then, not at each
// turn.
func TestManyTurns(t *testing.T) {
	const turns, limit = 300, 32_000
	tool, ran := numbered("long", 20_000)
	model := asks("long", turns)
	loop := &agentloop.Loop{Model: model, System: "be brief", Tools: registry(t, tool),
		MaxTurns: turns + 1, ContextLimit: limit, Reduction: &agentloop.Reduction{}}
	question := "read all of it and tell me " + strings.Repeat("what it says ", 200)
	events, err := drain(loop.Run(t.Context(), user(question)))
	if err != nil {
		t.Fatal(err)
	}
	if *ran != turns {
		t.Errorf("the tool ran %d times", *ran)
	}
	requests, changed := model.Requests(), 0
	for i, req := range requests {
		if req.Messages[0].Text != "be brief" || req.Messages[1].Text != question {
			t.Fatalf("request %d does not begin with what was said", i+1)
		}
		if err := message.Check(req.Messages); err != nil {
			t.Fatal(err)
		}
		if i > 0 && !slices.EqualFunc(early(requests[i-1]), early(req)[:min(len(early(req)),
			len(early(requests[i-1])))], func(a, b message.Message) bool {
			return asJSON(t, a) == asJSON(t, b)
		}) {
			changed++
		}
	}
	if changed > turns/5 {
		t.Errorf("what came before changed %d times in %d turns", changed, turns)
	}
	history := loop.History()
	for i, r := range results(history) {
		want := fmt.Sprintf("line %d of", i+1)
		if len(r.Text) != 20_000 || !strings.HasPrefix(r.Text, want) {
			t.Fatalf("result %d was changed", i+1)
		}
	}
	view, err := reduce.View(history, loop.Reductions())
	if err != nil {
		t.Fatal(err)
	}
	var shown []message.Message
	for _, i := range view {
		shown = append(shown, i.Message)
	}
	full, err := reduce.Invert(shown, loop.Reductions(), history)
	if err != nil || !reflect.DeepEqual(full, history) {
		t.Errorf("the view does not give the record back: %v", err)
	}
	t.Logf("%d requests, %d changed what came before, %d entries, %d warnings, %d messages of %d",
		len(requests), changed, len(loop.Reductions()), len(warnings(events)), len(shown), len(history))
}

// early is a request without its last turns, which may still be shortened.
func early(req message.Request) []message.Message {
	return req.Messages[:max(len(req.Messages)-6, 2)]
}

// TestCannotBeReduced refuses what the user says last when it alone is too long, whatever else is
// reduced for it, and reduces nothing then.
func TestCannotBeReduced(t *testing.T) {
	model := looptest.NewModel(looptest.Say("ok"), looptest.Say("ok"))
	loop := &agentloop.Loop{Model: model, ContextLimit: 20_000, Reduction: &agentloop.Reduction{}}
	end(t, loop.Run(t.Context(), user("hello "+strings.Repeat("a", 3000))))
	_, err := drain(loop.Run(t.Context(), user(strings.Repeat("a", 12_000))))
	if agentloop.Code(err) != "context_limit_exceeded" || len(model.Requests()) != 1 ||
		len(loop.Reductions()) != 0 {
		t.Errorf("%v, %d requests, %d entries", err, len(model.Requests()), len(loop.Reductions()))
	}
	isValid(t, loop.History())
}

// TestLongOutputAtOnce shortens even the output that has just come when it does not fit.
func TestLongOutputAtOnce(t *testing.T) {
	tool, _ := numbered("long", 200_000)
	model := asks("long", 1)
	loop := &agentloop.Loop{Model: model, Tools: registry(t, tool), ContextLimit: 20_000,
		Reduction: &agentloop.Reduction{}}
	end(t, loop.Run(t.Context(), user("go")))
	last := results(model.Requests()[1].Messages)[0]
	if n := len(last.Text); n > 8192 || !strings.Contains(last.Text, "\n[reduced output r0001-") {
		t.Errorf("%d bytes: %.200s", n, last.Text)
	}
}

// TestSentFits makes views for contexts of many sizes: what is sent fits, with the tools that come
// with the first stub.
func TestSentFits(t *testing.T) {
	tool, _ := numbered("long", 3000)
	sent := 0
	for limit := 17_000; limit < 21_000; limit += 50 {
		model := asks("long", 4)
		loop := &agentloop.Loop{Model: model, Tools: registry(t, tool), ContextLimit: limit,
			Reduction: &agentloop.Reduction{}}
		_, err := drain(loop.Run(t.Context(), user("go")))
		if err != nil && agentloop.Code(err) != "context_limit_exceeded" {
			t.Fatal(err)
		}
		for _, req := range model.Requests() {
			sent++
			if n := tokens.Projected(req.Messages, req.Tools); !tokens.Fits(n, limit) {
				t.Errorf("%d tokens were sent where %d fit", n, limit-tokens.Reserve)
			}
		}
	}
	if sent < 300 {
		t.Errorf("only %d requests were sent", sent)
	}
}
