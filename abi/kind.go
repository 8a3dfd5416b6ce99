package abi

// A Kind is what the next value of a Reader is.
type Kind uint8

const (
	KindEnd    Kind = iota // no bytes are left
	KindNil                //
	KindBool               //
	KindInt                // an integer that an int64 holds
	KindUint               // a larger one, that only a uint64 holds
	KindFloat              // 32 or 64 bits
	KindString             //
	KindBin                //
	KindArray              //
	KindMap                //
	KindTime               // a timestamp
	KindExt                // any other extension
	KindBad                // a byte that begins no value, or an integer that is cut off
)

var kindNames = [...]string{"nothing", "nil", "a bool", "an integer", "an integer", "a float",
	"a string", "bin", "an array", "a map", "a timestamp", "an extension", "no msgpack"}

// String says what k is in words that fit an error's text, such as "an array".
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// Kind is what the next value is. The value may still turn out to be cut off.
func (r *Reader) Kind() Kind {
	if r.pos >= len(r.b) {
		return KindEnd
	}
	switch c := r.b[r.pos]; {
	case c < 0x80 || c >= 0xe0:
		return KindInt
	case c < 0x90 || c == 0xde || c == 0xdf:
		return KindMap
	case c < 0xa0 || c == 0xdc || c == 0xdd:
		return KindArray
	case c < 0xc0 || c >= 0xd9 && c <= 0xdb:
		return KindString
	case c == 0xc0:
		return KindNil
	case c == 0xc2 || c == 0xc3:
		return KindBool
	case c >= 0xc4 && c <= 0xc6:
		return KindBin
	case c == 0xca || c == 0xcb:
		return KindFloat
	case c == 0xcf:
		return r.uint64Kind()
	case c >= 0xcc && c <= 0xd3:
		return KindInt
	case c == 0xc1:
		return KindBad
	}
	return r.extKind()
}

func (r *Reader) uint64Kind() Kind {
	switch {
	case len(r.b)-r.pos < 2:
		return KindBad
	case r.b[r.pos+1] >= 0x80:
		return KindUint
	}
	return KindInt
}

func (r *Reader) extKind() Kind {
	if h, ok := r.header(); ok && r.b[r.pos+h.size-1] == extTime {
		return KindTime
	}
	return KindExt
}

// header is the first bytes of a value: all of it but the body that n counts.
type header struct {
	size int    // bytes, an extension's type included
	n    uint64 // bytes of a body, values of an array, pairs of a map
	per  int    // values for each of n: 0 for a body of bytes, 1 for an array, 2 for a map
}

// header reads the header of the next value, which must have one byte or more.
func (r *Reader) header() (header, bool) {
	c := r.b[r.pos]
	switch {
	case c < 0x80 || c >= 0xe0:
		return header{size: 1}, true
	case c < 0x90:
		return header{1, uint64(c & 0x0f), 2}, true
	case c < 0xa0:
		return header{1, uint64(c & 0x0f), 1}, true
	case c < 0xc0:
		return header{1, uint64(c & 0x1f), 0}, true
	}
	l := layouts[c&0x1f]
	size := 1 + int(l.count) + int(l.typ)
	if len(r.b)-r.pos < size || c == 0xc1 {
		return header{}, false
	}
	if l.count == 0 {
		return header{size, uint64(l.body), 0}, true
	}
	return header{size, bigEndian(r.b[r.pos+1 : r.pos+1+int(l.count)]), int(l.per)}, true
}

// layouts has, for each first byte from 0xc0 to 0xdf, the bytes of its count, whether an
// extension's type follows, the length of a body that has no count, and the values for each of its
// count.
var layouts = [32]struct{ count, typ, body, per uint8 }{
	0x04: {count: 1}, 0x05: {count: 2}, 0x06: {count: 4}, // bin
	0x07: {count: 1, typ: 1}, 0x08: {count: 2, typ: 1}, 0x09: {count: 4, typ: 1}, // ext
	0x0a: {body: 4}, 0x0b: {body: 8}, // float
	0x0c: {body: 1}, 0x0d: {body: 2}, 0x0e: {body: 4}, 0x0f: {body: 8}, // uint
	0x10: {body: 1}, 0x11: {body: 2}, 0x12: {body: 4}, 0x13: {body: 8}, // int
	0x14: {typ: 1, body: 1}, 0x15: {typ: 1, body: 2}, 0x16: {typ: 1, body: 4}, // fixext
	0x17: {typ: 1, body: 8}, 0x18: {typ: 1, body: 16},
	0x19: {count: 1}, 0x1a: {count: 2}, 0x1b: {count: 4}, // string
	0x1c: {count: 2, per: 1}, 0x1d: {count: 4, per: 1}, // array
	0x1e: {count: 2, per: 2}, 0x1f: {count: 4, per: 2}, // map
}
