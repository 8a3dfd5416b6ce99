package wasi

import (
	"context"
	"encoding/binary"
	"io"
	"math"
	"runtime"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"
)

// Chunk is the most that Spend is told of at once, in bytes, where the work is slow.
const Chunk = 64 << 10

// randomWork is how many bytes can be moved while one random byte is made.
const randomWork = 8

const (
	realtime  = 0
	monotonic = 1
)

var le = binary.LittleEndian

// View is a range of the guest's memory, as it is now. Sizes are computed in 64 bits.
func View(mem api.Memory, ptr, size uint64) ([]byte, bool) {
	if size > math.MaxUint32 {
		return nil, false
	}
	return mem.Read(uint32(ptr), uint32(size))
}

func argsGet(_ context.Context, s *State, mem api.Memory, p []uint64) Errno {
	return putStrings(s, mem, s.Args, p)
}

func argsSizesGet(_ context.Context, s *State, mem api.Memory, p []uint64) Errno {
	return putSizes(mem, s.Args, p)
}

func environGet(_ context.Context, s *State, mem api.Memory, p []uint64) Errno {
	return putStrings(s, mem, s.Env, p)
}

func environSizesGet(_ context.Context, s *State, mem api.Memory, p []uint64) Errno {
	return putSizes(mem, s.Env, p)
}

// size counts a zero after each string.
func size(list []string) (n uint64) {
	for _, v := range list {
		n += uint64(len(v)) + 1
	}
	return n
}

func putSizes(mem api.Memory, list []string, p []uint64) Errno {
	count, ok := View(mem, p[0], 4)
	bytes, ok2 := View(mem, p[1], 4)
	if !ok || !ok2 {
		return Fault
	}
	le.PutUint32(count, uint32(len(list)))
	le.PutUint32(bytes, uint32(size(list)))
	return Success
}

// putStrings writes the strings, each with a zero after it, and where each begins.
func putStrings(s *State, mem api.Memory, list []string, p []uint64) Errno {
	starts, ok := View(mem, p[0], 4*uint64(len(list)))
	bytes, ok2 := View(mem, p[1], size(list))
	if !ok || !ok2 {
		return Fault
	}
	s.spend(len(starts) + len(bytes))
	at := 0
	for n, v := range list {
		le.PutUint32(starts[4*n:], uint32(p[1])+uint32(at))
		at += copy(bytes[at:], v)
		bytes[at] = 0
		at++
	}
	return Success
}

func clockResGet(_ context.Context, s *State, mem api.Memory, p []uint64) Errno {
	resolution := uint64(1)
	switch id := uint32(p[0]); {
	case id > monotonic:
		return Inval
	case s.Fixed != nil:
		resolution = uint64(FixedStep)
	case id == realtime:
		resolution = 1000 // what systems promise; they may do better
	}
	return putUint64(mem, p[1], resolution)
}

func clockTimeGet(_ context.Context, s *State, mem api.Memory, p []uint64) Errno {
	switch uint32(p[0]) {
	case realtime:
		return putUint64(mem, p[2], uint64(s.wall()))
	case monotonic:
		return putUint64(mem, p[2], uint64(s.mono()))
	}
	return Inval
}

func putUint64(mem api.Memory, ptr, v uint64) Errno {
	if !mem.WriteUint64Le(uint32(ptr), v) {
		return Fault
	}
	return Success
}

func randomGet(_ context.Context, s *State, mem api.Memory, p []uint64) Errno {
	b, ok := View(mem, p[0], uint64(uint32(p[1])))
	if !ok {
		return Fault
	}
	for source := s.random(); len(b) > 0; {
		n := min(len(b), Chunk/randomWork)
		s.spend(n * randomWork)
		if _, err := io.ReadFull(source, b[:n]); err != nil {
			return Io
		}
		b = b[n:]
	}
	return Success
}

func schedYield(context.Context, *State, api.Memory, []uint64) Errno {
	runtime.Gosched()
	return Success
}

// procExit ends the call. It leaves the instance open, since that is restored, not thrown away.
func procExit(_ context.Context, _ api.Module, stack []uint64) {
	panic(sys.NewExitError(uint32(stack[0])))
}
