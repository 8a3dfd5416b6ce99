package host

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// tailBytes is how much of a guest's stderr errors and stats show.
const tailBytes = 4 << 10

// stream is a guest's stdout or stderr. It never fails and never blocks: what is past the limit is
// counted and forgotten.
type stream struct {
	stderr bool
	limit  int64 // bytes handed on
	sink   func(stderr bool, b []byte)
	passed int64
	tail   []byte // at least the last tailBytes, of stderr only
}

func (s *stream) Write(b []byte) (int, error) {
	if room := s.limit - s.passed; room > 0 && s.sink != nil {
		part := b[:min(int64(len(b)), room)]
		s.passed += int64(len(part))
		s.sink(s.stderr, part)
	}
	if s.stderr {
		s.keep(b)
	}
	return len(b), nil
}

func (s *stream) keep(b []byte) {
	if len(b) > tailBytes {
		b = b[len(b)-tailBytes:]
	}
	if s.tail = append(s.tail, b...); len(s.tail) > 2*tailBytes {
		s.tail = append(s.tail[:0], s.tail[len(s.tail)-tailBytes:]...)
	}
}

// text is the stream's end, at most tailBytes of it, fit to be printed.
func (s *stream) text() string {
	b := s.tail
	if len(b) > tailBytes {
		b = b[len(b)-tailBytes:]
		for len(b) > 0 && !utf8.RuneStart(b[0]) {
			b = b[1:]
		}
	}
	return escape(string(b), "\n\t")
}

// escape makes a guest's text harmless where people read it: everything that is not printable, but
// for the characters in keep, is shown as Go would write it in a string.
func escape(s, keep string) string {
	plain := func(r rune) bool { return strconv.IsPrint(r) || strings.ContainsRune(keep, r) }
	if utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case plain(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		s = s[size:]
	}
	return b.String()
}
