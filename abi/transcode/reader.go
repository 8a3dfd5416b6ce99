package transcode

import (
	"encoding/binary"
	"fmt"
)

// A kind is what a msgpack token is.
type kind uint8

const (
	kindBad     kind = iota // c1
	kindNil                 //
	kindFalse               //
	kindTrue                //
	kindUint                // num
	kindInt                 // num, in two's complement
	kindFloat32             // num, its bits
	kindFloat64             // num, its bits
	kindString              // body
	kindBin                 // body
	kindTime                // body, of 4, 8 or 12 bytes
	kindExt                 // body
	kindArray               // num elements follow
	kindMap                 // num pairs follow
)

// layouts has, for each first byte from c0 to df, the kind, the bytes of the number that follows,
// and the length of an extension that is fixed.
var layouts = [32]struct {
	kind  kind
	size  uint8
	fixed uint8
}{
	{kind: kindNil}, {kind: kindBad}, {kind: kindFalse}, {kind: kindTrue},
	{kindBin, 1, 0}, {kindBin, 2, 0}, {kindBin, 4, 0},
	{kindExt, 1, 0}, {kindExt, 2, 0}, {kindExt, 4, 0},
	{kindFloat32, 4, 0}, {kindFloat64, 8, 0},
	{kindUint, 1, 0}, {kindUint, 2, 0}, {kindUint, 4, 0}, {kindUint, 8, 0},
	{kindInt, 1, 0}, {kindInt, 2, 0}, {kindInt, 4, 0}, {kindInt, 8, 0},
	{kindExt, 0, 1}, {kindExt, 0, 2}, {kindExt, 0, 4}, {kindExt, 0, 8}, {kindExt, 0, 16},
	{kindString, 1, 0}, {kindString, 2, 0}, {kindString, 4, 0},
	{kindArray, 2, 0}, {kindArray, 4, 0}, {kindMap, 2, 0}, {kindMap, 4, 0},
}

// A reader takes msgpack apart, token by token, and keeps count of depth and values.
type reader struct {
	*nest
	in       []byte
	pos      int // the next token
	nodes    int // values so far
	maxNodes int

	// The last token.
	at   int // its first byte
	num  uint64
	body span
}

func (r *reader) fail(format string, args ...any) error {
	return &SyntaxError{Offset: r.at, Detail: fmt.Sprintf(format, args...)}
}

// token reads the next token. What it declares fits into the bytes that follow.
func (r *reader) token() (kind, error) {
	r.at = r.pos
	if r.pos >= len(r.in) {
		return kindBad, r.fail("a value is missing")
	}
	c := r.in[r.pos]
	r.pos++
	switch {
	case c < 0x80:
		r.num = uint64(c)
		return kindUint, nil
	case c >= 0xe0:
		r.num = uint64(int8(c))
		return kindInt, nil
	case c < 0x90:
		return r.collection(kindMap, uint64(c&0x0f))
	case c < 0xa0:
		return r.collection(kindArray, uint64(c&0x0f))
	case c < 0xc0:
		return r.bytes(kindString, uint64(c&0x1f))
	}
	return r.wide(c)
}

// wide reads the rest of a token whose first byte lies from c0 to df.
func (r *reader) wide(c byte) (kind, error) {
	l := &layouts[c&0x1f]
	rest := r.in[r.pos:]
	if len(rest) < int(l.size) {
		return kindBad, r.fail("a value is cut off")
	}
	r.pos += int(l.size)
	switch l.size {
	case 0:
		r.num = uint64(l.fixed)
	case 1:
		r.num = uint64(rest[0])
	case 2:
		r.num = uint64(binary.BigEndian.Uint16(rest))
	case 4:
		r.num = uint64(binary.BigEndian.Uint32(rest))
	case 8:
		r.num = binary.BigEndian.Uint64(rest)
	}
	switch l.kind {
	case kindBad:
		return kindBad, r.fail("byte c1 begins no value")
	case kindInt: // spread the sign over the upper bytes
		shift := 64 - 8*uint(l.size)
		r.num = uint64(int64(r.num<<shift) >> shift)
	case kindString, kindBin:
		return r.bytes(l.kind, r.num)
	case kindArray, kindMap:
		return r.collection(l.kind, r.num)
	case kindExt:
		return r.extension(r.num)
	}
	return l.kind, nil
}

func (r *reader) bytes(k kind, n uint64) (kind, error) {
	if n > uint64(len(r.in)-r.pos) {
		return kindBad, r.fail("%d bytes are declared and %d follow", n, len(r.in)-r.pos)
	}
	r.body = span{r.pos, r.pos + int(n)}
	r.pos = r.body.end
	return k, nil
}

func (r *reader) collection(k kind, n uint64) (kind, error) {
	bytes := n // that many values need at the least
	if k == kindMap {
		bytes *= 2
	}
	if bytes > uint64(len(r.in)-r.pos) {
		return kindBad, r.fail("%d values are declared and %d bytes follow", bytes, len(r.in)-r.pos)
	}
	r.num = n
	return k, nil
}

func (r *reader) extension(n uint64) (kind, error) {
	if r.pos >= len(r.in) {
		return kindBad, r.fail("a value is cut off")
	}
	typ := r.in[r.pos]
	r.pos++
	k, err := r.bytes(kindExt, n)
	if err != nil || typ != 0xff {
		return k, err
	}
	b := r.in[r.body.start:r.body.end]
	switch len(b) {
	case 4, 8, 12:
	default:
		return kindBad, r.fail("a timestamp has %d bytes, not 4, 8 or 12", len(b))
	}
	if _, nsec := timestamp(b); nsec >= 1e9 {
		return kindBad, r.fail("a timestamp has %d nanoseconds", nsec)
	}
	return kindTime, nil
}

// timestamp decodes the body of a timestamp, 4, 8 or 12 bytes, to Unix time.
func timestamp(b []byte) (sec, nsec int64) {
	switch len(b) {
	case 4:
		return int64(binary.BigEndian.Uint32(b)), 0
	case 8:
		u := binary.BigEndian.Uint64(b)
		return int64(u & (1<<34 - 1)), int64(u >> 34)
	}
	return int64(binary.BigEndian.Uint64(b[4:])), int64(binary.BigEndian.Uint32(b))
}

// count counts the last token, a value, and opens it if it is an array or map.
func (r *reader) count(k kind) error {
	r.nodes++
	isArray, isMap := k == kindArray, k == kindMap
	switch {
	case r.nodes > r.maxNodes, (isArray || isMap) && r.num > uint64(r.maxNodes-r.nodes):
		return r.fail("there are more than %d values", r.maxNodes)
	case !isArray && !isMap:
		return nil
	}
	f := r.push(isMap)
	if f == nil {
		return r.fail("arrays and maps nest deeper than %d", MaxDepth)
	}
	f.left = int(r.num)
	if isMap {
		f.left *= 2
	}
	return nil
}

// end reports what follows the outermost value.
func (r *reader) end() error {
	if r.at = r.pos; r.pos < len(r.in) {
		return r.fail("%d bytes follow the value", len(r.in)-r.pos)
	}
	return nil
}
