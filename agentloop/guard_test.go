package agentloop_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/tokens"
	"github.com/wasmagent/wasmagent/plugins"
)

// TestGuard holds every request against the context's limit before it is sent.
func TestGuard(t *testing.T) {
	const limit = 20_000 // less the reserve: 3,616 tokens projected, some 11,500 bytes
	wide := reads("wide", nil)
	wide.Is.Description = strings.Repeat("words ", 2500)
	long := reads("long", gives(`"`+strings.Repeat("a", 12_000)+`"`))
	small := reads("small", gives("1"))
	for name, tt := range map[string]struct {
		limit    int
		tool     plugins.Tool
		question string
		requests int
		refused  bool
	}{
		"it fits":                    {limit, small, "hello", 2, false},
		"the question is too long":   {limit, small, strings.Repeat("a", 12_000), 0, true},
		"schemas alone are too much": {limit, wide, "hello", 0, true},
		"a result makes turn 2 fail": {limit, long, "hello", 1, true},
		"unarmed":                    {0, long, strings.Repeat("a", 1_000_000), 2, false},
		"no room at all":             {1, small, "hello", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			model := looptest.NewModel(looptest.Call(call("a", tt.tool.Spec().Name, "")),
				looptest.Say("ok"))
			loop := &agentloop.Loop{Model: model, ModelName: "m-1", ContextLimit: tt.limit,
				Tools: registry(t, tt.tool)}
			_, err := drain(loop.Run(t.Context(), user(tt.question)))
			if n := len(model.Requests()); n != tt.requests {
				t.Errorf("%d requests", n)
			}
			isValid(t, loop.History())
			e, ok := errors.AsType[*agentloop.ContextLimitError](err)
			if ok != tt.refused || (err != nil) != tt.refused {
				t.Fatalf("error %v", err)
			}
			if !ok {
				return
			}
			if e.ReserveTokens != 16_384 || e.ContextLimit != tt.limit || e.Model != "m-1" ||
				e.ProjectedTokens+e.ReserveTokens <= e.ContextLimit {
				t.Errorf("%+v", e)
			}
			want := fmt.Sprintf("%d tokens projected + 16384 kept for the answer > %d",
				e.ProjectedTokens, tt.limit)
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the text is %q", err)
			}
		})
	}
}

// TestGuardAtTheEdge sends the largest question that fits, and not the one with one token more.
func TestGuardAtTheEdge(t *testing.T) {
	const around = len(`[{"role":"system","text":"Be brief."},{"role":"user","text":""}]`)
	const largest = 146_892 // an estimate of this many tokens fits into 200,000
	for _, tt := range []struct {
		estimate int
		sent     bool
	}{{largest, true}, {largest + 1, false}} {
		question := strings.Repeat("a", 4*tt.estimate-around)
		model := looptest.NewModel(looptest.Say("ok"))
		loop := &agentloop.Loop{Model: model, System: "Be brief.",
			ContextLimit: tokens.Limits(nil).Of("m")}
		_, err := drain(loop.Run(t.Context(), user(question)))
		if (err == nil) != tt.sent || len(model.Requests()) == 1 != tt.sent {
			t.Errorf("an estimate of %d: %v", tt.estimate, err)
		}
	}
}
