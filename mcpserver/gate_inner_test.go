package mcpserver

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func enter(t *testing.T, g *gate, s *session) (leave func()) {
	t.Helper()
	leave, err := g.enter(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return leave
}

// waits reports whether a call has to wait, and lets it not.
func waits(g *gate, s *session) bool {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	leave, err := g.enter(ctx, s)
	if err == nil {
		leave()
	}
	return err != nil
}

func TestGateCounts(t *testing.T) {
	g := newGate(3)
	a, b := newSession(t.Context(), 2), newSession(t.Context(), 2)
	first := enter(t, g, a)
	defer enter(t, g, a)()
	if !waits(g, a) {
		t.Error("a session has a third call of two")
	}
	leaveB := enter(t, g, b)
	if !waits(g, b) {
		t.Error("the server has a fourth call of three")
	}
	leaveB()
	if waits(g, b) {
		t.Error("what was left is not free")
	}
	first()
	if waits(g, a) {
		t.Error("what the session left is not free")
	}
}

func TestGateWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s := newGate(1), newSession(t.Context(), 2)
		leave := enter(t, g, s)
		time.AfterFunc(MaxWait-1, leave)
		leave, err := g.enter(t.Context(), s)
		if err != nil {
			t.Fatalf("just within the wait: %v", err)
		}
		began := time.Now()
		if _, err := g.enter(t.Context(), s); err != errBusy || time.Since(began) != MaxWait {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		cause := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		if _, err := g.enter(ctx, s); err != cause {
			t.Errorf("cancelled while it waited: %v", err)
		}
		leave()
		if waits(g, s) {
			t.Error("a wait that ended holds a place")
		}
	})
}

func TestGateQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s := newGate(1), newSession(t.Context(), 1)
		leave := enter(t, g, s)
		done := make(chan error, MaxWaiting)
		for range MaxWaiting {
			go func() {
				next, err := g.enter(t.Context(), s)
				if err == nil {
					next()
				}
				done <- err
			}()
		}
		synctest.Wait()
		if _, err := g.enter(t.Context(), s); err != errBusy {
			t.Errorf("one more than may wait: %v", err)
		}
		leave()
		for range MaxWaiting {
			if err := <-done; err != nil {
				t.Errorf("one that may wait: %v", err)
			}
		}
		if waits(g, s) {
			t.Error("the places are not free again")
		}
	})
}
