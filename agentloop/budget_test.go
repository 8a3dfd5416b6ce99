package agentloop_test

import (
	"context"
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

// TestUncountedTokens pins that a provider which counts nothing does not get around a budget.
func TestUncountedTokens(t *testing.T) {
	model := looptest.NewModel(looptest.Call(call("a", "f", "")), looptest.Say("ok"))
	loop := &agentloop.Loop{Model: model, Tools: registry(t, reads("f", nil)),
		Budget: agentloop.Budget{Tokens: 100}}
	last := end(t, loop.Run(t.Context(), user(strings.Repeat("word ", 100))))
	if last.End != message.EndBudget || loop.Spent().Usage.Input < 125 {
		t.Errorf("%+v, spent %+v", last, loop.Spent())
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
