package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// A signal that is sent twice at once is one: the second does not end the process the hard way.
func TestSignalTwice(t *testing.T) {
	hold, held := make(chan struct{}), make(chan struct{})
	s := &signals{pause: func(time.Duration) { close(held); <-hold }}
	ctx, stop := s.watch(context.Background())
	defer stop()
	kill := func() {
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
			t.Error(err)
		}
	}
	kill()
	<-held
	kill() // with nobody to take it, this one would end the process

	// It may be on its way still when the command no longer waits for one, so from here on this
	// process takes them all.
	came := make(chan os.Signal, 1)
	signal.Notify(came, syscall.SIGTERM)
	kill()
	<-came
	if ctx.Err() == nil {
		t.Error("the command goes on")
	}
	close(hold)
}
