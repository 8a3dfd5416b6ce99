package sdk

import (
	"context"
	"errors"
	"runtime/debug"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/plugins"
)

// run is one run of the loop.
type run struct {
	cancel   context.CancelCauseFunc
	steering agentloop.Steering
}

// stop is why a run was ended from outside.
type stop string

func (s stop) Error() string { return string(s) }
func (s stop) Unwrap() error { return context.Canceled }

// interrupt is a run that its caller has ended, whatever the reason is an error of: errors.Is finds
// that, and Code says cancelled.
type interrupt struct{ reason error }

func (i *interrupt) Error() string        { return i.reason.Error() }
func (i *interrupt) Is(target error) bool { return errors.Is(i.reason, target) }
func (i *interrupt) Unwrap() error        { return context.Canceled }

// Input implements Agent.
func (l *Local) Input(ctx context.Context, said ...message.Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.started(); err != nil {
		return err
	}
	if l.run != nil {
		return agentloop.ErrBusy
	}
	if err := l.opened.Loop.CheckInput(said...); err != nil {
		return err
	}
	for i := range said {
		l.journal.tell(Event{Event: message.Event{Kind: message.Said, Message: &said[i]}})
	}
	r := &run{}
	ctx, r.cancel = context.WithCancelCause(ctx)
	l.run = r
	l.work.Go(func() { l.drive(ctx, r, said) })
	return nil
}

// drive has the loop run, and tells of it. However that ends, the agent can take input again before
// anybody hears of the end.
func (l *Local) drive(ctx context.Context, r *run, said []message.Message) {
	last := failure(errors.New("the run has ended, and nobody knows how"))
	defer func() {
		if v := recover(); v != nil {
			last = failure(&plugins.PanicError{Value: v, Stack: debug.Stack()})
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		r.cancel(nil)
		l.run = nil
		l.journal.tell(last)
	}()
	defer context.AfterFunc(ctx, l.journal.wake)()
	loop := l.opened.Loop
	loop.Steering = &r.steering
	for ev, err := range loop.Run(ctx, said...) {
		switch {
		case err != nil:
			last = failure(err)
		case ev.Kind == message.Ended:
			last = Event{Event: ev}
		default:
			l.journal.show(ctx, Event{Event: ev})
		}
	}
}

// failure is the last event of a run that ended in an error.
func failure(err error) Event {
	e := named(err)
	return Event{Event: message.Event{Kind: Failed, Text: e.Error()}, Name: e.Name,
		Code: agentloop.Code(e.Err), Err: e}
}

// Interrupt implements Agent.
func (l *Local) Interrupt(reason error) error {
	if reason == nil {
		reason = stop("it was interrupted")
	}
	r, err := l.atWork()
	if err != nil {
		return err
	}
	r.cancel(&interrupt{reason})
	return nil
}

// Steer implements Agent.
func (l *Local) Steer(said ...message.Message) error {
	r, err := l.atWork()
	if err != nil {
		return err
	}
	return r.steering.Say(said...)
}

// atWork gives the run that is at work.
func (l *Local) atWork() (*run, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.started(); err != nil {
		return nil, err
	}
	if l.run == nil {
		return nil, refuse(agentloop.SdkNotFound, "no run is at work")
	}
	return l.run, nil
}
