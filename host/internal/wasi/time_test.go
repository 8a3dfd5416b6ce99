package wasi

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

const at = 1_000 // where the tests put subscriptions; events go to 0, their number to 900

// subscribe writes subscription n.
func (g *guest) subscribe(n uint32, kind byte, what uint32, timeout uint64, flags uint16) {
	p := at + n*subscriptionSize
	g.mem.Write(p, make([]byte, subscriptionSize))
	g.mem.WriteUint64Le(p, uint64(100+n))
	g.mem.WriteByte(p+8, kind)
	g.mem.WriteUint32Le(p+16, what)
	g.mem.WriteUint64Le(p+24, timeout)
	g.mem.WriteUint16Le(p+40, flags)
}

type told struct {
	user  uint64
	errno uint16
	kind  byte
	room  uint64
	flags uint16
}

func (g *guest) poll(n uint32) (all []told) {
	g.t.Helper()
	g.want(Success, "poll_oneoff", at, 0, uint64(n), 900)
	for e := range g.u32(900) {
		p := e * eventSize
		errno, _ := g.mem.ReadUint16Le(p + 8)
		kind, _ := g.mem.ReadByte(p + 10)
		flags, _ := g.mem.ReadUint16Le(p + 24)
		all = append(all, told{g.u64(p), errno, kind, g.u64(p + 16), flags})
	}
	return all
}

// TestPoll: real waits on a clock that the test drives.
func TestPoll(t *testing.T) {
	second := uint64(time.Second)
	type sub struct {
		kind    byte
		what    uint32
		timeout uint64
		flags   uint16
	}
	for _, c := range []struct {
		name   string
		subs   []sub
		waited time.Duration
		want   []told
	}{
		{"a second", []sub{{eventClock, monotonic, second, 0}}, time.Second, []told{{user: 100}}},
		{"no time", []sub{{eventClock, monotonic, 0, 0}}, 0, []told{{user: 100}}},
		{"wall clock", []sub{{eventClock, realtime, second, 0}}, time.Second, []told{{user: 100}}},
		{"the earliest of three", []sub{{eventClock, monotonic, 3 * second, 0},
			{eventClock, realtime, second, 0}, {eventClock, monotonic, second, 0}},
			time.Second, []told{{user: 101}, {user: 102}}},
		{"a moment to come", []sub{{eventClock, monotonic, 5 * second, clockAbsolute}},
			4 * time.Second, []told{{user: 100}}},
		{"a moment gone", []sub{{eventClock, realtime, second, clockAbsolute}}, 0,
			[]told{{user: 100}}},
		{"unknown clock", []sub{{eventClock, 2, second, 0}}, 0,
			[]told{{user: 100, errno: uint16(Inval)}}},
		{"unknown flag", []sub{{eventClock, 1, second, 2}}, 0,
			[]told{{user: 100, errno: uint16(Inval)}}},
		{"stdin", []sub{{eventRead, 0, 0, 0}}, 0,
			[]told{{user: 100, kind: eventRead, flags: hangup}}},
		{"stdin with a timeout", []sub{{eventClock, monotonic, second, 0}, {eventRead, 0, 0, 0}}, 0,
			[]told{{user: 101, kind: eventRead, flags: hangup}}},
		{"stdout and stderr", []sub{{eventWrite, 1, 0, 0}, {eventWrite, 2, 0, 0}}, 0,
			[]told{{100, 0, eventWrite, streamRoom, 0}, {101, 0, eventWrite, streamRoom, 0}}},
		{"the wrong way", []sub{{eventRead, 1, 0, 0}, {eventWrite, 0, 0, 0}}, 0,
			[]told{{100, uint16(Badf), eventRead, 0, 0}, {101, uint16(Badf), eventWrite, 0, 0}}},
		{"not open", []sub{{eventRead, 7, 0, 0}, {eventWrite, math.MaxUint32, 0, 0}}, 0,
			[]told{{100, uint16(Badf), eventRead, 0, 0}, {101, uint16(Badf), eventWrite, 0, 0}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// The clock reads one second at the call.
				g := newGuest(t, &State{Clock: NewClock(int64(time.Second) - 1)})
				for n, s := range c.subs {
					g.subscribe(uint32(n), s.kind, s.what, s.timeout, s.flags)
				}
				began := time.Now()
				got := g.poll(uint32(len(c.subs)))
				if waited := time.Since(began); waited != c.waited {
					t.Errorf("waited %v, want %v", waited, c.waited)
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("told %v, want %v", got, c.want)
				}
			})
		})
	}
}

func TestPollRefuses(t *testing.T) {
	g := newGuest(t, &State{})
	g.mem.Grow(4)
	g.subscribe(0, eventClock, monotonic, 0, 0)
	end := uint64(g.mem.Size())
	g.want(Inval, "poll_oneoff", at, 0, 0, 900)
	g.want(Fault, "poll_oneoff", end-47, 0, 1, 900)
	g.want(Fault, "poll_oneoff", at, end-31, 1, 900)
	g.want(Fault, "poll_oneoff", at, 0, 1, end-3)
	g.want(Success, "poll_oneoff", end-48, 0, 1, 900)
	g.want(Success, "poll_oneoff", at, 0, MaxSubscriptions, 900) // memory of zeroes: clocks at zero
	g.want(Inval, "poll_oneoff", at, 0, MaxSubscriptions+1, 900)
	g.want(Inval, "poll_oneoff", at, 0, math.MaxUint32, 900)
	g.subscribe(0, 3, 0, 0, 0)
	g.want(Inval, "poll_oneoff", at, 0, 1, 900)
}

// TestPollFiles: an open file is always ready.
func TestPollFiles(t *testing.T) {
	g := newGuest(t, &State{Files: new(fakeFiles)})
	g.subscribe(0, eventClock, monotonic, uint64(time.Hour), 0)
	g.subscribe(1, eventRead, FirstFile, 0, 0)
	g.subscribe(2, eventWrite, FirstFile+1, 0, 0)
	want := []told{{user: 101, kind: eventRead}, {user: 102, errno: uint16(Badf), kind: eventWrite}}
	if got := g.poll(3); !slices.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
}

// TestPollOverItself lets the list of events lie on the list of subscriptions.
func TestPollOverItself(t *testing.T) {
	g := newGuest(t, &State{})
	for n := range uint32(8) {
		g.subscribe(n, eventClock, monotonic, 0, 0)
	}
	for off := range uint64(100) {
		g.call("poll_oneoff", at, at-50+off, 8, 900)
	}
}

// TestDeadlineEndsASleep: a guest that sleeps for an hour ends when its call's time is over.
func TestDeadlineEndsASleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		g := newGuest(t, &State{})
		g.ctx = ctx
		g.subscribe(0, eventClock, monotonic, uint64(time.Hour), 0)
		began := time.Now()
		defer func() {
			err, _ := recover().(error)
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
				t.Fatalf("%v after %v", err, time.Since(began))
			}
		}()
		g.call("poll_oneoff", at, 0, 1, 900)
	})
}

// TestWaitIsTheHosts: the host sees each wait, may wake the guest early or end it.
func TestWaitIsTheHosts(t *testing.T) {
	stop := errors.New("stop")
	var seen []time.Duration
	var answer error
	g := newGuest(t, &State{Wait: func(_ context.Context, d time.Duration) error {
		seen = append(seen, d)
		return answer
	}})
	g.subscribe(0, eventClock, monotonic, uint64(time.Hour), 0)
	if got := g.poll(1); !slices.Equal(got, []told{{user: 100}}) {
		t.Fatalf("woken early: %v", got)
	}
	g.subscribe(0, eventClock, monotonic, math.MaxUint64, 0)
	answer = stop
	defer func() {
		if recover() != stop {
			t.Error("the guest went on")
		}
		if !slices.Equal(seen, []time.Duration{time.Hour, math.MaxInt64}) {
			t.Errorf("waits %v", seen)
		}
	}()
	g.call("poll_oneoff", at, 0, 1, 900)
}

func TestClockFunctions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuest(t, &State{Clock: NewClock(41)})
		now := func() uint64 {
			g.want(Success, "clock_time_get", monotonic, 0, 0)
			return g.u64(0)
		}
		if now() != 42 {
			t.Errorf("begins at %d", now())
		}
		time.Sleep(time.Second)
		if now() != uint64(time.Second)+42 {
			t.Errorf("a second later %d", now())
		}
		g.want(Success, "clock_time_get", realtime, 0, 0)
		if g.u64(0) != uint64(time.Now().UnixNano()) {
			t.Errorf("wall %d", g.u64(0))
		}
		g.want(Success, "clock_res_get", realtime, 0)
		g.want(Success, "clock_res_get", monotonic, 8)
		if g.u64(0) != 1000 || g.u64(8) != 1 {
			t.Errorf("resolutions %d %d", g.u64(0), g.u64(8))
		}
		g.want(Inval, "clock_time_get", 2, 0, 0)
		g.want(Inval, "clock_res_get", math.MaxUint32, 0)
		g.want(Fault, "clock_time_get", realtime, 0, pageSize-7)
		g.want(Fault, "clock_res_get", realtime, pageSize-7)
	})
}

// TestClockGoesOn: neither a new instance nor a new clock shows a time that a snapshot already saw.
func TestClockGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewClock(0)
		if c.Mono() <= 0 {
			t.Fatal("a guest takes zero for a broken clock")
		}
		time.Sleep(time.Hour)
		saw := c.Mono()
		if next := NewClock(saw).Mono(); next <= saw {
			t.Fatalf("%d after %d", next, saw)
		}
		if NewClock(math.MaxInt64).Mono() != math.MaxInt64 {
			t.Fatal("past the end of time")
		}
	})
}

func TestFixed(t *testing.T) {
	start := Fixed{Wall: 1_000_000, Mono: 5_000, Seed: [32]byte{1}}
	mine := start
	g := newGuest(t, &State{Fixed: &mine, Wait: func(context.Context, time.Duration) error {
		t.Error("a fixed clock waits")
		return nil
	}})
	read := func() (wall, mono uint64, random string) {
		g.want(Success, "clock_time_get", realtime, 0, 0)
		g.want(Success, "clock_time_get", monotonic, 0, 8)
		g.want(Success, "random_get", 16, 8)
		return g.u64(0), g.u64(8), g.text(16, 8)
	}
	w1, m1, r1 := read()
	if w1 != uint64(1_000_000+FixedStep) || m1 != uint64(5_000+2*FixedStep) {
		t.Fatalf("begins at %d and %d", w1, m1)
	}
	g.subscribe(0, eventClock, monotonic, uint64(time.Hour), 0)
	g.poll(1)
	_, m2, r2 := read()
	if m2 < m1+uint64(time.Hour) || m2 > m1+uint64(time.Hour+time.Millisecond) || r1 == r2 {
		t.Fatalf("an hour later %d, random %q after %q", m2, r2, r1)
	}
	fork := mine.Fork()
	g.state.Reset()
	if w, m, r := read(); w != w1 || m != m1 || r != r1 {
		t.Fatal("a second call differs")
	}
	g.state.Fixed = &fork
	for range 2 {
		if _, m, r := read(); m <= m2 || r == r1 || r == r2 {
			t.Fatalf("a clone reads %d after %d, random %q", m, m2, r)
		}
		g.state.Reset()
	}
	g.want(Success, "clock_res_get", monotonic, 0)
	if g.u64(0) != uint64(FixedStep) {
		t.Fatal("resolution of a fixed clock")
	}
	fork.pass(math.MaxInt64)
	if fork.mono() != math.MaxInt64 || fork.wall() != math.MaxInt64 {
		t.Fatal("past the end of time")
	}
}
