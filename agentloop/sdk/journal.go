package sdk

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/message"
)

// journal numbers events, keeps the last ones and gives them to listeners.
type journal struct {
	keep     int  // events
	lockstep bool // see Options.Lockstep

	mu        sync.Mutex
	moved     sync.Cond // there is something new, or a listener has come on
	ring      []Event   // the kept ones: number n is at (n-1) % keep
	last      int64     // the number of the last event
	listeners map[*listener]struct{}
	heard     int64 // the number up to which those heard who are gone
	freed     bool  // nobody is waited for any more
	closed    bool  // nothing more comes
}

// listener is somebody who hears events. It is given one after another, and is done with one when
// it asks for the next.
type listener struct{ given, done int64 }

func newJournal(keep int, lockstep bool) *journal {
	j := &journal{keep: keep, lockstep: lockstep, listeners: map[*listener]struct{}{}}
	j.moved.L = &j.mu
	return j
}

// tell adds an event.
func (j *journal) tell(ev Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.add(ev)
}

// show adds an event of a run and, in lockstep, waits until it has been heard: by all who listen,
// or, as long as ctx is not over, by somebody who comes.
func (j *journal) show(ctx context.Context, ev Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := j.add(ev)
	for j.lockstep && !j.freed && !j.isHeard(n) {
		if len(j.listeners) == 0 && ctx.Err() != nil {
			return
		}
		j.moved.Wait()
	}
}

func (j *journal) add(ev Event) int64 {
	j.last++
	ev.Seq = j.last
	if len(j.ring) < j.keep {
		j.ring = append(j.ring, ev)
	} else {
		j.ring[(ev.Seq-1)%int64(j.keep)] = ev
	}
	j.moved.Broadcast()
	return ev.Seq
}

func (j *journal) isHeard(n int64) bool {
	for l := range j.listeners {
		if l.done < n {
			return false
		}
	}
	return len(j.listeners) > 0 || j.heard >= n
}

// wake has all who wait look again.
func (j *journal) wake() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.moved.Broadcast()
}

// free has nobody waited for any more.
func (j *journal) free() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.freed = true
	j.moved.Broadcast()
}

// close says that nothing more comes.
func (j *journal) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	j.moved.Broadcast()
}

// events is what a listener hears after an event.
func (j *journal) events(ctx context.Context, after int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		l, err := j.join(after)
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer j.part(l)
		defer context.AfterFunc(ctx, j.wake)()
		for {
			ev, err := j.next(ctx, l)
			if !yield(ev, err) || err != nil {
				return
			}
		}
	}
}

func (j *journal) join(after int64) (*listener, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if after < 0 || after > j.last {
		return nil, refuse(agentloop.SdkInvalidArgument,
			"there is no event %d to listen after; the last one is %d", after, j.last)
	}
	l := &listener{given: after, done: after}
	j.listeners[l] = struct{}{}
	return l, nil
}

func (j *journal) part(l *listener) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.listeners, l)
	j.heard = max(j.heard, l.given)
	j.moved.Broadcast()
}

// next waits for the next event of a listener, which is done with the one before.
func (j *journal) next(ctx context.Context, l *listener) (Event, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	l.done = l.given
	j.moved.Broadcast()
	for l.given == j.last && !j.closed && ctx.Err() == nil {
		j.moved.Wait()
	}
	switch {
	case ctx.Err() != nil:
		return Event{}, fmt.Errorf("listening was stopped: %w", context.Cause(ctx))
	case l.given == j.last:
		return Event{}, errClosed
	}
	if lost := j.last - int64(len(j.ring)) - l.given; lost > 0 {
		l.given += lost
		return Event{Seq: l.given, Event: message.Event{Kind: Missed,
			Text: fmt.Sprintf("events that were not heard in time and are not kept: %d", lost)}}, nil
	}
	l.given++
	return j.ring[(l.given-1)%int64(j.keep)], nil
}

// errClosed is what an agent says that has been closed.
var errClosed = &agentloop.SdkError{Name: agentloop.SdkClosed,
	Err: errors.New("the agent has been closed")}
