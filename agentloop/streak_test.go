package agentloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/plugins"
)

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
	f := writes("f", func(context.Context, plugins.Call) (plugins.Output, error) {
		if n++; n == 3 {
			return plugins.Output{Value: json.RawMessage("1")}, nil
		}
		return plugins.Output{}, errors.New("no funds")
	})
	turns := []looptest.Turn{}
	for i := range 4 {
		turns = append(turns, looptest.Call(call("", "f", fmt.Sprintf(`{"n":%d}`, i))))
	}
	loop := &agentloop.Loop{Tools: registry(t, f), Approval: agentloop.Approval{Mode: agentloop.Never},
		Model: looptest.NewModel(append(turns, looptest.Say("ok"))...)}
	end(t, loop.Run(t.Context(), user("go")))
	const first = `tool "f" failed: it reported: "no funds"; its effect may or may not have happened`
	for i, want := range []string{first, `tool "f" failed in the same way again (handler), 2 times`,
		"1", first} {
		if have := results(loop.History())[i].Text; !strings.HasPrefix(have, want) {
			t.Errorf("result %d: %s", i, have)
		}
	}
}
