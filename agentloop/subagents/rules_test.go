package subagents_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/wasmagent/wasmagent/agentloop/subagents"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestCheck pins what is refused, and in which order: each case is wrong in all the ways that come
// after the one it is refused for.
func TestCheck(t *testing.T) {
	type request = subagents.Request
	const (
		deep    = subagents.DefaultMaxDepth
		task    = "*subagents.RequestError"
		kind    = "*subagents.DefinitionError"
		nesting = "*subagents.DepthError"
		policy  = "*errors.errorString"
	)
	kinds := map[string]subagents.Definition{"poet": {System: "Rhyme.", Model: "small"}}
	most := strings.Repeat("x", subagents.MaxTask)
	for name, tt := range map[string]struct {
		max, depth int
		background subagents.Policy
		req        request
		want       string
	}{
		"allowed":          {1, 1, "", request{Task: "t"}, ""},
		"of a kind":        {1, 1, "", request{Task: "t", AgentType: "poet"}, "Rhyme."},
		"the longest task": {1, 1, "", request{Task: most}, ""},
		"a longer one":     {0, 1, "", request{Task: most + "x"}, task},
		"no task":          {0, 1, "", request{AgentType: "x", Background: true}, task},
		"a blank task":     {0, 1, "", request{Task: " \n\u00a0", AgentType: "x"}, task},
		"an unknown kind":  {0, 1, "", request{Task: "t", AgentType: "x", Background: true}, kind},
		"too deep":         {1, 2, "", request{Task: "t", Background: true}, nesting},
		"none may":         {0, 1, "", request{Task: "t"}, nesting},
		"at the default":   {deep, 3, "", request{Task: "t"}, ""},
		"one deeper":       {deep, 4, "", request{Task: "t"}, nesting},
		"no policy":        {1, 1, "", request{Task: "t", Background: true}, policy},
		"rules answer":     {1, 1, subagents.AutoPolicy, request{Task: "t", Background: true}, ""},
		"somebody answers": {1, 1, subagents.Parent, request{Task: "t", Background: true}, ""},
	} {
		rules := subagents.Rules{MaxDepth: tt.max, Background: tt.background, Definitions: kinds}
		def, err := rules.Check(tt.depth, &tt.req)
		have := def.System
		if err != nil {
			have = fmt.Sprintf("%T", err)
		}
		if have != tt.want {
			t.Errorf("%s: have %q (%v), want %q", name, have, err, tt.want)
		}
		if deep, ok := err.(*subagents.DepthError); ok &&
			(deep.MaxDepth != tt.max || deep.AttemptedDepth != tt.depth) {
			t.Errorf("%s: %+v", name, deep)
		}
	}
	_, err := (&subagents.Rules{MaxDepth: 1}).Check(1, &subagents.Request{Task: "t", Background: true})
	if !errors.Is(err, subagents.ErrBackgroundPolicy) {
		t.Errorf("%v", err)
	}
}

func TestOffers(t *testing.T) {
	for _, tt := range []struct {
		tools []string
		tool  string
		want  bool
	}{
		{nil, "f", true},
		{[]string{}, "f", false},
		{[]string{"f"}, "f", true},
		{[]string{"f"}, "ff", false},
		{[]string{"g", "f_*"}, "f_1", true},
		{[]string{"f_*"}, "f", false},
		{[]string{"*"}, "f", true},
	} {
		d := subagents.Definition{Tools: tt.tools}
		if d.Offers(tt.tool) != tt.want {
			t.Errorf("%q offers %s: %v", tt.tools, tt.tool, !tt.want)
		}
	}
}

// TestGauge has a hundred goroutines race for places: there are never more taken than there are,
// and all are free at the end.
func TestGauge(t *testing.T) {
	const most, racers, rounds = 8, 100, 50
	var gauge subagents.Gauge
	var inside, taken, refused atomic.Int64
	var work sync.WaitGroup
	for range racers {
		work.Go(func() {
			for range rounds {
				if err := gauge.Acquire(most); err != nil {
					if full, ok := err.(*subagents.ConcurrencyError); !ok || full.MaxConcurrent != most {
						t.Errorf("%v", err)
					}
					refused.Add(1)
					continue
				}
				if n := inside.Add(1); n > most {
					t.Errorf("%d at a time", n)
				}
				taken.Add(1)
				inside.Add(-1)
				gauge.Release()
			}
		})
	}
	work.Wait()
	if taken.Load()+refused.Load() != racers*rounds || gauge.Running() != 0 {
		t.Errorf("%d taken, %d refused, %d left", taken.Load(), refused.Load(), gauge.Running())
	}
}

// TestGaugeAtTheLimit pins the edge.
func TestGaugeAtTheLimit(t *testing.T) {
	var gauge subagents.Gauge
	for i, want := range []bool{true, true, false} {
		if ok := gauge.Acquire(2) == nil; ok != want {
			t.Errorf("place %d: %v", i+1, ok)
		}
	}
	gauge.Release()
	if err := gauge.Acquire(2); err != nil || gauge.Running() != 2 {
		t.Errorf("%v, %d", err, gauge.Running())
	}
	gauge.Release()
	gauge.Release()
	defer func() {
		if recover() == nil {
			t.Error("a place that nobody has was given back")
		}
	}()
	gauge.Release()
}

func TestIDs(t *testing.T) {
	first := subagents.ChildID("", 3)
	second := subagents.ChildID(first, 12)
	if first != "s3" || second != "s3.12" {
		t.Errorf("%s, %s", first, second)
	}
	if run := subagents.RunID("", second); run != "" {
		t.Errorf("a run %s of one that has none", run)
	}
	if run := subagents.RunID("r", second); run != "r.s3.12" {
		t.Errorf("%s", run)
	}
	longest := strings.Repeat("r", subagents.MaxRunID-len(".s3"))
	if run := subagents.RunID(longest, "s3"); run != longest+".s3" {
		t.Errorf("%s", run)
	}
	digest, other := subagents.RunID(longest, "s31"), subagents.RunID(longest, "s32")
	if len(digest) > subagents.MaxRunID || digest == other || !strings.HasPrefix(digest, "sub-") ||
		digest != subagents.RunID(longest, "s31") {
		t.Errorf("%s, %s", digest, other)
	}
}

// TestErrors pins that each text has every field.
func TestErrors(t *testing.T) {
	for want, err := range map[string]error{
		"a subagent at depth 4 would be too deep, at most 3 is allowed": &subagents.DepthError{
			MaxDepth: 3, AttemptedDepth: 4},
		"4 subagents run already, which is as many as may": &subagents.ConcurrencyError{
			MaxConcurrent: 4},
		`there is no agent type "poet", and no other; leave it out`: &subagents.DefinitionError{
			Name: "poet"},
		`there is no agent type "poet"; there are cook, reader`: &subagents.DefinitionError{
			Name: "poet", Have: []string{"cook", "reader"}},
		`there is no subagent "s9", or its result has been given already`: &subagents.NotFoundError{
			ID: "s9"},
		"it is blank": &subagents.RequestError{Detail: "it is blank"},
	} {
		if err.Error() != want {
			t.Errorf("%s", err)
		}
	}
}
