package tomlfile

import "strings"

// MaxDepth is how many brackets may be open, and how many dots a key may have. The deepest key has
// four. The time and memory that the library takes grow with the square of the depth: at 64 KiB of
// dots it is gigabytes.
const MaxDepth = 8

// TooDeep gives the line on which a file goes past MaxDepth; 0: none. It must see strings and
// comments as the library does, but only up to the first thing that is no TOML, since there the
// library stops.
func TooDeep(content string) (line int) {
	depth, dots := 0, 0
	for i := 0; i < len(content); {
		c := content[i]
		i++
		switch c {
		case '#':
			i += index(content[i:], "\n")
		case '"', '\'':
			n := skipString(content[i-1:])
			if n < 0 {
				return 0
			}
			i += n - 1
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case '.':
			dots++
		case '\n', '=', ',':
			dots = 0
		}
		if depth > MaxDepth || dots > MaxDepth {
			return 1 + strings.Count(content[:i], "\n")
		}
	}
	return 0
}

// skipString gives the length of the string that s begins with; -1: it has no end.
func skipString(s string) int {
	quote := s[:1]
	multi := strings.HasPrefix(s[1:], quote+quote)
	i := 1
	if multi {
		quote, i = s[:3], 3
	}
	for i < len(s) {
		switch {
		case strings.HasPrefix(s[i:], quote):
			i += len(quote)
			for range 2 { // its last characters may be quotes as well
				if multi && strings.HasPrefix(s[i:], quote[:1]) {
					i++
				}
			}
			return i
		case s[i] == '\\' && quote[0] == '"':
			i++
		case s[i] == '\n' && !multi:
			return -1
		}
		i++
	}
	return -1
}

// index is strings.Index, with the length of s for what is not there.
func index(s, part string) int {
	if i := strings.Index(s, part); i >= 0 {
		return i
	}
	return len(s)
}
