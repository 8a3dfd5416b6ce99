package agentloop

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/tokens"
)

// Budget is what all runs of a loop together may take, with those of its subagents. It is looked at
// before each request to a model, and what is used up parks the run: it ends with
// message.EndBudget, and a Run without input goes on once the budget has been raised. A field's
// zero means no limit of this kind.
type Budget struct {
	Steps   int           // requests to the model
	Tokens  int64         // input and output
	Dollars float64       // needs Prices
	Wall    time.Duration // while it or a subagent is at work
	Prices  Prices
}

// Prices are a model's, in dollars for a million tokens.
type Prices struct {
	Input, Output float64
	Cached        float64 // input that a cache had; 0: as Input
}

// Spent is what runs took.
type Spent struct {
	Steps   int
	Usage   message.Usage
	Dollars float64
	Wall    time.Duration
}

func (b *Budget) check() error {
	p := b.Prices
	switch {
	case b.Steps < 0 || b.Tokens < 0 || b.Wall < 0 || !isPrice(b.Dollars):
		return errors.New("a budget is negative or no number; want 0 for no limit, or more")
	case !isPrice(p.Input) || !isPrice(p.Output) || !isPrice(p.Cached):
		return errors.New("a price is negative or no number")
	case b.Dollars > 0 && p == Prices{}:
		return errors.New("a budget in dollars needs the model's prices, and there are none")
	}
	return nil
}

// isPrice tells NaN and infinities from dollars: with those, no sum ever reaches a budget.
func isPrice(d float64) bool { return d >= 0 && !math.IsInf(d, 1) }

// usedUp names the budget that is used up, or is "".
func (b *Budget) usedUp(s Spent) string {
	used := s.Usage.Input + s.Usage.Output
	switch {
	case b.Steps > 0 && s.Steps >= b.Steps:
		return fmt.Sprintf("the budget of %s is used up", count(b.Steps, "step"))
	case b.Tokens > 0 && used >= b.Tokens:
		return fmt.Sprintf("the budget of %s is used up: %d were taken",
			count(b.Tokens, "token"), used)
	case b.Dollars > 0 && s.Dollars >= b.Dollars:
		return fmt.Sprintf("the budget of $%.2f is used up: $%.4f were spent", b.Dollars, s.Dollars)
	case b.Wall > 0 && s.Wall >= b.Wall:
		return fmt.Sprintf("the budget of %v is used up", b.Wall)
	}
	return ""
}

// count is a number of things in words.
func count[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// dollars is the price of one request.
func (p Prices) dollars(u message.Usage) float64 {
	cached := p.Cached
	if cached == 0 {
		cached = p.Input
	}
	return (float64(u.Input-u.Cached)*p.Input + float64(u.Cached)*cached +
		float64(u.Output)*p.Output) / 1e6
}

// maxUsage is more tokens than any request takes. A number above it is a mistake or a lie, and a
// few of those would be more than an int64 can count.
const maxUsage = 1 << 40

// plausible is the usage that a provider told, as far as it can be true: no number of it lowers
// what was spent, be it negative or a part that is more than the whole.
func plausible(u message.Usage) message.Usage {
	in, out := min(max(u.Input, 0), maxUsage), min(max(u.Output, 0), maxUsage)
	return message.Usage{Input: in, Output: out,
		Cached: min(max(u.Cached, 0), in), Reasoning: min(max(u.Reasoning, 0), out)}
}

// account adds what a request took to what was spent, and gives the usage of all so far. A provider
// that counts no tokens does not get around a budget of tokens or dollars: they are estimated.
func (l *Loop) account(req *message.Request, reply *message.Message) message.Usage {
	var used message.Usage
	switch {
	case reply.Usage != nil && *reply.Usage != message.Usage{}:
		used = *reply.Usage
	case l.countsTokens():
		used.Input = int64(tokens.EstimateRequest(req.Messages, req.Tools))
		used.Output = int64(tokens.EstimateRequest([]message.Message{*reply}, nil))
	}
	l.spend(Spent{Usage: used, Dollars: l.Budget.Prices.dollars(used)})
	return l.Spent().Usage
}

// elapsed is how long the run that is at work has lasted. A clock that was set back takes nothing
// off what was spent.
func (l *Loop) elapsed() time.Duration { return max(l.now().Sub(l.since), 0) }

// clock counts the time until the function that it gives is called: for this loop and those above
// it. What runs side by side is counted once.
func (l *Loop) clock() (stop func()) {
	for a := range l.upwards() {
		a.tick()
	}
	return func() {
		for a := range l.upwards() {
			a.tock()
		}
	}
}

func (l *Loop) tick() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ticking++; l.ticking == 1 {
		l.since = l.now()
	}
}

func (l *Loop) tock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ticking--; l.ticking == 0 {
		l.spent.Wall += l.elapsed()
	}
}

// spend adds to what this loop has spent, and those above it.
func (l *Loop) spend(s Spent) {
	for a := range l.upwards() {
		a.mu.Lock()
		a.spent.Steps += s.Steps
		a.spent.Usage.Add(s.Usage)
		a.spent.Dollars += s.Dollars
		a.mu.Unlock()
	}
}

// usedUp names the budget that is used up, of this loop or one above it, or is "".
func (l *Loop) usedUp() string {
	for a := range l.upwards() {
		if why := a.Budget.usedUp(a.Spent()); why != "" {
			return why
		}
	}
	return ""
}

// countsTokens tells whether a budget needs to know how many there were.
func (l *Loop) countsTokens() bool {
	for a := range l.upwards() {
		if a.Budget.Tokens > 0 || a.Budget.Dollars > 0 {
			return true
		}
	}
	return false
}
