package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
)

// mayInject says why a secret cannot go into the hop that x is at.
func (x *exchange) mayInject(s *secret, r *rule) error {
	if x.target.scheme == "http" && !r.source.SecretsOverHTTP {
		e := x.fail(Denied, "secret", "the secret %s does not go over http", s.name)
		fix := r.source
		fix.SecretsOverHTTP = true
		x.suggest(e, fix.String())
		return e
	}
	for name := range x.header {
		canonical := http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
		if s.place != "query" && canonical == s.param {
			return x.fail(Denied, "header", "the header %s is set by the host here, from the secret %s",
				s.param, s.name)
		}
		// Piece by piece an answer would show what is replaced in it as a whole.
		if canonical == "Range" || canonical == "If-Range" {
			return x.fail(Denied, "header", "the header %s cannot be used where the secret %s is sent",
				canonical, s.name)
		}
	}
	if s.place == "query" && hasParameter(x.target.query, s.param) {
		return x.fail(Denied, "query", "the parameter %s is set by the host here, from the secret %s",
			s.param, s.name)
	}
	return nil
}

// withoutSecrets takes the parameters that the client adds out of a redirect's URL, where servers
// repeat them, and refuses a URL that still has a secret in it: that would carry it on.
func (x *exchange) withoutSecrets(next *target) error {
	for _, s := range x.client.secrets {
		if s.place == "query" && s.isFor(next) {
			next.query = withoutParameter(next.query, s.param)
		}
	}
	scrub, text := x.client.scrub.Load(), next.String()
	if scrub.contains(text) || scrub.contains(percentDecode(text)) {
		return x.fail(Denied, "redirect", "the redirect's URL has a secret in it")
	}
	return nil
}

// refuseAddress says what a name resolved to.
func (x *exchange) refuseAddress(r *rule, refused *addressError) error {
	e := x.fail(Denied, "address", "%s is at %v", x.target.host, refused)
	if !suggestible(refused.class) {
		return e
	}
	fix := r.source
	fix.Addresses = append(slices.Clone(fix.Addresses), refused.addr.WithZone("").String())
	x.suggest(e, fix.String())
	return e
}

// noConnection is an error from before a request was sent, so that its text has no secrets in it.
func (x *exchange) noConnection(err error) error {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		e := x.fail(Timeout, "connection", "no connection within %v", DialTimeout)
		e.Err = err
		return e
	}
	e := x.fail(Network, "connection", "no connection: %v", err)
	e.Err = err
	return e
}

// explain turns an error into one that Do may give. Causes from after a request was sent may have
// an answer's bytes in them: they are not kept.
func (x *exchange) explain(ctx context.Context, err error) error {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e
	}
	if errors.Is(err, ErrClosed) || x.client.life.Err() != nil {
		return ErrClosed
	}
	if ctx.Err() != nil {
		return x.interrupted(ctx)
	}
	switch coding := (*codingError)(nil); {
	case errors.As(err, &coding):
		return x.fail(Network, "answer", "%v", coding)
	case strings.Contains(err.Error(), "server response headers exceeded"): // net/http has no type
		return x.fail(TooLarge, "answer", "its headers have more than %d bytes (limits.headers)",
			x.client.limits.Headers)
	}
	return x.fail(Network, "answer", "the answer is not whole or not HTTP: %v", err)
}

// interrupted tells whose time was over, or gives the cause why the caller cancelled.
func (x *exchange) interrupted(ctx context.Context) error {
	cause := context.Cause(ctx)
	if own := (*timeError)(nil); errors.As(cause, &own) {
		return x.fail(Timeout, "time", "%v", own)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e := x.fail(Timeout, "time", "the caller's deadline passed")
		e.Err = cause
		return e
	}
	return cause
}

// fail is an error about the hop that x is at.
func (x *exchange) fail(kind Kind, part, format string, args ...any) *Error {
	e := &Error{Kind: kind, Part: part, Method: x.method, Hop: x.hop, Sent: x.sent.Load(),
		From: x.client.clean(x.from), Detail: x.client.clean(fmt.Sprintf(format, args...))}
	if x.target.host != "" {
		e.URL = x.client.clean(x.target.place())
	}
	return e
}

// suggest adds a rule that would let a hop through, unless it is too long to be shown whole.
func (x *exchange) suggest(e *Error, rule string) {
	if len(rule) <= maxErrorDetail {
		e.Fix = x.client.clean(rule)
	}
}

// clean makes a text fit for terminals, logs and guests: no secrets, printable ASCII, not long.
func (c *Client) clean(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f {
			return '?'
		}
		return r
	}, c.Scrub(text))
	if len(text) > maxErrorDetail {
		return text[:maxErrorDetail] + "..."
	}
	return text
}
