package host

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// reader walks a module's bytes. Its first error stays; after it everything reads as zero. It
// allocates nothing from a declared count.
type reader struct {
	b   []byte
	at  int // where b began in the file, for errors
	pos int
	err error
}

var errCut = errors.New("ends in the middle")

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = fmt.Errorf("at byte %d: %w", r.at+r.pos, err)
		r.pos = len(r.b)
	}
}

func (r *reader) done() bool { return r.pos == len(r.b) }

func (r *reader) byte() byte {
	if r.pos == len(r.b) {
		r.fail(errCut)
		return 0
	}
	r.pos++
	return r.b[r.pos-1]
}

// uint reads an unsigned LEB128 number of at most 64 bits.
func (r *reader) uint() uint64 {
	var v uint64
	for shift := 0; shift < 64; shift += 7 {
		c := r.byte()
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v
		}
	}
	r.fail(errors.New("a number of more than 64 bits"))
	return 0
}

// index reads a number that must fit 32 bits.
func (r *reader) index() uint32 {
	v := r.uint()
	if v > 1<<32-1 {
		r.fail(errors.New("a number of more than 32 bits"))
		return 0
	}
	return uint32(v)
}

// atMost reads a vector's length, which the remaining bytes must be able to hold.
func (r *reader) atMost(max int) int {
	n := r.uint()
	if n > uint64(max) {
		r.fail(fmt.Errorf("%d entries, the limit is %d", n, max))
		return 0
	}
	if n > uint64(len(r.b)-r.pos) {
		r.fail(fmt.Errorf("%d entries declared, %d bytes left", n, len(r.b)-r.pos))
		return 0
	}
	return int(n)
}

// sized reads a length and gives a reader of that many bytes.
func (r *reader) sized() *reader {
	n := r.uint()
	if n > uint64(len(r.b)-r.pos) {
		r.fail(fmt.Errorf("%d bytes declared, %d left", n, len(r.b)-r.pos))
		return &reader{err: r.err}
	}
	r.pos += int(n)
	return &reader{b: r.b[r.pos-int(n) : r.pos], at: r.at + r.pos - int(n)}
}

func (r *reader) name() string {
	s := r.sized()
	if !utf8.Valid(s.b) {
		r.fail(errors.New("a name that is not UTF-8"))
		return ""
	}
	return string(s.b)
}
