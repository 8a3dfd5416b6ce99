package mcp

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
)

// offeredName makes of a server's name for a tool one that a registry takes: small letters, digits
// and underscores, the words of getUser apart, after the prefix. A name that becomes too long keeps
// its beginning and ends in a digest of the whole.
func offeredName(prefix, original string) string {
	var b strings.Builder
	if prefix != "" {
		b.WriteString(prefix + "_")
	}
	var before rune
	for _, r := range original {
		switch {
		case r >= 'A' && r <= 'Z':
			if before >= 'a' && before <= 'z' || before >= '0' && before <= '9' {
				b.WriteByte('_')
			}
			b.WriteRune(r - 'A' + 'a')
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_':
			b.WriteRune(r)
		default:
			b.WriteByte('_')
		}
		before = r
	}
	name := b.String()
	if name == "" || name[0] < 'a' || name[0] > 'z' {
		name = "t_" + name
	}
	const digest = 8 // hexadecimal digits
	if len(name) > abi.MaxToolNameBytes {
		sum := fmt.Sprintf("%x", sha256.Sum256([]byte(original)))
		name = name[:abi.MaxToolNameBytes-1-digest] + "_" + sum[:digest]
	}
	return name
}
