package markdown

import "strings"

// Cut cuts s after at most limit characters, at a line's end if there is one in the last
// fifth.
func Cut(s string, limit int) (string, bool) {
	if len(s) <= limit {
		return s, false
	}
	chars := 0
	for i := range s {
		if chars == limit {
			if end := strings.LastIndexByte(s[:i], '\n'); end > i-i/5 {
				i = end
			}
			return s[:i], true
		}
		chars++
	}
	return s, false
}
