package wasi

import (
	"context"
	"math"
	"time"

	"github.com/tetratelabs/wazero/api"
)

// MaxSubscriptions is how much one poll_oneoff may wait for.
const MaxSubscriptions = 4096

const (
	subscriptionSize = 48
	eventSize        = 32

	eventClock = 0
	eventRead  = 1
	eventWrite = 2

	clockAbsolute = 1     // flag: the timeout is a time, not a duration
	streamRoom    = Chunk // bytes that a stream for output says it takes
	hangup        = 1     // flag: a stream for input is at its end
)

// pollOneoff waits until the first subscription is due and tells all that are. A descriptor is
// always due: a stream never blocks, and what is not open is an error. So only clocks wait.
func pollOneoff(ctx context.Context, s *State, mem api.Memory, p []uint64) Errno {
	count := uint64(uint32(p[2]))
	if count == 0 || count > MaxSubscriptions {
		return Inval
	}
	in, ok := View(mem, p[0], count*subscriptionSize)
	out, ok2 := View(mem, p[1], count*eventSize)
	told, ok3 := View(mem, p[3], 4)
	if !ok || !ok2 || !ok3 {
		return Fault
	}
	s.spend(len(in) + len(out))
	polling := poll{ctx: ctx, state: s, mem: mem, wall: s.wall(), mono: s.mono()}
	first := time.Duration(math.MaxInt64)
	for n := uint64(0); n < count; n++ {
		e, ok := polling.event(in[n*subscriptionSize:])
		if !ok {
			return Inval
		}
		first = min(first, e.due)
	}
	if first > 0 {
		s.wait(ctx, first)
	}
	events := 0
	for n := uint64(0); n < count; n++ {
		if e, ok := polling.event(in[n*subscriptionSize:]); ok && e.due <= first {
			e.put(out[events*eventSize:])
			events++
		}
	}
	le.PutUint32(told, uint32(events))
	return Success
}

// poll is one call, and the time at its start.
type poll struct {
	ctx        context.Context
	state      *State
	mem        api.Memory
	wall, mono int64
}

// event answers a subscription.
type event struct {
	user  uint64
	kind  uint8
	errno Errno
	room  uint64
	flags uint16
	due   time.Duration // from the start of the call
}

// event says what a subscription's answer will be and when. It reads the guest's memory: a guest
// that lets its lists overlap gets what it asked for.
func (p *poll) event(sub []byte) (e event, ok bool) {
	e = event{user: le.Uint64(sub), kind: sub[8]}
	switch e.kind {
	case eventClock:
		e.due, e.errno = p.clock(sub)
	case eventRead, eventWrite:
		e.errno = p.descriptor(&e, le.Uint32(sub[16:]))
	default:
		return e, false
	}
	return e, true
}

func (p *poll) clock(sub []byte) (time.Duration, Errno) {
	now := p.mono
	switch le.Uint32(sub[16:]) {
	case realtime:
		now = p.wall
	case monotonic:
	default:
		return 0, Inval
	}
	timeout := int64(min(le.Uint64(sub[24:]), math.MaxInt64))
	switch le.Uint16(sub[40:]) {
	case 0:
	case clockAbsolute:
		timeout = max(0, timeout-now)
	default:
		return 0, Inval
	}
	return time.Duration(timeout), Success
}

func (p *poll) descriptor(e *event, fd uint32) Errno {
	if fd >= FirstFile {
		return p.state.file(p.ctx, p.mem, "poll_oneoff", []uint64{uint64(fd)}, Badf)
	}
	st, ok := p.state.stream(fd)
	switch {
	case !ok, (st == stdin) != (e.kind == eventRead):
		return Badf
	case st == stdin && len(p.state.Stdin) > 0:
		e.room = uint64(len(p.state.Stdin))
	case st == stdin:
		e.flags = hangup
	default:
		e.room = streamRoom
	}
	return Success
}

func (e *event) put(b []byte) {
	b = b[:eventSize]
	clear(b)
	le.PutUint64(b, e.user)
	le.PutUint16(b[8:], uint16(e.errno))
	b[10] = e.kind
	le.PutUint64(b[16:], e.room)
	le.PutUint16(b[24:], e.flags)
}
