package wasi

import (
	"math"
	"math/rand/v2"
	"time"
)

// Clock is the time of an engine, in nanoseconds. It is safe for concurrent use.
type Clock struct {
	begin time.Time
	after int64
}

var processClock = NewClock(0)

// NewClock starts a clock whose monotonic time is later than after: the latest value that any
// snapshot saw, 0 if there is none.
func NewClock(after int64) *Clock { return &Clock{time.Now(), after} }

// Mono never goes back and is above zero: guests take zero for a clock that does not work.
func (c *Clock) Mono() int64 { return add(c.after, int64(time.Since(c.begin))+1) }

// Wall is the time since 1970, and not before.
func (c *Clock) Wall() int64 { return max(0, time.Now().UnixNano()) }

// FixedStep is how much time passes, in nanoseconds, each time that a guest reads a fixed clock: a
// guest that waits for time to pass goes on.
const FixedStep = int64(time.Microsecond)

// Fixed is time and randomness that are the same in every run. Sleeping takes no time; the clock
// just moves. It belongs to one State. A copy made before it was used starts where it does.
type Fixed struct {
	Wall int64    // nanoseconds since 1970 at the start
	Mono int64    // the monotonic clock at the start, in nanoseconds
	Seed [32]byte // of the randomness

	passed int64
	random rand.ChaCha8
	seeded bool
}

// Fork is what the clones of a snapshot start with, when f is what the photographed instance used:
// the present of f, and randomness that follows on what f gave.
func (f *Fixed) Fork() Fixed {
	next := Fixed{Wall: add(f.Wall, f.passed), Mono: add(f.Mono, f.passed)}
	_, _ = f.Read(next.Seed[:])
	return next
}

// Read gives the next random bytes. It cannot fail.
func (f *Fixed) Read(b []byte) (int, error) {
	if !f.seeded {
		f.random.Seed(f.Seed)
		f.seeded = true
	}
	return f.random.Read(b)
}

func (f *Fixed) reset() { f.passed, f.seeded = 0, false }

func (f *Fixed) pass(d time.Duration) { f.passed = add(f.passed, int64(d)) }

func (f *Fixed) mono() int64 {
	f.pass(time.Duration(FixedStep))
	return add(f.Mono, f.passed)
}

func (f *Fixed) wall() int64 {
	f.pass(time.Duration(FixedStep))
	return add(f.Wall, f.passed)
}

// add stays at the end of time.
func add(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
