package transcode

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"
)

// AppendMsgpack appends the msgpack form of the JSON text b, of at most MaxNodes values and
// MaxDepth arrays and objects inside one another, each value in its shortest form. It returns a
// *CarriageError, and dst as it was, for what is not JSON or cannot be carried without loss: text
// that is not UTF-8, lone surrogates, duplicate keys, integers past 64 bits, numbers past the
// largest float64.
func AppendMsgpack(dst, b []byte) ([]byte, error) {
	w := writer{nest: newNest(MaxDepth), in: b, out: dst}
	defer w.release()
	if err := w.text(); err != nil {
		return dst, err
	}
	return w.out, nil
}

// A writer turns JSON text into msgpack. Of an array or object that is open, the header is one byte
// of a short one; closeValue makes it the right one once the values are counted.
type writer struct {
	*nest
	in    []byte
	pos   int // the next byte of the text
	nodes int // values so far
	out   []byte
}

func (w *writer) fail(at int, format string, args ...any) error {
	return &CarriageError{Offset: at, Pointer: w.pointer(w.out), Detail: fmt.Sprintf(format, args...)}
}

// noJSON is text that breaks JSON's grammar, where fail is also what cannot be carried.
func (w *writer) noJSON(at int, format string, args ...any) error {
	return w.fail(at, "not JSON: "+format, args...)
}

// text turns all of the text.
func (w *writer) text() error {
	w.space()
	for {
		opened, err := w.item()
		if err != nil {
			return err
		}
		w.space()
		if opened && !w.atClose() {
			continue
		}
		for w.depth > 0 && w.atClose() {
			w.pos++
			w.closeValue()
			w.space()
		}
		switch {
		case w.depth == 0 && w.pos < len(w.in):
			return w.noJSON(w.pos, "there is text after the value")
		case w.depth == 0:
			return nil
		case w.peek() != ',':
			return w.unexpected("a comma or the end of the " + w.top().noun())
		}
		w.pos++
		w.space()
	}
}

func (f *frame) noun() string {
	if f.isMap {
		return "object"
	}
	return "array"
}

// peek is the next byte of the text, or 0 at its end, which no token begins with either.
func (w *writer) peek() byte {
	if w.pos < len(w.in) {
		return w.in[w.pos]
	}
	return 0
}

func (w *writer) unexpected(want string) error {
	if w.pos >= len(w.in) {
		return w.noJSON(w.pos, "the text ends where %s should be", want)
	}
	r, _ := utf8.DecodeRune(w.in[w.pos:])
	return w.noJSON(w.pos, "there is %q where %s should be", r, want)
}

func (w *writer) space() {
	if w.peek() > ' ' { // as in most text: short enough to be inlined
		return
	}
	w.spaces()
}

func (w *writer) spaces() {
	for w.pos < len(w.in) {
		switch w.in[w.pos] {
		case ' ', '\t', '\n', '\r':
			w.pos++
		default:
			return
		}
	}
}

func (w *writer) atClose() bool { return w.peek() == closer(w.top().isMap) }

// item reads one element, or one key and its value, and reports whether that opened an array or
// object.
func (w *writer) item() (opened bool, err error) {
	switch {
	case w.depth == 0:
	case w.top().isMap:
		if err := w.key(); err != nil {
			return false, err
		}
	default:
		w.top().begun++
	}
	if w.nodes++; w.nodes > MaxNodes {
		return false, w.fail(w.pos, "there are more than %d values", MaxNodes)
	}
	switch c := w.peek(); c {
	case '{', '[':
		return true, w.openValue(c == '{')
	case '"':
		_, err = w.quoted()
	case 't':
		err = w.word("true", 0xc3)
	case 'f':
		err = w.word("false", 0xc2)
	case 'n':
		err = w.word("null", 0xc0)
	default:
		err = w.number()
	}
	return false, err
}

// key reads a key and its colon.
func (w *writer) key() error {
	at := w.pos
	w.noKey()
	if w.peek() != '"' {
		return w.unexpected("a key in quotes")
	}
	k, err := w.quoted()
	if err != nil {
		return err
	}
	if !w.addKey(w.out, k) {
		detail := w.duplicate(w.out)
		w.noKey()
		return w.fail(at, "%s", detail)
	}
	w.space()
	if w.peek() != ':' {
		return w.unexpected("a colon")
	}
	w.pos++
	w.space()
	return nil
}

func (w *writer) openValue(isMap bool) error {
	f := w.push(isMap)
	if f == nil {
		return w.fail(w.pos, "arrays and objects nest deeper than %d", MaxDepth)
	}
	w.pos++
	f.header = len(w.out)
	w.out = append(w.out, 0)
	return nil
}

// closeValue closes the innermost array or object: its header learns the count and, above 15,
// grows.
func (w *writer) closeValue() {
	f := w.top()
	w.pop()
	short, long := byte(0x90), byte(0xdc)
	if f.isMap {
		short, long = 0x80, 0xde
	}
	grow := 0
	switch {
	case f.begun < 16:
		w.out[f.header] = short | byte(f.begun)
		return
	case f.begun <= math.MaxUint16:
		grow = 2
	default:
		grow, long = 4, long+1
	}
	w.out = append(w.out, 0, 0, 0, 0)[:len(w.out)+grow]
	header := w.out[f.header:]
	copy(header[1+grow:], header[1:])
	header[0] = long
	if grow == 2 {
		binary.BigEndian.PutUint16(header[1:], uint16(f.begun))
	} else {
		binary.BigEndian.PutUint32(header[1:], uint32(f.begun))
	}
}

func (w *writer) word(s string, code byte) error {
	if rest := w.in[w.pos:]; len(rest) < len(s) || string(rest[:len(s)]) != s {
		return w.unexpected("a value")
	}
	w.pos += len(s)
	w.out = append(w.out, code)
	return nil
}
