package abi

import (
	"math"
	"strconv"
)

// DecodeError is bytes that are not what their reader expects there.
type DecodeError struct {
	Offset int    // the first byte of the value that is wrong
	Detail string // what is wrong with it
}

func (e *DecodeError) Error() string {
	return "byte " + strconv.Itoa(e.Offset) + ": " + e.Detail
}

// A Reader reads msgpack values one after the other from a buffer. It is safe on any bytes: it
// never panics, allocates by what is there and never by what is declared, and refuses what nests
// deeper than MaxDepth inside an outermost array or map. Its errors are *DecodeError, and leave the
// reader before the value that it could not read, so that another read may be tried.
//
// The zero Reader is at the end of nothing; NewReader makes one.
type Reader struct {
	b     []byte
	pos   int
	depth int
	left  [MaxDepth + 1]int // values still to come, per open array or map
}

// NewReader returns a reader at the first value of b. What it hands out as bytes aliases b.
func NewReader(b []byte) *Reader { return &Reader{b: b} }

// Offset is where in the buffer the next value begins.
func (r *Reader) Offset() int { return r.pos }

func (r *Reader) fail(detail string) error {
	return &DecodeError{Offset: r.pos, Detail: detail}
}

func (r *Reader) want(what string) error {
	return r.fail("want " + what + ", have " + r.Kind().String())
}

// body returns the body of the next value, one whose body is bytes, and where it ends.
func (r *Reader) body() (b []byte, end int, err error) {
	h, ok := r.header()
	if !ok || h.n > uint64(len(r.b)-r.pos-h.size) {
		return nil, 0, r.fail(r.Kind().String() + " is cut off")
	}
	start := r.pos + h.size
	end = start + int(h.n)
	return r.b[start:end:end], end, nil
}

// take goes on to end, past one value, and closes the arrays and maps that it was the last of.
func (r *Reader) take(end int) {
	r.pos = end
	for r.depth > 0 {
		r.left[r.depth-1]--
		if r.left[r.depth-1] > 0 {
			return
		}
		r.depth--
	}
}

// scalar takes the next value, one whose body is bytes, and returns that body.
func (r *Reader) scalar() ([]byte, error) {
	b, end, err := r.body()
	if err == nil {
		r.take(end)
	}
	return b, err
}

// open takes the header of an array or map and returns its count.
func (r *Reader) open() (int, error) {
	h, ok := r.header()
	switch {
	case !ok:
		return 0, r.fail(r.Kind().String() + " is cut off")
	case h.n > uint64((len(r.b)-r.pos-h.size)/h.per):
		return 0, r.fail(r.Kind().String() + " is longer than the bytes that follow")
	case r.depth == len(r.left):
		return 0, r.fail("arrays and maps nest deeper than " + strconv.Itoa(MaxDepth))
	case h.n == 0:
		r.take(r.pos + h.size)
		return 0, nil
	}
	r.pos += h.size
	r.left[r.depth] = int(h.n) * h.per
	r.depth++
	return int(h.n), nil
}

// Nil reads nil.
func (r *Reader) Nil() error {
	if r.Kind() != KindNil {
		return r.want("nil")
	}
	_, err := r.scalar()
	return err
}

// Bool reads true or false.
func (r *Reader) Bool() (bool, error) {
	if r.Kind() != KindBool {
		return false, r.want("a bool")
	}
	v := r.b[r.pos] == 0xc3
	_, err := r.scalar()
	return v, err
}

// Int reads an integer that an int64 holds.
func (r *Reader) Int() (int64, error) {
	switch r.Kind() {
	case KindInt:
	case KindUint:
		return 0, r.fail("the integer is above the largest 64-bit signed one")
	default:
		return 0, r.want("an integer")
	}
	u, end, err := r.integer()
	if err == nil {
		r.take(end)
	}
	return int64(u), err
}

// Uint reads an integer of 0 or more.
func (r *Reader) Uint() (uint64, error) {
	k := r.Kind()
	if k != KindInt && k != KindUint {
		return 0, r.want("an integer")
	}
	u, end, err := r.integer()
	switch {
	case err != nil:
		return 0, err
	case k == KindInt && int64(u) < 0:
		return 0, r.fail("the integer is below 0")
	}
	r.take(end)
	return u, nil
}

// integer decodes the next value, an integer, and says where it ends; a negative one comes in two's
// complement.
func (r *Reader) integer() (u uint64, end int, err error) {
	c := r.b[r.pos]
	b, end, err := r.body()
	switch {
	case err != nil:
		return 0, 0, err
	case c < 0x80 || c >= 0xe0:
		return uint64(int8(c)), end, nil
	}
	u = bigEndian(b)
	if c >= 0xd0 { // signed: spread the sign over the upper bytes
		shift := 64 - 8*len(b)
		u = uint64(int64(u<<shift) >> shift)
	}
	return u, end, nil
}

// Float reads a float of 32 or 64 bits, and nothing else: an integer is for Int and Uint.
func (r *Reader) Float() (float64, error) {
	if r.Kind() != KindFloat {
		return 0, r.want("a float")
	}
	b, err := r.scalar()
	switch {
	case err != nil:
		return 0, err
	case len(b) == 4:
		return float64(math.Float32frombits(uint32(bigEndian(b)))), nil
	}
	return math.Float64frombits(bigEndian(b)), nil
}

// Str reads a string. It does not check that the bytes are UTF-8.
func (r *Reader) Str() (string, error) {
	b, err := r.StrBytes()
	return string(b), err
}

// StrBytes reads a string and returns its bytes where they lie, without a copy.
func (r *Reader) StrBytes() ([]byte, error) {
	if r.Kind() != KindString {
		return nil, r.want("a string")
	}
	return r.scalar()
}

// Bin reads bin and returns its bytes where they lie, without a copy.
func (r *Reader) Bin() ([]byte, error) {
	if r.Kind() != KindBin {
		return nil, r.want("bin")
	}
	return r.scalar()
}

// Array reads the header of an array and returns how many values follow. Each of them must be read
// or skipped.
func (r *Reader) Array() (int, error) {
	if r.Kind() != KindArray {
		return 0, r.want("an array")
	}
	return r.open()
}

// Map reads the header of a map and returns how many pairs follow. Each key and each value must be
// read or skipped. Keys may be of any kind, and may come twice.
func (r *Reader) Map() (int, error) {
	if r.Kind() != KindMap {
		return 0, r.want("a map")
	}
	return r.open()
}

// Timestamp reads a timestamp: seconds and nanoseconds since the start of 1970.
func (r *Reader) Timestamp() (sec, nsec int64, err error) {
	if r.Kind() != KindTime {
		return 0, 0, r.want("a timestamp")
	}
	b, end, err := r.body()
	if err != nil {
		return 0, 0, err
	}
	sec, nsec, ok := timestamp(b)
	if !ok {
		return 0, 0, r.fail("the timestamp has a wrong length or too many nanoseconds")
	}
	r.take(end)
	return sec, nsec, nil
}

func timestamp(b []byte) (sec, nsec int64, ok bool) {
	switch len(b) {
	case 4:
		return int64(bigEndian(b)), 0, true
	case 8:
		u := bigEndian(b)
		sec, nsec = int64(u&(1<<34-1)), int64(u>>34)
	case 12:
		sec, nsec = int64(bigEndian(b[4:])), int64(bigEndian(b[:4]))
	default:
		return 0, 0, false
	}
	return sec, nsec, nsec < 1e9
}

// Skip reads one value of any kind, with all that is inside it. After an error the reader stands at
// the value inside that is wrong.
func (r *Reader) Skip() error {
	outer := r.depth
	for {
		if r.pos >= len(r.b) || r.b[r.pos] == 0xc1 {
			return r.want("a value")
		}
		var err error
		if h, ok := r.header(); ok && h.per > 0 {
			_, err = r.open()
		} else {
			_, err = r.scalar()
		}
		if err != nil {
			return err
		}
		if r.depth <= outer {
			return nil
		}
	}
}

// Raw reads one value of any kind and returns its bytes where they lie, without a copy.
func (r *Reader) Raw() (Raw, error) {
	start := r.pos
	if err := r.Skip(); err != nil {
		return nil, err
	}
	return Raw(r.b[start:r.pos:r.pos]), nil
}

// End reports bytes that are left.
func (r *Reader) End() error {
	if r.pos < len(r.b) {
		return r.fail("bytes follow the value")
	}
	return nil
}
