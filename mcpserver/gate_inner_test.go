package mcpserver

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func enter(t *testing.T, g *gate, l *lane) (leave func()) {
	t.Helper()
	leave, err := g.enter(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	return leave
}

// waits reports whether a call has to wait, and lets it not.
func waits(g *gate, l *lane) bool {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	leave, err := g.enter(ctx, l)
	if err == nil {
		leave()
	}
	return err != nil
}

func TestGateCounts(t *testing.T) {
	g := newGate(3)
	a, b := newLane(2, 9), newLane(2, 9)
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
	if g.waiting != 0 || len(g.turns) != 0 {
		t.Errorf("%d wait, %d turns", g.waiting, len(g.turns))
	}
}

func TestGateWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, l := newGate(1), newLane(2, 9)
		leave := enter(t, g, l)
		time.AfterFunc(MaxWait-1, leave)
		leave, err := g.enter(t.Context(), l)
		if err != nil {
			t.Fatalf("just within the wait: %v", err)
		}
		began := time.Now()
		if _, err := g.enter(t.Context(), l); err != errBusy || time.Since(began) != MaxWait {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		cause := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		if _, err := g.enter(ctx, l); err != cause {
			t.Errorf("cancelled while it waited: %v", err)
		}
		leave()
		if waits(g, l) {
			t.Error("a wait that ended holds a place")
		}
	})
}

// crowd is calls of several sessions that wait at a gate.
type crowd struct {
	t       *testing.T
	g       *gate
	entered []string         // by whom, in order
	refused map[string]int   // by whom
	lanes   map[string]*lane // by whom
}

func newCrowd(t *testing.T, g *gate) *crowd {
	return &crowd{t: t, g: g, refused: map[string]int{}, lanes: map[string]*lane{}}
}

// come has n calls of a session come, one after another. Each leaves as soon as it has entered.
func (c *crowd) come(who string, n, calls, room int) {
	if c.lanes[who] == nil {
		c.lanes[who] = newLane(calls, room)
	}
	for range n {
		go func() {
			leave, err := c.g.enter(c.t.Context(), c.lanes[who])
			if err != nil {
				c.refused[who]++
				return
			}
			c.entered = append(c.entered, who)
			leave()
		}()
		synctest.Wait()
	}
}

// TestGateTakesTurns pins that a session with many calls that wait holds up one with few by one call
// only, and that one at its own limit holds up nobody.
func TestGateTakesTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(2)
		full := newLane(1, 9)
		leaveFull, leave := enter(t, g, full), enter(t, g, newLane(1, 9))
		c := newCrowd(t, g)
		c.lanes["full"] = full
		c.come("full", 1, 0, 0)
		c.come("greedy", 40, 1, 64)
		c.come("modest", 2, 1, 64)
		c.come("other", 1, 1, 64)
		leave()
		synctest.Wait()
		want := []string{"greedy", "modest", "other", "greedy", "modest", "greedy"}
		if len(c.entered) != 43 || !slices.Equal(c.entered[:6], want) {
			t.Errorf("%d entered: %v", len(c.entered), c.entered)
		}
		leaveFull()
		synctest.Wait()
		if c.entered[len(c.entered)-1] != "full" || len(c.refused) > 0 {
			t.Errorf("have %v, refused %v", c.entered, c.refused)
		}
	})
}

// TestGateQueue pins how many calls wait, of a session and of all, and that the session with the
// most makes room for others.
func TestGateQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(1)
		leave := enter(t, g, newLane(1, 0))
		c := newCrowd(t, g)
		c.come("one", MaxSessionWaiting, 1, MaxSessionWaiting)
		if len(c.refused) > 0 {
			t.Errorf("of those that may wait: %v", c.refused)
		}
		c.come("one", 1, 1, MaxSessionWaiting)
		if c.refused["one"] != 1 {
			t.Errorf("one more of a session than may wait: %v", c.refused)
		}
		c.come("many", MaxWaiting-MaxSessionWaiting, 1, MaxSharedWaiting)
		if c.refused["many"] > 0 || g.waiting != MaxWaiting {
			t.Errorf("%d wait, refused %v", g.waiting, c.refused)
		}
		c.come("new", MaxSessionWaiting, 1, MaxSessionWaiting)
		if c.refused["new"] > 0 || c.refused["one"] != 1 || c.refused["many"] != MaxSessionWaiting {
			t.Errorf("the greedy does not make room: %v", c.refused)
		}
		c.come("many", 1, 1, MaxSharedWaiting)
		if c.refused["many"] != MaxSessionWaiting+1 {
			t.Errorf("the greedy comes again: %v", c.refused)
		}
		leave()
		synctest.Wait()
		if len(c.entered) != MaxWaiting || waits(g, newLane(1, 0)) {
			t.Errorf("%d entered", len(c.entered))
		}
	})
}
