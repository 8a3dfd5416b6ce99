package mcpserver

import (
	"context"
	"errors"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// errBusy is a call that found too many others running for too long.
var errBusy = errors.New("the server is busy: too many calls are running; try again later")

// gate bounds how many calls run and how many wait.
type gate struct {
	running *semaphore.Weighted
	waiting atomic.Int64
}

func newGate(calls int) *gate { return &gate{running: semaphore.NewWeighted(int64(calls))} }

// enter waits until a call of the session may run, and gives what ends it. It gives errBusy when
// too many wait already or the wait was too long, and the context's cause when that is over.
func (g *gate) enter(ctx context.Context, s *session) (leave func(), err error) {
	leave = func() {
		g.running.Release(1)
		s.running.Release(1)
	}
	if s.running.TryAcquire(1) {
		if g.running.TryAcquire(1) {
			return leave, nil
		}
		s.running.Release(1)
	}
	if g.waiting.Add(1) > MaxWaiting {
		g.waiting.Add(-1)
		return nil, errBusy
	}
	defer g.waiting.Add(-1)
	ctx, cancel := context.WithTimeoutCause(ctx, MaxWait, errBusy)
	defer cancel()
	if err := s.running.Acquire(ctx, 1); err != nil {
		return nil, context.Cause(ctx)
	}
	if err := g.running.Acquire(ctx, 1); err != nil {
		s.running.Release(1)
		return nil, context.Cause(ctx)
	}
	return leave, nil
}
