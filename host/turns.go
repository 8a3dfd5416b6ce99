package host

import (
	"context"
	"sync/atomic"
)

// turns bounds how many guests run at a time. A turn is held only while guest code runs: whoever
// sleeps or waits for the world gives it up meanwhile, and whoever runs for long lets others go
// first now and then, so that slow plugins stall nobody.
type turns struct {
	held    chan struct{}
	waiting *atomic.Int32
}

func newTurns(n int) turns {
	return turns{held: make(chan struct{}, n), waiting: new(atomic.Int32)}
}

// take waits for a turn, no longer than ctx.
func (t turns) take(ctx context.Context) error {
	select {
	case t.held <- struct{}{}:
		return nil
	default:
	}
	t.waiting.Add(1)
	defer t.waiting.Add(-1)
	select {
	case t.held <- struct{}{}:
		return nil
	case <-ctx.Done():
		return cancelled(ctx)
	}
}

func (t turns) give() { <-t.held }

// again takes a turn for a guest that is in the middle of its work. Those that hold one give it up
// within a slice of fuel, so it does not last.
func (t turns) again() {
	t.waiting.Add(1)
	defer t.waiting.Add(-1)
	t.held <- struct{}{}
}

// wanted reports whether somebody waits for a turn. Giving it up lets that one go first.
func (t turns) wanted() bool { return t.waiting.Load() > 0 }
