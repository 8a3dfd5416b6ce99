package reduce

import (
	"strings"
	"unicode/utf8"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

const (
	MaxHits    = 20  // that a search gives
	hitsOfOne  = 5   // of them in one original
	hitContext = 100 // bytes around what was found, on each side
)

// Hit is a place where a search found its text.
type Hit struct {
	ID     string `json:"id"`
	Offset int    `json:"offset"` // in the original: the byte at which Text begins
	Text   string `json:"text"`   // what was found, with a little around it
}

// Search finds a text in the originals of a log, whether letters of ASCII are large or small. more
// tells that not all places are given. Originals that cannot be undone are left out.
func Search(list []message.Message, log Log, text string) (hits []Hit, more bool) {
	want := lower(text)
	if want == "" {
		return nil, false
	}
	for i := range log {
		original, err := log[i].told(list)
		if err != nil {
			continue
		}
		found := lower(original)
		for at, n := 0, 0; ; n++ {
			next := strings.Index(found[at:], want)
			if next < 0 {
				break
			}
			if len(hits) == MaxHits || n == hitsOfOne {
				more = true
				break
			}
			at += next
			from, to := floor(original, max(at-hitContext, 0)), ceil(original, at+len(want)+hitContext)
			hits = append(hits, Hit{log[i].ID, from, original[from:to]})
			at = to
		}
	}
	return hits, more
}

// lower makes letters of ASCII small, and leaves every byte in its place.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + ('a' - 'A')
		}
	}
	return string(b)
}

// ceil is the beginning of the first character that is not before byte i.
func ceil(s string, i int) int {
	for i < len(s) && !utf8.RuneStart(s[i]) {
		i++
	}
	return min(i, len(s))
}

// Page is a part of a text from a byte on, at most PageBytes and cut between characters. next is
// where the rest begins: the text's length at its end.
func Page(text string, offset int) (page string, next int) {
	offset = floor(text, max(offset, 0))
	next = floor(text, min(offset+PageBytes, len(text)))
	return text[offset:next], next
}

// PageBytes is the most bytes of a page: with a line about it, no more than DefaultTrigger.
const PageBytes = 8000
