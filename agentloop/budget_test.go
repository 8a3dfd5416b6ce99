package agentloop_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/plugins"
)

// used is a turn that calls f and took so many tokens.
func used(u message.Usage) looptest.Turn {
	turn := looptest.Call(call("", "f", ""))
	turn.Message.Usage = &u
	return turn
}

// TestBudget parks a run when a budget is used up, exactly then, and goes on when it is raised.
func TestBudget(t *testing.T) {
	usage := message.Usage{Input: 900_000, Output: 100_000, Cached: 500_000}
	prices := agentloop.Prices{Input: 1, Output: 10, Cached: 0.2} // $1.50 a turn
	type budget = agentloop.Budget
	for name, tt := range map[string]struct {
		budget, more budget
		turns        int // before it is used up
		why          string
	}{
		"steps":     {budget{Steps: 2}, budget{Steps: 3}, 2, "the budget of 2 steps"},
		"tokens":    {budget{Tokens: 2_000_000}, budget{Tokens: 2_000_001}, 2, "2000000 tokens"},
		"one token": {budget{Tokens: 2_000_001}, budget{Tokens: 4_000_000}, 3, "3000000 were taken"},
		"dollars": {budget{Dollars: 3, Prices: prices}, budget{Dollars: 4, Prices: prices}, 2,
			"$3.00 is used up: $3.0000"},
		"wall time": {budget{Wall: 2 * time.Minute}, budget{Wall: time.Hour}, 2, "the budget of 2m0s"},
		"no budget": {budget{}, budget{}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			f := reads("f", func(context.Context, plugins.Call) (plugins.Output, error) {
				now = now.Add(time.Minute)
				return plugins.Output{Value: []byte("1")}, nil
			})
			model := looptest.NewModel(used(usage), used(usage), used(usage), looptest.Say("ok"))
			loop := &agentloop.Loop{Model: model, Tools: registry(t, f), Budget: tt.budget,
				Now: func() time.Time { return now }}
			last := end(t, loop.Run(t.Context(), user("go")))
			if tt.turns == 0 {
				if last.End != message.EndAnswer {
					t.Errorf("ended with %+v", last)
				}
				return
			}
			for range 2 { // parked it stays, however long it takes
				if last.End != message.EndBudget || !strings.Contains(last.Text, tt.why) {
					t.Errorf("ended with %s: %s", last.End, last.Text)
				}
				if n := len(model.Requests()); n != tt.turns {
					t.Errorf("%d requests", n)
				}
				now = now.Add(time.Hour)
				last = end(t, loop.Run(t.Context()))
			}
			spent := loop.Spent()
			if spent.Steps != tt.turns || spent.Wall != time.Duration(tt.turns)*time.Minute ||
				spent.Usage.Output != int64(tt.turns)*usage.Output {
				t.Errorf("spent %+v", spent)
			}
			isValid(t, loop.History())
			loop.Budget = tt.more
			end(t, loop.Run(t.Context()))
			if n := len(model.Requests()); n <= tt.turns {
				t.Errorf("%d requests with a larger budget", n)
			}
		})
	}
}

// TestDollars pins what a request costs.
func TestDollars(t *testing.T) {
	type prices = agentloop.Prices
	type usage = message.Usage
	for name, tt := range map[string]struct {
		prices prices
		usage  usage
		want   float64
	}{
		"both":              {prices{Input: 2, Output: 8}, usage{Input: 1e6, Output: 5e5}, 6},
		"cached":            {prices{Input: 2, Cached: 1}, usage{Input: 1e6, Cached: 5e5}, 1.5},
		"cached, one price": {prices{Input: 2}, usage{Input: 1e6, Cached: 5e5}, 2},
		"free":              {prices{}, usage{Input: 1e6}, 0},
	} {
		turn := looptest.Say("ok")
		turn.Message.Usage = &tt.usage
		loop := &agentloop.Loop{Model: looptest.NewModel(turn),
			Budget: agentloop.Budget{Prices: tt.prices}}
		end(t, loop.Run(t.Context(), user("go")))
		if have := loop.Spent().Dollars; have != tt.want {
			t.Errorf("%s: $%v, want $%v", name, have, tt.want)
		}
	}
}

// TestNoNumbers refuses prices and budgets that no sum ever reaches.
func TestNoNumbers(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	type budget = agentloop.Budget
	type prices = agentloop.Prices
	for _, b := range []budget{{Dollars: nan}, {Dollars: inf}, {Prices: prices{Input: nan}},
		{Prices: prices{Input: inf}}, {Prices: prices{Output: nan}}, {Prices: prices{Output: inf}},
		{Prices: prices{Cached: nan}}, {Prices: prices{Cached: inf}}, {Prices: prices{Output: -1}},
		{Prices: prices{Cached: -1}}, {Dollars: -1}, {Tokens: -1}, {Wall: -1}} {
		loop := &agentloop.Loop{Model: looptest.NewModel(), Budget: b}
		if _, err := drain(loop.Run(t.Context(), user("go"))); !isInvalid(err) {
			t.Errorf("%+v: %v", b, err)
		}
	}
}

// TestUncountedTokens pins that a provider which counts nothing does not get around a budget.
func TestUncountedTokens(t *testing.T) {
	model := looptest.NewModel(looptest.Call(call("a", "f", "")), looptest.Say("ok"))
	loop := &agentloop.Loop{Model: model, Tools: registry(t, reads("f", nil)),
		Budget: agentloop.Budget{Tokens: 100}}
	last := end(t, loop.Run(t.Context(), user(strings.Repeat("word ", 100))))
	if last.End != message.EndBudget || loop.Spent().Usage.Input < 125 {
		t.Errorf("%+v, spent %+v", last, loop.Spent())
	}
	zeros := used(message.Usage{})
	loop = &agentloop.Loop{Model: looptest.NewModel(zeros, zeros), Tools: registry(t, reads("f", nil)),
		Budget: agentloop.Budget{Tokens: 100}}
	last = end(t, loop.Run(t.Context(), user(strings.Repeat("word ", 100))))
	if last.End != message.EndBudget || loop.Spent().Usage.Input < 125 {
		t.Errorf("zeros: %+v, spent %+v", last, loop.Spent())
	}
}

// TestImplausibleUsage pins that no number a provider tells takes something off what was spent.
func TestImplausibleUsage(t *testing.T) {
	const most = 1 << 40
	type usage = message.Usage
	all := usage{Input: 9, Output: 8, Cached: 9, Reasoning: 8}
	for name, tt := range map[string]struct{ told, want usage }{
		"plausible": {all, all},
		"negative":  {usage{Input: -9, Output: 8, Cached: -1, Reasoning: -1}, usage{Output: 8}},
		"parts above the whole": {
			usage{Input: 9, Output: 8, Cached: 10, Reasoning: 9}, all},
		"the most": {usage{Input: most, Output: most}, usage{Input: most, Output: most}},
		"more":     {usage{Input: most + 1, Output: math.MaxInt64}, usage{Input: most, Output: most}},
	} {
		turn := looptest.Say("ok")
		turn.Message.Usage = &tt.told
		loop := &agentloop.Loop{Model: looptest.NewModel(turn)}
		end(t, loop.Run(t.Context(), user("go")))
		recorded := loop.History()[1].Usage
		if loop.Spent().Usage != tt.want || *recorded != tt.want {
			t.Errorf("%s: spent %+v, recorded %+v", name, loop.Spent().Usage, *recorded)
		}
	}
}

// TestClockSetBack pins that time which was spent stays spent.
func TestClockSetBack(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f := reads("f", func(context.Context, plugins.Call) (plugins.Output, error) {
		now = now.Add(-time.Hour)
		return plugins.Output{Value: []byte("1")}, nil
	})
	loop := &agentloop.Loop{Tools: registry(t, f), Now: func() time.Time { return now },
		Model: looptest.NewModel(looptest.Call(call("a", "f", "")), looptest.Say("ok"))}
	for ev := range loop.Run(t.Context(), user("go")) {
		if wall := loop.Spent().Wall; wall != 0 {
			t.Errorf("%v were spent at %s", wall, ev.Kind)
		}
	}
	now = now.Add(9 * time.Hour) // nothing runs any more
	if wall := loop.Spent().Wall; wall != 0 {
		t.Errorf("%v were spent", wall)
	}
}

// TestRealClock pins that the loop's own clock is the real one, which a test may fake.
func TestRealClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := reads("f", func(context.Context, plugins.Call) (plugins.Output, error) {
			time.Sleep(time.Minute)
			return plugins.Output{Value: []byte("1")}, nil
		})
		loop := &agentloop.Loop{Tools: registry(t, f), Budget: agentloop.Budget{Wall: time.Minute},
			Model: looptest.NewModel(looptest.Call(call("a", "f", "")))}
		if last := end(t, loop.Run(t.Context(), user("go"))); last.End != message.EndBudget {
			t.Errorf("%+v", last)
		}
	})
}
