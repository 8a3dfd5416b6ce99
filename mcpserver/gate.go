package mcpserver

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// errBusy is a call that found too many others running for too long.
var errBusy = errors.New("the server is busy: too many calls are running; try again later")

// gate bounds how many calls run and how many wait. A place that gets free goes to the sessions in
// turns, however many calls of each wait, and when too many wait, those of the session with the most
// make room: nobody keeps others out by asking more.
type gate struct {
	mu      sync.Mutex
	free    int // places for calls that run
	waiting int
	turns   []*lane // those with calls that wait; the first is the next
}

// lane is one session's way through a gate.
type lane struct {
	free  int            // calls of it that may still begin to run
	room  int            // how many may wait
	queue []chan<- error // each gets nil when it may run, or why not; it has room for that
}

func newGate(calls int) *gate { return &gate{free: calls} }

func newLane(calls, waiting int) *lane { return &lane{free: calls, room: waiting} }

// enter waits until a call of the session may run, and gives what ends it. It gives errBusy when
// too many wait already or the wait was too long, and the context's cause when that is over.
func (g *gate) enter(ctx context.Context, l *lane) (leave func(), err error) {
	leave = func() { g.leave(l) }
	turn, err := g.queue(l)
	if turn == nil {
		return leave, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, MaxWait, errBusy)
	defer cancel()
	select {
	case err = <-turn:
		return leave, err
	case <-ctx.Done():
	}
	if !g.giveUp(l, turn) && <-turn == nil {
		leave() // its turn came at the same moment
	}
	return nil, context.Cause(ctx)
}

// queue gives a call its place in the queue, or nil when it may run at once or not at all.
func (g *gate) queue(l *lane) (turn chan error, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.free > 0 && l.free > 0 {
		g.free--
		l.free--
		return nil, nil
	}
	if len(l.queue) == l.room || g.waiting == MaxWaiting && !g.makeRoom(len(l.queue)) {
		return nil, errBusy
	}
	turn = make(chan error, 1)
	if len(l.queue) == 0 {
		g.turns = append(g.turns, l)
	}
	l.queue = append(l.queue, turn)
	g.waiting++
	return turn, nil
}

// makeRoom sends away the newest call of the session with the most calls that wait, if that leaves
// it no fewer than the one has that wants to come in, with so many now. The lock is held.
func (g *gate) makeRoom(now int) bool {
	most := slices.MaxFunc(g.turns, func(a, b *lane) int { return len(a.queue) - len(b.queue) })
	last := len(most.queue) - 1
	if last <= now {
		return false
	}
	most.queue[last] <- errBusy
	most.queue = most.queue[:last]
	g.waiting--
	return true
}

// giveUp takes a call out of the queue and reports whether it was there.
func (g *gate) giveUp(l *lane, turn chan<- error) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(l.queue, turn)
	if i < 0 {
		return false
	}
	l.queue = slices.Delete(l.queue, i, i+1)
	g.waiting--
	if len(l.queue) == 0 {
		g.turns = slices.DeleteFunc(g.turns, func(other *lane) bool { return other == l })
	}
	return true
}

// leave frees a call's place and lets in whose turn it is.
func (g *gate) leave(l *lane) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.free++
	l.free++
	for g.free > 0 {
		i := slices.IndexFunc(g.turns, func(l *lane) bool { return l.free > 0 })
		if i < 0 {
			return
		}
		next := g.turns[i]
		g.turns = slices.Delete(g.turns, i, i+1)
		next.queue[0] <- nil
		next.queue = next.queue[1:]
		g.waiting--
		g.free--
		next.free--
		if len(next.queue) > 0 {
			g.turns = append(g.turns, next)
		}
	}
}
