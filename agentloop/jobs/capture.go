package jobs

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/wasmagent/wasmagent/abi"
)

// capture takes what a job says and gives it on piece by piece. It has room for so many bytes in
// all and drops what comes after those. Nobody who writes has to wait for who looks.
type capture struct {
	max int // bytes

	mu        sync.Mutex
	unseen    []byte
	taken     int  // bytes so far, those that were looked at too
	last      byte // of what was taken
	truncated bool // something was dropped
}

func (c *capture) write(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.take(b)
}

// line writes a line of its own, whatever was written before.
func (c *capture) line(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken > 0 && c.last != '\n' {
		c.take([]byte{'\n'})
	}
	c.take(append([]byte(text), '\n'))
}

// take has the lock. What does not fit is cut, and then nothing more is taken: what a reader sees
// is what was written up to there, without holes.
func (c *capture) take(b []byte) {
	if room := c.max - c.taken; c.truncated || len(b) > room {
		if c.truncated {
			return
		}
		b, c.truncated = b[:room], true
	}
	if len(b) == 0 {
		return
	}
	c.unseen = append(c.unseen, b...)
	c.taken += len(b)
	c.last = b[len(b)-1]
}

// look gives what was written since the last look, up to the last whole character. The rest of it
// comes with the next look.
func (c *capture) look() (text string, truncated bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := whole(c.unseen)
	text = string(c.unseen[:n])
	c.unseen = append([]byte(nil), c.unseen[n:]...) // lets go of what was seen
	return text, c.truncated
}

// waiting is how many bytes the next look gives.
func (c *capture) waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return whole(c.unseen)
}

// whole is the length of b without a character at its end that is only begun.
func whole(b []byte) int {
	for i := len(b) - 1; i >= 0 && i > len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return i
			}
			break
		}
	}
	return len(b)
}

// sequences are those that steer a terminal.
var sequences = regexp.MustCompile("\x1b\\[[0-?]*[ -/]*[@-~]?")

// A terminal would write over a line that ends so.
var returns = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// clean makes what a job says safe to show to a model: its lines and their layout stay, and what
// cannot be seen goes. Bytes that are no character become U+FFFD.
func clean(text string) string {
	text = returns.Replace(text)
	return strings.Map(func(r rune) rune {
		if abi.Hidden(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, sequences.ReplaceAllString(text, ""))
}
