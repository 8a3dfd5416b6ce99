package abi

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// CleanText makes a guest's words safe to show on a terminal, in a log or to a model. Control
// characters, terminal escape sequences, and characters that cannot be seen or that reorder their
// neighbours (bidirectional marks, zero-width characters, tags, variation selectors, private use)
// are removed; a run of white space, line breaks too, becomes one space, and none is left at the
// ends; bytes that are not UTF-8 become U+FFFD. What is longer than max characters is cut to max,
// the last of which is then an ellipsis; a max below 1 leaves nothing. Cleaning clean text changes
// nothing.
func CleanText(s string, max int) string {
	switch {
	case max < 1:
		return ""
	case len(s) <= max && isPlain(s):
		return s
	}
	var b strings.Builder
	b.Grow(min(len(s), max+utf8.UTFMax))
	kept, space := 0, false
	cut := 0 // bytes of b without its last kept character, where an ellipsis would go
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if n := escapeLen(s); n > 0 {
			s = s[n:]
			continue
		}
		s = s[size:]
		if unicode.IsSpace(r) {
			space = kept > 0
			continue
		}
		if Hidden(r) {
			continue
		}
		for _, c := range [...]rune{' ', r} {
			if c == ' ' && !space {
				continue
			}
			if kept == max {
				return b.String()[:cut] + "…"
			}
			cut = b.Len()
			b.WriteRune(c)
			kept++
		}
		space = false
	}
	return b.String()
}

// isPlain reports whether s is printable ASCII without a run of spaces or one at its ends, as
// nearly all text is.
func isPlain(s string) bool {
	before := byte(' ')
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c > '~' || c == ' ' && before == ' ' {
			return false
		}
		before = c
	}
	return s == "" || before != ' '
}

// escapeLen is how many bytes of s a terminal control sequence (CSI) at its beginning takes: the
// introducer, parameters, and a final byte if there is one.
func escapeLen(s string) int {
	i := 0
	switch {
	case strings.HasPrefix(s, "\x1b["), strings.HasPrefix(s, "\u009b"):
		i = 2
	default:
		return 0
	}
	for i < len(s) && s[i] >= 0x20 && s[i] <= 0x3f {
		i++
	}
	if i < len(s) && s[i] >= 0x40 && s[i] <= 0x7e {
		i++
	}
	return i
}

// Hidden reports whether r is neither seen nor a space of a line: a control character, or what
// cannot be seen, reorders its neighbours or has no meaning of its own. CleanText removes these.
func Hidden(r rune) bool {
	switch {
	case r < 0x80:
		return r < ' ' || r == 0x7f
	case unicode.Is(unicode.Zs, r):
		return false
	case !unicode.IsPrint(r):
		return true
	case unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
		return true
	case unicode.Is(unicode.Variation_Selector, r):
		return true
	}
	return r == '\u2800' // the blank braille pattern
}

// CutText shortens a text of more than max characters, the last of which is then an ellipsis.
func CutText(s string, max int) string {
	count := 0
	end := 0 // of the last character that would stay before an ellipsis
	for i := range s {
		if count++; count == max {
			end = i
		} else if count > max {
			return s[:end] + "…"
		}
	}
	return s
}
