package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// secondSignal is how soon after the first a signal is taken for the same one: some programs send it
// twice at once, to the process and to its group, as timeout does.
const secondSignal = 250 * time.Millisecond

// signals turns an interrupt or a request to end into the end of the command. After that, a second
// one ends the process the hard way. A command that has something smaller to end takes interrupts
// for itself.
type signals struct {
	mu    sync.Mutex
	taken func() bool
	pause func(time.Duration) // nil: time.Sleep
}

// take has interrupts given to f first, until release. One that f does not want (false) ends the
// command.
func (s *signals) take(f func() bool) (release func()) {
	s.set(f)
	return func() { s.set(nil) }
}

func (s *signals) set(f func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = f
}

func (s *signals) isTaken(sig os.Signal) bool {
	s.mu.Lock()
	f := s.taken
	s.mu.Unlock()
	return sig == os.Interrupt && f != nil && f()
}

// watch gives a context that ends with the first signal that nobody takes.
func (s *signals) watch(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	came := make(chan os.Signal, 1)
	signal.Notify(came, os.Interrupt, syscall.SIGTERM)
	go func() {
		defer signal.Stop(came)
		for {
			select {
			case sig := <-came:
				if !s.isTaken(sig) {
					cancel(&endError{sig.String() + " signal received", context.Canceled})
					pause := s.pause
					if pause == nil {
						pause = time.Sleep
					}
					pause(secondSignal)
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}
