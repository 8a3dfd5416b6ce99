package main

import (
	"context"
	"fmt"
)

// checkEvery is how many steps pass between two looks at whether the caller has given up.
const checkEvery = 1 << 14

var errSteps = fmt.Errorf("the filter took more than %d steps; it may loop for ever", maxSteps)

// budget ends a filter after maxSteps or when the caller cancels. The interpreter asks its
// context's Done before every instruction, and so Done is where the steps are counted.
type budget struct {
	context.Context
	cancelled func() bool
	steps     int
	err       error
	done      chan struct{}
}

func newBudget(cancelled func() bool) *budget {
	return &budget{
		Context:   context.Background(),
		cancelled: cancelled,
		done:      make(chan struct{}),
	}
}

// Done counts one step.
func (b *budget) Done() <-chan struct{} {
	b.steps++
	switch {
	case b.err != nil:
	case b.steps > maxSteps:
		b.stop(errSteps)
	case b.steps%checkEvery == 0 && b.cancelled():
		b.stop(context.Canceled)
	}
	return b.done
}

// Err says why the filter was stopped.
func (b *budget) Err() error { return b.err }

func (b *budget) stop(err error) {
	b.err = err
	close(b.done)
}
