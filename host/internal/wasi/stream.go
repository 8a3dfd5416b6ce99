package wasi

import (
	"context"
	"math"

	"github.com/tetratelabs/wazero/api"
)

// MaxVectors is how many pieces one fd_write or fd_read moves; more are left for the next. Guests
// must expect that anyway.
const MaxVectors = 1024

const (
	// VectorSize is the bytes of a range in a list of them.
	VectorSize = 8
	vectorWork = 64 // bytes that can be moved while a vector is looked at
)

// Of a standard stream's fdstat and filestat.
const (
	// characterDevice makes C libraries write line by line, so that a message that a guest printed
	// before it trapped is seen.
	characterDevice = 2

	flagAppend   = 1 << 0
	flagNonblock = 1 << 2

	rightRead    = 1 << 1
	rightFlags   = 1 << 3
	rightSync    = 1 << 4
	rightWrite   = 1 << 6
	rightStat    = 1 << 21
	rightPoll    = 1 << 27
	rightsStream = rightFlags | rightSync | rightStat | rightPoll

	fdstatSize   = 24
	filestatSize = 64
)

func fdClose(s *State, _ stream, _ api.Memory, p []uint64) Errno {
	s.streams[uint32(p[0])] = descriptor{stream: closed}
	return Success
}

// fdRenumber moves a descriptor onto another, which both must be open.
func fdRenumber(ctx context.Context, s *State, mem api.Memory, p []uint64) Errno {
	from, to := uint32(p[0]), uint32(p[1])
	if from >= FirstFile && to >= FirstFile {
		return s.file(ctx, mem, "fd_renumber", p, Badf)
	}
	if from >= FirstFile || to >= FirstFile {
		if s.Files == nil {
			return Badf
		}
		return Notsup // a file cannot become a stream, nor a stream a file
	}
	st, ok := s.stream(from)
	if _, ok2 := s.stream(to); !ok || !ok2 {
		return Badf
	}
	if from != to {
		s.streams[to] = descriptor{st, s.streams[from].flags}
		s.streams[from] = descriptor{stream: closed}
	}
	return Success
}

func fdFdstatGet(s *State, st stream, mem api.Memory, p []uint64) Errno {
	b, ok := View(mem, p[1], fdstatSize)
	if !ok {
		return Fault
	}
	rights := uint64(rightsStream | rightWrite)
	if st == stdin {
		rights = rightsStream | rightRead
	}
	clear(b)
	b[0] = characterDevice
	le.PutUint16(b[2:], s.streams[uint32(p[0])].flags)
	le.PutUint64(b[8:], rights)
	return Success
}

// fdFdstatSetFlags remembers flags until the call ends. They change nothing: a stream here never
// blocks, and all writing appends.
func fdFdstatSetFlags(s *State, _ stream, _ api.Memory, p []uint64) Errno {
	flags := uint32(p[1])
	if flags&^(flagAppend|flagNonblock) != 0 {
		return Inval
	}
	s.streams[uint32(p[0])].flags = uint16(flags)
	return Success
}

func fdFilestatGet(_ *State, _ stream, mem api.Memory, p []uint64) Errno {
	b, ok := View(mem, p[1], filestatSize)
	if !ok {
		return Fault
	}
	clear(b)
	b[16] = characterDevice
	le.PutUint64(b[24:], 1) // links
	return Success
}

func fdRead(s *State, st stream, mem api.Memory, p []uint64) Errno {
	if st != stdin {
		return Badf
	}
	vecs, e := Vectors(mem, p[1], p[2], s.spend)
	if e != Success {
		return e
	}
	result, ok := View(mem, p[3], 4)
	if !ok {
		return Fault
	}
	read := 0
	for ; len(vecs) > 0 && len(s.Stdin) > 0; vecs = vecs[VectorSize:] {
		b, ok := mem.Read(le.Uint32(vecs), le.Uint32(vecs[4:]))
		if !ok {
			break // the vectors lie in memory that was just written
		}
		s.spend(min(len(b), len(s.Stdin)))
		n := copy(b, s.Stdin)
		s.Stdin = s.Stdin[n:]
		read += n
	}
	le.PutUint32(result, uint32(read))
	return Success
}

func fdWrite(s *State, st stream, mem api.Memory, p []uint64) Errno {
	w := s.Stdout
	switch st {
	case stdin:
		return Badf
	case stderr:
		w = s.Stderr
	}
	vecs, e := Vectors(mem, p[1], p[2], s.spend)
	if e != Success {
		return e
	}
	result, ok := View(mem, p[3], 4)
	if !ok {
		return Fault
	}
	written := uint32(0)
	for ; len(vecs) > 0; vecs = vecs[VectorSize:] {
		b, ok := mem.Read(le.Uint32(vecs), le.Uint32(vecs[4:]))
		if !ok || uint64(written)+uint64(len(b)) > math.MaxUint32 {
			break // the vectors lie in memory that the last write changed, or go on for ever
		}
		s.spend(len(b))
		if w != nil && len(b) > 0 {
			if _, err := w.Write(b); err != nil {
				return Io
			}
		}
		written += uint32(len(b))
	}
	le.PutUint32(result, written)
	return Success
}

// Vectors is the list of ranges at a pointer, cut to MaxVectors: pointer and length of each, 32
// bits each. All that it names lies in memory. What the list costs is spent first.
func Vectors(mem api.Memory, ptr, count uint64, spend func(bytes int)) ([]byte, Errno) {
	if _, ok := View(mem, ptr, uint64(uint32(count))*VectorSize); !ok {
		return nil, Fault
	}
	list, _ := View(mem, ptr, min(uint64(uint32(count)), MaxVectors)*VectorSize)
	spend(len(list) / VectorSize * vectorWork)
	for v := list; len(v) > 0; v = v[VectorSize:] {
		if _, ok := mem.Read(le.Uint32(v), le.Uint32(v[4:])); !ok {
			return nil, Fault
		}
	}
	return list, Success
}
