package rewrite

import (
	"fmt"
	"unicode/utf8"
)

// reader walks over the bytes of a module between pos and end. The first failure sticks: it is
// kept in err, pos moves to end, and every later read gives zero. So a parse reads top to bottom
// and looks at err where a loop or an allocation depends on what was read.
type reader struct {
	b        []byte // the whole module, so that offsets are offsets in the file
	pos, end int
	section  string
	function int
	err      *Error

	types    uint32  // how many types there are, for references to one
	features Feature // what was met
}

func (r *reader) fail(at int, limit, detail string) {
	if r.err == nil {
		r.err = &Error{Section: r.section, Function: r.function, Offset: at, Limit: limit, Detail: detail}
	}
	r.pos = r.end
}

func (r *reader) failf(at int, format string, args ...any) {
	r.fail(at, "", fmt.Sprintf(format, args...))
}

func (r *reader) left() int { return r.end - r.pos }

func (r *reader) byte() byte {
	if r.pos >= r.end {
		r.failf(r.pos, "ends in the middle")
		return 0
	}
	c := r.b[r.pos]
	r.pos++
	return c
}

// zero reads a byte that the format reserves.
func (r *reader) zero() {
	at := r.pos
	if r.byte() != 0 {
		r.failf(at, "a reserved byte is not zero")
	}
}

func (r *reader) skip(n int) {
	if n < 0 || n > r.left() {
		r.failf(r.pos, "%d bytes are declared, %d are left", n, r.left())
		return
	}
	r.pos += n
}

func (r *reader) bytes(n uint32) []byte {
	at := r.pos
	r.skip(int(min(uint64(n), 1<<31-1)))
	return r.b[at:r.pos]
}

// uleb reads an unsigned number of at most bits bits.
func (r *reader) uleb(bits uint) uint64 {
	at, v := r.pos, uint64(0)
	for shift := uint(0); shift < bits; shift += 7 {
		c := r.byte()
		if left := bits - shift; left < 7 && c>>left != 0 {
			break
		}
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v
		}
	}
	r.failf(at, "a number of more than %d bits", bits)
	return 0
}

func (r *reader) u32() uint32 {
	if r.pos < r.end && r.b[r.pos] < 0x80 { // nearly all are one byte
		r.pos++
		return uint32(r.b[r.pos-1])
	}
	return uint32(r.uleb(32))
}

// sleb reads a signed number of at most bits bits.
func (r *reader) sleb(bits uint) int64 {
	at, v := r.pos, int64(0)
	for shift := uint(0); shift < bits; shift += 7 {
		c := r.byte()
		if left := bits - shift; left < 7 {
			// The bits that do not fit must repeat the sign.
			if rest := int8(c<<1) >> left; c >= 0x80 || rest != 0 && rest != -1 {
				break
			}
		}
		v |= int64(c&0x7f) << shift
		if c < 0x80 {
			if shift+7 < 64 && c&0x40 != 0 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
	r.failf(at, "a number of more than %d bits", bits)
	return 0
}

// count reads how many items follow, of which each takes at least size bytes, so that no loop and
// no allocation is larger than the module that asked for it.
func (r *reader) count(what string, size int) int {
	at := r.pos
	n := r.u32()
	if uint64(n)*uint64(size) > uint64(r.left()) {
		r.failf(at, "%d %s are declared, %d bytes are left", n, what, r.left())
		return 0
	}
	return int(n)
}

// index reads an index that must be below n.
func (r *reader) index(what string, n uint32) uint32 {
	at := r.pos
	i := r.u32()
	if r.err == nil && i >= n {
		r.failf(at, "%s %d of %d", what, i, n)
		return 0
	}
	return i
}

func (r *reader) name() string {
	at := r.pos
	b := r.bytes(r.u32())
	if !utf8.Valid(b) {
		r.failf(at, "a name is not UTF-8")
		return ""
	}
	return string(b)
}

// valType reads a value type. Types of the GC proposal are refused.
func (r *reader) valType() ValType {
	at := r.pos
	switch t := ValType(r.byte()); t {
	case I32, I64, F32, F64, V128, FuncRef, ExternRef:
		return t
	case ExnRef:
		r.features |= Exceptions
		return t
	case refNull, ref:
		r.features |= TypedReferences
		r.heapType()
		return t
	default:
		if r.err == nil {
			r.failf(at, "unknown value type 0x%02x", byte(t))
		}
		return 0
	}
}

// Heap types as their one-byte numbers read as signed.
const (
	heapFunc   = int64(FuncRef) - 0x80
	heapExtern = int64(ExternRef) - 0x80
	heapExn    = int64(ExnRef) - 0x80
)

// heapType reads what a reference refers to: one of the abstract types, or the index of a type.
func (r *reader) heapType() {
	at := r.pos
	t := r.sleb(33)
	switch {
	case r.err != nil:
	case t >= 0 && t < int64(r.types):
		r.features |= TypedReferences
	case t == heapExn && r.pos == at+1:
		r.features |= Exceptions
	case (t == heapFunc || t == heapExtern) && r.pos == at+1:
	case t >= 0:
		r.failf(at, "type %d of %d", t, r.types)
	default:
		r.failf(at, "unknown heap type %d", t)
	}
}

// blockType reads the type of a block.
func (r *reader) blockType() {
	at := r.pos
	if at < r.end && r.b[at] == byte(blockEmpty) {
		r.pos++
		return
	}
	if at < r.end && r.b[at]&0xc0 == 0x40 { // a negative number of one byte: a value type
		r.valType()
		return
	}
	if t := r.sleb(33); r.err == nil && (t < 0 || t >= int64(r.types)) {
		r.failf(at, "type %d of %d", t, r.types)
	}
}
