package host

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// How much of a guest's stderr errors and stats show, in bytes: its beginning, since a run-time
// that gives up says why and then prints every stack it has, and its end.
const (
	headBytes = 1 << 10
	tailBytes = 3 << 10
)

// stream is a guest's stdout or stderr. It never fails and never blocks: what is past the limit is
// counted and forgotten.
type stream struct {
	stderr bool
	limit  int64 // bytes handed on
	sink   func(stderr bool, b []byte)
	clean  func(string) string // takes secrets out of a line; nil: there are none
	line   []byte              // that is not yet at its end, when there is something to clean
	passed int64
	total  int
	head   []byte // the first headBytes, of stderr only
	tail   []byte // what follows, at least its last tailBytes
}

// reset begins anew.
func (s *stream) reset(limit int64, sink func(stderr bool, b []byte), clean func(string) string) {
	*s = stream{stderr: s.stderr, limit: limit, sink: sink, clean: clean,
		head: s.head[:0], tail: s.tail[:0]}
}

// How much of a line is waited for before secrets are looked for in it, and how much of it is then
// kept for what may have begun at its end, in bytes: the longest secret, percent-encoded, fits.
const (
	maxLine  = 64 << 10
	heldBack = 32 << 10
)

func (s *stream) Write(b []byte) (int, error) {
	if s.clean == nil {
		s.pass(b)
		return len(b), nil
	}
	s.line = append(s.line, b...)
	if end := bytes.LastIndexByte(s.line, '\n') + 1; end > 0 {
		whole := s.clean(string(s.line[:end]))
		s.line = append(s.line[:0], s.line[end:]...)
		s.pass([]byte(whole))
	} else if len(s.line) > maxLine {
		clean := s.clean(string(s.line))
		end := max(len(clean)-heldBack, 0)
		s.line = append(s.line[:0], clean[end:]...)
		s.pass([]byte(clean[:end]))
	}
	return len(b), nil
}

// flush passes on a line that has no end.
func (s *stream) flush() {
	if len(s.line) > 0 {
		whole := s.clean(string(s.line))
		s.line = nil
		s.pass([]byte(whole))
	}
}

func (s *stream) pass(b []byte) {
	if room := s.limit - s.passed; room > 0 && s.sink != nil {
		part := bytes.Clone(b[:min(int64(len(b)), room)]) // of the guest's memory, which may go
		s.passed += int64(len(part))
		s.sink(s.stderr, part)
	}
	if s.stderr {
		s.keep(b)
	}
}

func (s *stream) keep(b []byte) {
	s.total += len(b)
	n := min(headBytes-len(s.head), len(b))
	s.head, b = append(s.head, b[:n]...), b[n:]
	if len(b) > tailBytes {
		b = b[len(b)-tailBytes:]
	}
	if s.tail = append(s.tail, b...); len(s.tail) > 2*tailBytes {
		s.tail = append(s.tail[:0], s.tail[len(s.tail)-tailBytes:]...)
	}
}

// text is what there was, with its middle left out if it was long, fit to be printed.
func (s *stream) text() string {
	tail := s.tail[max(len(s.tail)-tailBytes, 0):]
	text := string(s.head)
	if left := s.total - len(s.head) - len(tail); left > 0 {
		text += fmt.Sprintf("\n[%d bytes left out]\n", left)
	}
	return escape(text+string(tail), "\n\t")
}

// escape makes a guest's text harmless where people read it: everything that is not printable, but
// for the characters in keep, is shown as Go would write it in a string.
func escape(s, keep string) string {
	plain := func(r rune) bool { return strconv.IsPrint(r) || strings.ContainsRune(keep, r) }
	if utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	var b strings.Builder
	var quoted []byte
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			const hex = "0123456789abcdef"
			b.WriteString(`\x`)
			b.WriteByte(hex[s[0]>>4])
			b.WriteByte(hex[s[0]&15])
		case plain(r):
			b.WriteRune(r)
		default:
			quoted = strconv.AppendQuoteRune(quoted[:0], r)
			b.Write(quoted[1 : len(quoted)-1])
		}
		s = s[size:]
	}
	return b.String()
}
