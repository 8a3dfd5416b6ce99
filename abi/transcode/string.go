package transcode

import (
	"encoding/binary"
	"math"
	"unicode/utf16"
	"unicode/utf8"
)

// quoted reads a string, which must begin here, and returns where its text lies in out.
func (w *writer) quoted() (span, error) {
	at := w.pos
	w.pos++
	ascii := w.run()
	if w.peek() == '"' {
		s := w.in[at+1 : w.pos]
		if !ascii && !utf8.Valid(s) {
			return span{}, w.fail(at, "a string is not UTF-8")
		}
		w.pos++
		w.out = append(appendStringHeader(w.out, len(s)), s...)
		return span{len(w.out) - len(s), len(w.out)}, nil
	}
	return w.escaped(at)
}

// run skips characters that stand for themselves and reports whether they were all ASCII.
func (w *writer) run() (ascii bool) {
	n, ascii := plainLen(w.in[w.pos:])
	w.pos += n
	return ascii
}

// escaped reads a string that began at at and has escapes; the text before the first was skipped.
// The header's length is known last: the text is written behind room for the longest one.
func (w *writer) escaped(at int) (span, error) {
	const room = 5
	header := len(w.out)
	w.out = append(w.out, 0, 0, 0, 0, 0)
	w.out = append(w.out, w.in[at+1:w.pos]...)
	for w.peek() != '"' {
		if w.peek() != '\\' {
			return span{}, w.unexpected("the rest of a string")
		}
		if err := w.escape(); err != nil {
			return span{}, err
		}
		start := w.pos
		w.run()
		w.out = append(w.out, w.in[start:w.pos]...)
	}
	w.pos++
	text := w.out[header+room:]
	if !utf8.Valid(text) {
		return span{}, w.fail(at, "a string is not UTF-8")
	}
	n := len(text)
	start := len(appendStringHeader(w.out[:header], n))
	copy(w.out[start:], text)
	w.out = w.out[:start+n]
	return span{start, start + n}, nil
}

// escape reads one escape, or two that are a surrogate pair, and appends what it stands for.
func (w *writer) escape() error {
	at := w.pos
	w.pos++
	c := w.peek()
	switch c {
	case '"', '\\', '/':
	case 'n':
		c = '\n'
	case 't':
		c = '\t'
	case 'r':
		c = '\r'
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'u':
		return w.unicode(at)
	default:
		return w.unexpected("an escape")
	}
	w.pos++
	w.out = append(w.out, c)
	return nil
}

func (w *writer) unicode(at int) error {
	w.pos = at
	r, ok := w.hex4()
	if !ok {
		return w.noJSON(at, "an escape \\u lacks its four digits")
	}
	if utf16.IsSurrogate(r) {
		low, _ := w.hex4()
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			return w.fail(at, "an escape is half of a surrogate pair")
		}
	}
	w.out = utf8.AppendRune(w.out, r)
	return nil
}

// hex4 reads \u and four hexadecimal digits.
func (w *writer) hex4() (r rune, ok bool) {
	b := w.in[w.pos:]
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		switch {
		case c-'0' < 10:
			r = r<<4 | rune(c-'0')
		case c|0x20-'a' < 6:
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	w.pos += 6
	return r, true
}

func appendStringHeader(out []byte, n int) []byte {
	switch {
	case n < 32:
		return append(out, 0xa0|byte(n))
	case n <= math.MaxUint8:
		return append(out, 0xd9, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(out, 0xda), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(out, 0xdb), uint32(n))
}
