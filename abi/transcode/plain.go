package transcode

import (
	"encoding/binary"
	"math/bits"
)

// Text is looked at eight bytes at a time: a word whose lowest byte is the first of them.
const (
	ones = 0x0101010101010101 // a byte times ones is a word full of it
	tops = 0x80 * ones
)

// plainLen is how many bytes of b, from its beginning, stand for themselves inside a JSON string,
// and whether all of those are ASCII. All but control characters, quotes and backslashes do.
func plainLen(b []byte) (n int, ascii bool) {
	var seen uint64
	for len(b)-n >= 8 {
		w := binary.LittleEndian.Uint64(b[n:])
		if stop := special(w); stop != 0 {
			return plainEnd(n, seen, w, stop)
		}
		seen |= w
		if n += 8; n == 16 { // a long text
			n, seen = plainBlocks(b, n, seen)
		}
	}
	w := tail(b[n:])
	return plainEnd(n, seen, w, special(w))
}

// plainBlocks goes on for plainLen as long as all is plain, by four words, which need not wait for
// one another.
func plainBlocks(b []byte, n int, seen uint64) (int, uint64) {
	for ; len(b)-n >= 32; n += 32 {
		p := b[n : n+32]
		w0, w1 := binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[8:])
		w2, w3 := binary.LittleEndian.Uint64(p[16:]), binary.LittleEndian.Uint64(p[24:])
		if special(w0)|special(w1)|special(w2)|special(w3) != 0 {
			break
		}
		seen |= w0 | w1 | w2 | w3
	}
	return n, seen
}

// plainEnd ends a run of n bytes, all together seen, in the word w that stop marks.
func plainEnd(n int, seen, w, stop uint64) (int, bool) {
	before := bits.TrailingZeros64(stop) &^ 7 // bits of w
	return n + before/8, (seen|w&(1<<before-1))&tops == 0
}

// special marks, by its top bit, the first byte of w that does not stand for itself. It tells by
// what becomes less than 0: of the bytes below 0x80 only a backslash is 0 after its xor, and the
// xor with 2 puts the quote in the space's place, next to the control characters. Marks above the
// first may be wrong, since a byte that is marked borrows from the next.
func special(w uint64) uint64 {
	control := w ^ 2*ones - (' '+1)*ones
	slash := w ^ '\\'*ones - ones
	return (control | slash) &^ w & tops
}

// tail is the word of b's bytes, fewer than eight; the others are 0, a control character.
func tail(b []byte) uint64 {
	switch n := len(b); {
	case n >= 4: // the two halves may overlap
		last := uint64(binary.LittleEndian.Uint32(b[n-4:])) << (8 * (n - 4))
		return uint64(binary.LittleEndian.Uint32(b)) | last
	case n > 0: // the first, the middle and the last, which may be the same
		return uint64(b[0]) | uint64(b[n/2])<<(8*(n/2)) | uint64(b[n-1])<<(8*(n-1))
	}
	return 0
}
