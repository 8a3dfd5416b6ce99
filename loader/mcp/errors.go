package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrClosed is a call of a tool whose source has been closed.
var ErrClosed = errors.New("the source is closed")

// ConfigError is a Server that no connection can be made of.
type ConfigError struct {
	Server, Field string
	Detail        string
}

func (e *ConfigError) Error() string {
	return fmt.Sprintf("server %q: %s: %s", e.Server, e.Field, e.Detail)
}

// ServerError is a server that does not start, cannot be reached, or ended while it had work. It is
// never the host's fault: a call that meets it fails as plugins.ErrHandler.
type ServerError struct {
	Server string
	Stage  string // start, list or call
	Err    error
	Tail   string // the end of what a command printed to stderr, cleaned
}

func (e *ServerError) Error() string {
	text := fmt.Sprintf("server %q: %s: %v", e.Server, e.Stage, e.Err)
	if e.Tail != "" {
		text += fmt.Sprintf("; stderr ends %q", e.Tail)
	}
	return text
}

func (e *ServerError) Unwrap() error { return e.Err }

// CauseName is server.
func (e *ServerError) CauseName() string { return "server" }

// LimitError is a call that went past a limit of its server's.
type LimitError struct {
	Server, Limit string        // time or output
	Time          time.Duration // of Limit time
	Bytes         int           // of Limit output
}

func (e *LimitError) Error() string {
	if e.Limit == "output" {
		return fmt.Sprintf("server %q: its answer exceeded %d bytes (limits.output)", e.Server, e.Bytes)
	}
	return fmt.Sprintf("server %q: the call exceeded its %v limit (limits.time)", e.Server, e.Time)
}

// CauseName is limit.time or limit.output.
func (e *LimitError) CauseName() string { return "limit." + e.Limit }

// Unwrap makes a passed time limit a context.DeadlineExceeded.
func (e *LimitError) Unwrap() error {
	if e.Limit == "time" {
		return context.DeadlineExceeded
	}
	return nil
}

// Withheld is a tool that a server has and a source does not offer.
type Withheld struct {
	Tool   string // as its server calls it, cleaned; "" when it is about many
	Reason string
}

func (w Withheld) String() string {
	if w.Tool == "" {
		return w.Reason
	}
	return fmt.Sprintf("tool %q: %s", w.Tool, w.Reason)
}

// scrubbed is an error whose text is free of secrets.
type scrubbed struct {
	text string
	err  error
}

func (e *scrubbed) Error() string { return e.text }
func (e *scrubbed) Unwrap() error { return e.err }
