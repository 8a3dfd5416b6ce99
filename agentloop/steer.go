package agentloop

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// MaxSteering is how many messages may wait to be taken by a run.
const MaxSteering = 64

// Steering lets a user say something to a run that is at work. It is for one run and takes what is
// said from the start on, also before the run has begun; see Loop.Steering. Its zero value is
// ready, and it is safe for concurrent use.
type Steering struct {
	mu      sync.Mutex
	waiting []message.Message
	over    bool
}

// Say adds messages to the conversation before the next request to the model, never between a call
// and its result. A run that has come to its answer meanwhile goes on with them; one that ends in
// another way records them as its last messages, for the next run.
//
// The error is an *SdkError: SdkInvalidArgument for messages that are not a user's, SdkBusy when
// more than MaxSteering would wait, SdkNotFound when the run has ended.
func (s *Steering) Say(said ...message.Message) error {
	if err := checkSaid(said); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over:
		return &SdkError{SdkNotFound, errors.New("the run has ended; begin another one")}
	case len(said) == 0:
		return &SdkError{SdkInvalidArgument, errors.New("nothing is said")}
	case len(s.waiting)+len(said) > MaxSteering:
		return &SdkError{SdkBusy, errors.New("the run has not taken what was said before; " +
			count(len(s.waiting), "message") + " wait already")}
	}
	s.waiting = append(s.waiting, said...)
	return nil
}

// take gives what waits, and with last takes nothing more after that.
func (s *Steering) take(last bool) (said []message.Message) {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	said, s.waiting = s.waiting, nil
	s.over = s.over || last
	return said
}

// finish reports whether nothing waits. Then nothing more is taken.
func (s *Steering) finish() bool {
	if s == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = len(s.waiting) == 0
	return s.over
}

// hear makes what the user has said meanwhile part of the conversation.
func (r *run) hear(ctx context.Context, said []message.Message) error {
	if len(said) == 0 {
		return nil
	}
	err := r.loop.add(ctx, said...)
	for i := range said {
		r.emit(message.Event{Kind: message.Said, Message: &said[i]})
	}
	return err
}

// leave records what the user has said and the run has not taken. Calls that are left open come
// first: until they have their results it is kept for the next run.
func (r *run) leave(ctx context.Context) error {
	l, said := r.loop, r.loop.Steering.take(true)
	if len(l.open) > 0 {
		l.unheard = slices.Concat(l.unheard, said)
		return nil
	}
	return r.hear(ctx, said)
}

// catchUp records what the run before had to leave.
func (r *run) catchUp(ctx context.Context) error {
	said := r.loop.unheard
	r.loop.unheard = nil
	return r.hear(ctx, said)
}
