package main

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestCloseOrder(t *testing.T) {
	var order []int
	a := &app{ctx: t.Context()}
	for i := range 3 {
		a.atEnd = append(a.atEnd, func() { order = append(order, i) })
	}
	a.close()
	if want := []int{2, 1, 0}; !slices.Equal(order, want) {
		t.Errorf("closed in the order %v, want %v", order, want)
	}
}

// A command that was interrupted does not wait for what cannot be stopped; one that ended by itself
// does.
func TestCloseWaits(t *testing.T) {
	for _, c := range []struct {
		name  string
		early bool
		want  time.Duration
	}{{"interrupted", true, closeGrace}, {"done", false, time.Minute}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			if c.early {
				cancel()
			}
			defer cancel()
			a := &app{ctx: ctx, atEnd: []func(){func() { time.Sleep(time.Minute) }}}
			start := time.Now()
			a.close()
			if took := time.Since(start); took != c.want {
				t.Errorf("%s: took %v, want %v", c.name, took, c.want)
			}
			time.Sleep(time.Minute) // in the test's own time: what was left behind ends too
		})
	}
}
