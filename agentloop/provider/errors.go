package provider

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"
)

// MaxErrorBody is how many bytes of an answer that tells of an error are kept.
const MaxErrorBody = 2 << 10

// CutMark ends a body that had more than MaxErrorBody bytes.
const CutMark = " … [cut at 2 KiB]"

// HTTPError is a request that got no whole answer: connecting, TLS, sending or reading failed, or
// nothing came for too long. It ends a run after the retries.
type HTTPError struct{ Err error }

func (e *HTTPError) Error() string {
	return fmt.Sprintf("the provider cannot be reached: %v", e.Err)
}
func (e *HTTPError) Unwrap() error { return e.Err }

// StatusError is an answer that tells of an error. It ends a run after the retries.
type StatusError struct {
	Status int    // of HTTP, or what an error in a streamed answer stands for; 0 if for none
	Body   string // without the key; at most MaxErrorBody bytes, and CutMark where there were more
}

func (e *StatusError) Error() string {
	var b strings.Builder
	b.WriteString("the provider answered with an error")
	if e.Status != 0 {
		fmt.Fprintf(&b, ", status %d", e.Status)
		if text := http.StatusText(e.Status); text != "" {
			fmt.Fprintf(&b, " (%s)", text)
		}
	}
	if body := strings.TrimSpace(strings.Map(visible, e.Body)); body != "" {
		b.WriteString(": " + body)
	}
	return b.String()
}

// visible makes characters that a terminal would act on spaces, and drops those nobody can see.
func visible(r rune) rune {
	switch {
	case unicode.IsSpace(r), unicode.IsControl(r):
		return ' '
	case unicode.IsGraphic(r):
		return r
	}
	return -1
}

// DecodeError is a good answer, or a piece of one, that is not what the API promises. It ends a run
// and is never tried again.
type DecodeError struct{ Err error }

func (e *DecodeError) Error() string {
	return fmt.Sprintf("the provider's answer cannot be read: %v", e.Err)
}
func (e *DecodeError) Unwrap() error { return e.Err }

// ErrCutShort is in a [DecodeError] of an answer that was good as far as it came.
var ErrCutShort = errors.New("it ends before the model has")

// MissingAPIKeyError is a provider without a key. No request has been made.
type MissingAPIKeyError struct {
	Variable string // the environment variable that was looked at
}

func (e *MissingAPIKeyError) Error() string {
	return fmt.Sprintf("no API key: none was given, and the environment variable %s is not set",
		e.Variable)
}
