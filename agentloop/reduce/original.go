package reduce

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// resolve tells whether a pointer leads somewhere, without a look at what is there.
func (r *Record) resolve(list []message.Message) *Error {
	p := &r.Pointer
	lost := func(format string, args ...any) *Error {
		return &Error{r.ID, ErrUnresolved, fmt.Sprintf(format, args...)}
	}
	if p.Message < 0 || p.Message >= len(list) || p.Messages > len(list)-p.Message {
		return lost("it is at message %d, and there are %d", r.end(), len(list))
	}
	m := &list[p.Message]
	switch {
	case m.Role != p.Role:
		return lost("message %d is one of the role %q, not %q", p.Message+1, m.Role, p.Role)
	case r.Kind == Turns:
		if !wholeTurns(list, p.Message, r.end()) {
			return lost("messages %d to %d are not turns that may go", p.Message+1, r.end())
		}
		return nil
	case r.Kind == Input && (p.Call < 0 || p.Call >= len(m.Calls)):
		return lost("it is call %d of message %d, which has %d", p.Call+1, p.Message+1, len(m.Calls))
	case r.Kind != Input && m.Result == nil:
		return lost("message %d has no result", p.Message+1)
	}
	if n := len(r.original(list)); p.Span.From < 0 || p.Span.From > n || p.Span.To > n {
		return lost("it is bytes %d to %d of %d", p.Span.From, p.Span.To, n)
	}
	return nil
}

// original gives what a pointer leads to that leads somewhere.
func (r *Record) original(list []message.Message) string {
	m := &list[r.Pointer.Message]
	switch r.Kind {
	case Turns:
		return encode(list[r.Pointer.Message:r.end()])
	case Input:
		return m.Calls[r.Pointer.Call].Arguments
	}
	return m.Result.Text
}

// checked gives an original whose digest is right.
func (r *Record) checked(list []message.Message) (string, *Error) {
	if err := r.resolve(list); err != nil {
		return "", err
	}
	text := r.original(list)
	if digest(text) != r.Pointer.SHA256 {
		return "", &Error{r.ID, ErrMismatch, fmt.Sprintf("message %d is not what it was",
			r.Pointer.Message+1)}
	}
	return text, nil
}

// told gives the same for who asks for it: of messages, what a provider is sent of them.
func (r *Record) told(list []message.Message) (string, *Error) {
	text, err := r.checked(list)
	if err != nil || r.Kind != Turns {
		return text, err
	}
	said := slices.Clone(list[r.Pointer.Message:r.end()])
	for i := range said {
		m := &said[i]
		m.Reasoning, m.Usage, m.Model, m.Time, m.Meta = nil, nil, "", time.Time{}, nil
	}
	return encode(said), nil
}

// encode is messages as lines of JSON.
func encode(list []message.Message) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, m := range list {
		if enc.Encode(&m) != nil { // something that somebody else left raw is no JSON
			m.Reasoning, m.Meta, m.Time = nil, nil, time.Time{}
			_ = enc.Encode(&m) // which leaves strings
		}
	}
	return b.String()
}

// digest is the SHA-256 of a text, in hex. A text that is stored as JSON comes back with U+FFFD for
// what was no UTF-8, so such texts count as the same.
func digest(text string) string {
	if !utf8.ValidString(text) {
		text = string([]rune(text))
	}
	sum := sha256.Sum256(bytes.ReplaceAll([]byte(text), []byte(`\ufffd`), []byte("\uFFFD")))
	return hex.EncodeToString(sum[:])
}

// floor is the beginning of the character at byte i.
func floor(s string, i int) int {
	if i >= len(s) {
		return len(s)
	}
	for n := 0; n < utf8.UTFMax && i > 0 && !utf8.RuneStart(s[i]); n++ {
		i--
	}
	return i
}
