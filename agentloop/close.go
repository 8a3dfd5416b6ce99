package agentloop

import "errors"

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

// closers end what runs leave at work. Every part of a loop that does so has a line here.
func (l *Loop) closers() []func() error {
	return []func() error{
		l.closeJobs,
		l.closeSubagents,
	}
}
