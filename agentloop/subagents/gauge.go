package subagents

import "sync/atomic"

// Gauge counts the subagents that run in a whole tree of agents. The zero value is ready; it is
// safe for concurrent use.
type Gauge struct{ n atomic.Int64 }

// Acquire takes a place when fewer than most are taken, else gives a *ConcurrencyError. It never
// waits. The caller calls Release when the subagent has ended, in whatever way.
func (g *Gauge) Acquire(most int) error {
	for {
		n := g.n.Load()
		if n >= int64(most) {
			return &ConcurrencyError{most}
		}
		if g.n.CompareAndSwap(n, n+1) {
			return nil
		}
	}
}

// Release gives a place back.
func (g *Gauge) Release() {
	if g.n.Add(-1) < 0 {
		panic("subagents: a place was given back that was not taken")
	}
}

// Running is how many places are taken.
func (g *Gauge) Running() int { return int(g.n.Load()) }
