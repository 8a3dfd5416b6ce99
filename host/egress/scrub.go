package egress

import (
	"encoding/binary"
	"slices"
	"strings"
)

// window is how many bytes of a form are looked up at once. No form is shorter.
const window = MinSecret

// scrubber replaces all forms of some words. It looks at the last two bytes of a window and skips
// ahead as far as no form could begin, which for most text is window-1 bytes at a time. It does not
// change once made. A nil scrubber replaces nothing.
type scrubber struct {
	skip  [1 << 16]uint8
	heads map[uint64][]form // by their first window bytes, the longest first
	lower []string          // all forms in lower case, for names of headers
	max   int               // bytes of the longest form
}

type form struct{ text, marker string }

func newScrubber(words []word) *scrubber {
	if len(words) == 0 {
		return nil
	}
	s := &scrubber{heads: map[uint64][]form{}}
	for i := range s.skip {
		s.skip[i] = window - 1
	}
	for _, w := range words {
		for _, text := range forms(w.value) {
			s.add(form{text, marker(w.name)})
		}
	}
	slices.Sort(s.lower)
	s.lower = slices.Compact(s.lower)
	return s
}

func (s *scrubber) add(f form) {
	for i := range window - 1 {
		pair := &s.skip[binary.LittleEndian.Uint16([]byte(f.text[i:i+2]))]
		*pair = min(*pair, uint8(window-2-i))
	}
	head := binary.LittleEndian.Uint64([]byte(f.text[:window]))
	s.heads[head] = append(s.heads[head], f)
	s.lower = append(s.lower, strings.ToLower(f.text))
	s.max = max(s.max, len(f.text))
}

// at gives the longest form that text begins with.
func (s *scrubber) at(text []byte) (longest form) {
	for _, f := range s.heads[binary.LittleEndian.Uint64(text)] {
		if len(f.text) > len(longest.text) && len(f.text) <= len(text) &&
			string(text[:len(f.text)]) == f.text {
			longest = f
		}
	}
	return longest
}

func (s *scrubber) text(text string) string {
	if s == nil || len(text) < window {
		return text
	}
	st := stream{s: s}
	st.write([]byte(text))
	return string(st.finish(true))
}

// contains reports whether text has a form of a secret in it.
func (s *scrubber) contains(text string) bool { return s.text(text) != text }

// inName reports whether a header's name has a form in it, whose case the way here has changed.
func (s *scrubber) inName(name string) bool {
	if s == nil {
		return false
	}
	name = strings.ToLower(name)
	return slices.ContainsFunc(s.lower, func(f string) bool { return strings.Contains(name, f) })
}

// stream scrubs a text that comes in pieces. What it puts out does not depend on how it was cut.
type stream struct {
	s       *scrubber
	pending []byte // what a form may still begin in, or reach into
	covered int    // bytes of pending that belong to a form that began before them
	out     []byte
}

func (st *stream) write(p []byte) {
	if st.s == nil {
		st.out = append(st.out, p...)
		return
	}
	st.pending = append(st.pending, p...)
	st.advance(len(st.pending) - st.s.max + 1)
}

// finish gives everything. If the text was cut off rather than whole, what could be the beginning
// of a form at its end is dropped.
func (st *stream) finish(whole bool) []byte {
	if st.s == nil {
		return st.out
	}
	n := len(st.pending)
	if !whole {
		n = st.s.safe(st.pending)
	}
	st.advance(n)
	return st.out
}

// advance puts out the first n bytes of pending, for each of which it is known whether a form
// begins there: it may reach beyond n. Forms that overlap are replaced as one.
func (st *stream) advance(n int) {
	if n <= 0 {
		return
	}
	text, end := st.pending, st.covered
	for i := 0; i < n && i+window <= len(text); {
		if skip := st.s.skip[binary.LittleEndian.Uint16(text[i+window-2:])]; skip > 0 {
			i += int(skip)
			continue
		}
		if f := st.s.at(text[i:]); f.text != "" {
			if i >= end {
				st.out = append(st.out, text[end:i]...)
				st.out = append(st.out, f.marker...)
			}
			end = max(end, i+len(f.text))
		}
		i++
	}
	if end < n {
		st.out = append(st.out, text[end:n]...)
	}
	st.covered = max(0, end-n)
	st.pending = append(st.pending[:0], text[n:]...)
}

// safe is how much of a text that was cut off can be shown: up to where a form may have begun.
func (s *scrubber) safe(text []byte) int {
	for i := max(0, len(text)-s.max+1); i < len(text); i++ {
		if s.begins(text[i:]) {
			return i
		}
	}
	return len(text)
}

// begins reports whether some form has text as a beginning and goes on.
func (s *scrubber) begins(text []byte) bool {
	for _, fs := range s.heads {
		for _, f := range fs {
			if len(f.text) > len(text) && f.text[:len(text)] == string(text) {
				return true
			}
		}
	}
	return false
}
