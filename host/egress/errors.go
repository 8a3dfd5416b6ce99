package egress

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrClosed is what Do gives once the client is closed, also to requests that were under way.
var ErrClosed = errors.New("closed")

// Kind is a class of failures, and an error that errors.Is matches.
type Kind string

// All kinds.
const (
	Denied   Kind = "denied"    // by the policy, or by what no policy can allow
	Network  Kind = "network"   // the way to the server or the server itself; it may pass
	Timeout  Kind = "timeout"   // of the request, the client or the caller
	TooLarge Kind = "too_large" // what the guest sent, or the head of the answer
)

func (k Kind) Error() string { return string(k) }

// Error is a request without an answer. Its texts have no secrets and no queries of URLs in them,
// and nothing but printable ASCII of what the guest or a server wrote.
type Error struct {
	Kind Kind
	// Part is what the error is about: url, scheme, host, port, path, query, method, header, body,
	// address, redirect, secret, time, connection or answer.
	Part   string
	Method string
	URL    string // of the hop that failed, without its query; "" when it is not a URL
	Hop    int    // 0 is the request itself, 1 the first redirect
	From   string // the URL that redirected to this hop, without its query
	Detail string // what is wrong
	Fix    string // what an operator would write into the policy; "" when that would not help
	Sent   bool   // a request may have reached a server: on this hop or on one before
	Err    error  // the cause, when it is one of the network or the system
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.URL != "" {
		fmt.Fprintf(&b, "%s %s: ", e.Method, e.URL)
	}
	if e.Hop > 0 {
		fmt.Fprintf(&b, "redirect %d, from %s: ", e.Hop, e.From)
	}
	b.WriteString(e.Detail)
	if e.Fix != "" {
		b.WriteString("; to allow it: ")
		b.WriteString(e.Fix)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// Is matches the kind, and for Timeout context.DeadlineExceeded.
func (e *Error) Is(target error) bool {
	return target == e.Kind || e.Kind == Timeout && target == context.DeadlineExceeded
}

// ConfigError is a field of the Options that cannot be. New joins all of them.
type ConfigError struct {
	Field  string // as in rules[2].host, secrets[0].as or limits.time
	Value  string
	Detail string
}

func (e *ConfigError) Error() string {
	if e.Value == "" {
		return e.Field + ": " + e.Detail
	}
	return fmt.Sprintf("%s: %q %s", e.Field, e.Value, e.Detail)
}

// timeError is the cause of a context whose time the client set.
type timeError struct {
	limit time.Duration
	field string
}

func (e *timeError) Error() string {
	return fmt.Sprintf("took longer than %v (%s)", e.limit, e.field)
}

// fault is a part of a request that is refused whatever the rules are.
type fault struct {
	kind         Kind
	part, detail string
}

func (f *fault) Error() string { return f.detail }

func faultf(part, format string, args ...any) *fault {
	return &fault{Denied, part, fmt.Sprintf(format, args...)}
}

func tooLarge(part, format string, args ...any) *fault {
	return &fault{TooLarge, part, fmt.Sprintf(format, args...)}
}
