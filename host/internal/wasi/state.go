package wasi

import (
	"context"
	"crypto/rand"
	"io"
	"time"

	"github.com/tetratelabs/wazero/api"
)

// State is what one instance's functions know. The zero State is usable: no arguments, no
// environment, output discarded, real time and randomness, no files. It belongs to the goroutine
// that runs the instance.
type State struct {
	Args []string
	Env  []string // NAME=value

	Stdin []byte // what is still to be read

	Stdout io.Writer // nil discards; must not keep the bytes, which are the guest's memory
	Stderr io.Writer

	Clock  *Clock    // nil: one for the whole process
	Random io.Reader // nil: crypto/rand
	Fixed  *Fixed    // not nil: in place of Clock, Random and Wait

	// Wait lets time pass for a guest that sleeps. It returns nil when d is over, or early to wake
	// the guest early; an error ends the guest: it is what the call's function returns, wrapped by
	// wazero. Nil: waits for d or the end of ctx.
	Wait func(ctx context.Context, d time.Duration) error

	// Spend is told of each call, with 0, and of how many bytes are about to be moved. It may panic
	// to end the guest. Nil: free.
	Spend func(bytes uint64)

	Files Files // nil: none

	streams [FirstFile]descriptor
}

// FirstFile is the first descriptor that is not a standard stream.
const FirstFile = 3

// Files serves what a guest does with paths, and with descriptors from FirstFile on.
type Files interface {
	// Call is a function of WASI by its name, with its parameters as in the specification. What it
	// answers besides the error number it writes to mem, after checking every range. A path's
	// descriptor may be any. For poll_oneoff params is one descriptor, and the question is whether
	// that is open: files are always ready. fd_renumber is asked only for two descriptors from
	// FirstFile on.
	Call(ctx context.Context, mem api.Memory, function string, params []uint64) Errno

	// Reset closes what the last call opened. The preopened directories stay.
	Reset()
}

// Reset makes the State what it was before its first call.
func (s *State) Reset() {
	s.streams = [FirstFile]descriptor{}
	if s.Fixed != nil {
		s.Fixed.reset()
	}
	if s.Files != nil {
		s.Files.Reset()
	}
}

// descriptor is one of the three standard ones. Zero is as it was at first.
type descriptor struct {
	stream stream
	flags  uint16
}

type stream uint8

const (
	itself stream = iota // number 0 is stdin, 1 stdout, 2 stderr
	stdin
	stdout
	stderr
	closed
)

// stream of an open descriptor below FirstFile.
func (s *State) stream(fd uint32) (stream, bool) {
	if fd >= FirstFile {
		return closed, false
	}
	st := s.streams[fd].stream
	if st == itself {
		st = stdin + stream(fd)
	}
	return st, st != closed
}

// file hands a call on.
func (s *State) file(
	ctx context.Context, mem api.Memory, name string, params []uint64, none Errno) Errno {
	if s.Files == nil {
		return none
	}
	return s.Files.Call(ctx, mem, name, params)
}

func (s *State) spend(bytes int) {
	if s.Spend != nil {
		s.Spend(uint64(bytes))
	}
}

func (s *State) random() io.Reader {
	switch {
	case s.Fixed != nil:
		return s.Fixed
	case s.Random != nil:
		return s.Random
	}
	return rand.Reader
}

func (s *State) mono() int64 {
	if s.Fixed != nil {
		return s.Fixed.mono()
	}
	return s.clock().Mono()
}

func (s *State) wall() int64 {
	if s.Fixed != nil {
		return s.Fixed.wall()
	}
	return s.clock().Wall()
}

func (s *State) clock() *Clock {
	if s.Clock != nil {
		return s.Clock
	}
	return processClock
}

// wait returns when d is over, or does not return.
func (s *State) wait(ctx context.Context, d time.Duration) {
	if s.Fixed != nil {
		s.Fixed.pass(d)
		return
	}
	wait := s.Wait
	if wait == nil {
		wait = sleep
	}
	if err := wait(ctx, d); err != nil {
		panic(err)
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
