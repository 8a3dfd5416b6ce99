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
	return fmt.Sprintf("server %q: %s: %s", e.Server, e.Stage, e.detail())
}

func (e *ServerError) detail() string {
	text := e.Err.Error()
	if e.Tail != "" {
		text += fmt.Sprintf("; stderr ends %q", e.Tail)
	}
	return text
}

func (e *ServerError) Unwrap() error { return e.Err }

// CauseName is server.
func (e *ServerError) CauseName() string { return "server" }

// inCall is a server's error in that of a call, which names the server itself.
type inCall struct{ *ServerError }

func (e inCall) Error() string {
	if e.Stage == "call" {
		return e.detail()
	}
	return e.Stage + ": " + e.detail()
}

func (e inCall) Unwrap() error { return e.ServerError }

// LimitError is a call that went past a limit of its server's. Its text leaves the server to the error
// around it.
type LimitError struct {
	Server, Limit string        // time or output
	Time          time.Duration // of Limit time
	Bytes         int           // of Limit output
}

func (e *LimitError) Error() string {
	if e.Limit == "output" {
		return fmt.Sprintf("its answer exceeded %d bytes (limits.output)", e.Bytes)
	}
	return fmt.Sprintf("the call exceeded its %v limit (limits.time)", e.Time)
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
