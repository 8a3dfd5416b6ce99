package egress

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxEncodings is how often a path may be percent-encoded over itself.
const maxEncodings = 4

const upperHex = "0123456789ABCDEF"

// canonicalPath gives the one spelling of a path: no dot segments, unreserved characters plain, all
// others that need it percent-encoded in upper case. odd says that it has an encoded slash or bytes
// that are not UTF-8: servers disagree about where such a path leads, so a rule for a part of a
// host cannot judge it.
func canonicalPath(raw string) (path string, odd bool, err error) {
	if raw == "" {
		return "/", false, nil
	}
	segments := strings.Split(raw[1:], "/")
	for i, segment := range segments {
		strange, err := checkSegment(segment)
		if err != nil {
			return "", false, err
		}
		odd = odd || strange
		if segments[i], err = recode(segment); err != nil {
			return "", false, err
		}
	}
	return "/" + strings.Join(withoutDots(segments), "/"), odd, nil
}

// withoutDots resolves the segments . and ..; as the last one they leave an empty segment.
func withoutDots(segments []string) []string {
	out := segments[:0]
	for i, segment := range segments {
		if segment != "." && segment != ".." {
			out = append(out, segment)
			continue
		}
		if segment == ".." && len(out) > 0 {
			out = out[:len(out)-1]
		}
		if i == len(segments)-1 {
			out = append(out, "")
		}
	}
	return out
}

// checkSegment refuses what some server would read as a dot segment although it is not written as
// one: encoded, encoded twice, with a parameter, or behind an encoded slash.
func checkSegment(segment string) (odd bool, err error) {
	if segment == "." || segment == ".." {
		return false, nil
	}
	text := segment
	for range maxEncodings {
		for piece := range strings.SplitSeq(text, "/") {
			name, _, _ := strings.Cut(piece, ";")
			if name = strings.Trim(name, " "); name == "." || name == ".." {
				return false, fmt.Errorf("the path has a dot segment in disguise")
			}
		}
		for _, b := range []byte(text) {
			if b < ' ' || b == 0x7f || b == '\\' {
				return false, fmt.Errorf("the path has an encoded control character or backslash")
			}
		}
		odd = odd || strings.Contains(text, "/") || !utf8.ValidString(text)
		decoded := percentDecode(text)
		if decoded == text {
			return odd, nil
		}
		text = decoded
	}
	return false, fmt.Errorf("the path is percent-encoded more than %d times over", maxEncodings-1)
}

// recode brings percent-encoding into its canonical form.
func recode(segment string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(segment); i++ {
		c := segment[i]
		plain := isPathByte(c)
		if c == '%' {
			decoded, ok := unhexPair(segment[i+1:])
			if !ok {
				return "", fmt.Errorf("the path has a %% without two hex digits")
			}
			c, plain = decoded, isUnreserved(decoded)
			i += 2
		}
		if plain {
			b.WriteByte(c)
		} else {
			writePercent(&b, c)
		}
	}
	return b.String(), nil
}

// percentDecode decodes what is percent-encoded and leaves the rest.
func percentDecode(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if c, ok := unhexPair(s[i+1:]); s[i] == '%' && ok {
			out = append(out, c)
			i += 2
		} else {
			out = append(out, s[i])
		}
	}
	return string(out)
}

func unhexPair(s string) (byte, bool) {
	if len(s) < 2 {
		return 0, false
	}
	high, ok1 := unhex(s[0])
	low, ok2 := unhex(s[1])
	return high<<4 | low, ok1 && ok2
}

func unhex(b byte) (byte, bool) {
	switch {
	case '0' <= b && b <= '9':
		return b - '0', true
	case 'a' <= b && b <= 'f':
		return b - 'a' + 10, true
	case 'A' <= b && b <= 'F':
		return b - 'A' + 10, true
	}
	return 0, false
}

func writePercent(b *strings.Builder, c byte) {
	b.Write([]byte{'%', upperHex[c>>4], upperHex[c&15]})
}

func isUnreserved(b byte) bool { return isAlnum(b) || strings.IndexByte("-._~", b) >= 0 }

// isPathByte reports whether RFC 3986 lets a byte stand in a segment as it is.
func isPathByte(b byte) bool {
	return isUnreserved(b) || strings.IndexByte("!$&'()*+,;=:@", b) >= 0
}
