package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/wasmagent/wasmagent/agentloop/provider"
)

// Answer is a good answer whose body has not been read. While none of it has been used, whoever
// reads it may still find that it is no good one after all, and it is asked for again: that is so
// for JSON until the end, and for events until the first has been dealt with.
type Answer struct {
	Streamed bool // events, not JSON
	body     io.Reader
	client   *Client
	begun    bool
}

// JSON reads an answer in one piece into v.
func (a *Answer) JSON(v any) error {
	text, err := io.ReadAll(a.body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return Broken("it is not the JSON that was expected (%w)", err)
	}
	return nil
}

// Events reads a streamed answer. An error is the last thing it gives. Events without data, which
// some servers send to keep a connection open, are left out.
func (a *Answer) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		r := newEventReader(a.body)
		for {
			event, err := r.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err == nil && len(bytes.TrimSpace(event.Data)) == 0 {
				continue
			}
			if !yield(event, err) || err != nil {
				return
			}
			a.begun = true
		}
	}
}

// Refused is the error for a good answer that tells of an error inside.
func (a *Answer) Refused(status int, text string) error { return a.client.Status(status, text) }

// Broken is the error for an answer that is not what the API promises.
func Broken(format string, args ...any) error {
	return &provider.DecodeError{Err: fmt.Errorf(format, args...)}
}

// body is what an answer is read from: at most MaxAnswer bytes, none of which lets wait too long.
type body struct {
	from io.Reader
	idle *idle
	read int
	fail func(error) error
}

func (b *body) Read(p []byte) (int, error) {
	b.idle.start()
	n, err := b.from.Read(p)
	b.idle.stop()
	b.read += n
	switch {
	case b.read > provider.MaxAnswer:
		return 0, Broken("it has more than %d MiB", provider.MaxAnswer>>20)
	case err != nil && err != io.EOF:
		err = b.fail(err)
	}
	return n, err
}

// idle ends a request when nothing comes for too long. It runs only while somebody waits for the
// provider, not while an answer is looked at.
type idle struct {
	limit time.Duration
	timer *time.Timer
}

// silence is the end that idle makes.
type silence struct{ limit time.Duration }

func (e *silence) Error() string {
	return fmt.Sprintf("nothing came for %s (Options.Idle)", e.limit)
}

func newIdle(limit time.Duration, cancel func(error)) *idle {
	timer := time.AfterFunc(limit, func() { cancel(&silence{limit}) })
	timer.Stop()
	return &idle{limit, timer}
}

func (i *idle) start() { i.timer.Reset(i.limit) }
func (i *idle) stop()  { i.timer.Stop() }
