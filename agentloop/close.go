package agentloop

import (
	"errors"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// ErrClosed is a Run of a Loop that has been closed.
var ErrClosed error = &SdkError{"closed", errors.New("the loop is closed")}

// Close ends what runs have left at work, which goes on when they end: background jobs and
// subagents in the background. It returns when that has ended. A loop that has none of it needs no
// Close. It may be called twice; a Run after it gives ErrClosed. While a run is at work it is
// refused with ErrBusy, and ends nothing.
func (l *Loop) Close() error {
	if !l.running.CompareAndSwap(false, true) {
		return ErrBusy
	}
	defer l.running.Store(false)
	l.closed = true
	var all []error
	for _, end := range l.closers() {
		all = append(all, end())
	}
	return errors.Join(all...)
}

// Untold gives, once, what no run has told: what became of background jobs and subagents since the
// last one ended. After Close it is the last there is. While a run is at work it is the run that
// tells.
func (l *Loop) Untold() (events []message.Event) {
	for _, job := range l.jobChanges() {
		events = append(events, message.Event{Kind: message.JobChanged, Job: &job})
	}
	for ev, ok := l.tree.inbox.Next(); ok; ev, ok = l.tree.inbox.Next() {
		events = append(events, ev)
	}
	return events
}

// closers end what runs leave at work. Every part of a loop that does so has a line here.
func (l *Loop) closers() []func() error {
	return []func() error{
		l.closeJobs,
		l.closeSubagents,
	}
}
