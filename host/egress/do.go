package egress

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync/atomic"
)

// exchange is one Do: the hop it is at, and what the next is made from.
type exchange struct {
	client *Client
	method string
	header http.Header // the guest's own
	body   []byte
	target target // empty while a redirect's is not known
	hop    int
	from   string
	sent   atomic.Bool

	valueless bool // a secret has no value, which no other rule can mend
}

// Do sends a request and follows its redirects. Every status is a Response. Errors are *Error;
// ErrClosed once the client is closed; and the cause of ctx when its caller cancelled it.
func (c *Client) Do(ctx context.Context, req *Request) (*Response, error) {
	x := &exchange{client: c, body: req.Body}
	if err := x.prepare(req); err != nil {
		return nil, err
	}
	ctx, release, err := c.admit(ctx, req.Timeout)
	if release != nil {
		defer release()
	}
	if err != nil {
		return nil, x.explain(ctx, err)
	}
	for {
		resp, err := x.send(ctx)
		if err != nil {
			return nil, x.explain(ctx, err)
		}
		location := resp.Header.Get("Location")
		if location == "" || !isRedirect(resp.StatusCode) {
			return x.receive(ctx, resp)
		}
		_, _ = io.CopyN(io.Discard, resp.Body, maxDrain)
		_ = resp.Body.Close()
		if err := x.redirect(resp.StatusCode, location); err != nil {
			return nil, err
		}
	}
}

// prepare checks everything about a request that does not depend on rules.
func (x *exchange) prepare(req *Request) error {
	method := cmp.Or(req.Method, http.MethodGet)
	if err := checkMethod(method); err != nil {
		return x.fail(Denied, "method", "%s %v", quote(method), err)
	}
	x.method = method
	t, f := parseTarget(req.URL)
	if f != nil {
		return x.refuse(f)
	}
	x.target = t
	if limit := x.client.limits.Request; int64(len(req.Body)) > limit {
		return x.fail(TooLarge, "body", "the body has %d bytes, more than %d (limits.request)",
			len(req.Body), limit)
	}
	if x.header, f = requestHeader(req.Headers, x.client.limits.Headers); f != nil {
		return x.refuse(f)
	}
	return nil
}

func (x *exchange) refuse(f *fault) error { return x.fail(f.kind, f.part, "%s", f.detail) }

// send makes one hop under the first rule that lets all of it through, its address included.
func (x *exchange) send(ctx context.Context) (*http.Response, error) {
	rules, denial := judge(x.client.rules, &x.target, x.method)
	if denial != nil {
		e := x.fail(Denied, denial.part, "%s", denial.detail)
		x.suggest(e, denial.fix)
		return nil, e
	}
	var first error
	for _, r := range rules {
		resp, err := x.attempt(ctx, r)
		if !errors.Is(err, Denied) || x.valueless {
			return resp, err
		}
		first = cmp.Or(first, err)
	}
	return nil, first
}

// attempt makes one hop under one rule.
func (x *exchange) attempt(ctx context.Context, r *rule) (*http.Response, error) {
	connected := false
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) {
			connected = true
			x.sent.Store(true)
		},
	})
	req, err := x.request(ctx, r)
	if err != nil {
		return nil, err
	}
	resp, err := r.transport.RoundTrip(req)
	var refused *addressError
	switch {
	case err == nil && resp.StatusCode == http.StatusSwitchingProtocols:
		_ = resp.Body.Close()
		return nil, x.fail(Network, "answer", "the server switched protocols, unasked")
	case err == nil:
		return resp, nil
	case errors.As(err, &refused):
		return nil, x.refuseAddress(r, refused)
	case !connected && ctx.Err() == nil && x.client.life.Err() == nil:
		return nil, x.noConnection(err)
	}
	return nil, err
}

// request is what goes over the wire: the guest's headers, the client's, and the secrets.
func (x *exchange) request(ctx context.Context, r *rule) (*http.Request, error) {
	req := &http.Request{Method: x.method, URL: x.target.url(), Host: x.target.authority(),
		Header: x.header.Clone(), ContentLength: int64(len(x.body))}
	if body := x.body; len(body) > 0 {
		// Asked for again when a kept connection turns out to be closed before anything was sent.
		req.GetBody = func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(body)), nil
		}
		req.Body, _ = req.GetBody()
	}
	if req.Header["User-Agent"] == nil {
		req.Header.Set("User-Agent", userAgent)
	}
	req.Header.Set("Accept-Encoding", "gzip")
	for _, s := range x.client.secrets {
		if !s.isFor(&x.target) {
			continue
		}
		if err := x.mayInject(s, r); err != nil {
			return nil, err
		}
		value, err := s.get(ctx, x.client.learn)
		if err != nil && ctx.Err() != nil {
			return nil, err
		}
		if err != nil {
			x.valueless = true
			return nil, x.fail(Denied, "secret", "the secret %s cannot be used: %v", s.name, err)
		}
		s.inject(value, req.Header, req.URL)
	}
	return req.WithContext(ctx), nil
}

// redirect turns x to the next hop. Methods change as in net/http: 301, 302 and 303 become GET, 307
// and 308 are the same request again.
func (x *exchange) redirect(status int, location string) error {
	before := x.target
	x.hop++
	x.from, x.target = before.place(), target{}
	if x.hop > MaxRedirects {
		return x.fail(Denied, "redirect", "there are more than %d redirects", MaxRedirects)
	}
	next, f := before.follow(location)
	if f != nil {
		return x.refuse(f)
	}
	if err := x.withoutSecrets(&next); err != nil {
		return err
	}
	x.target = next
	if next.origin() != before.origin() {
		x.keepHeaders(func(name string) bool { return slices.Contains(portable, name) })
	}
	if status == http.StatusTemporaryRedirect || status == http.StatusPermanentRedirect {
		return nil
	}
	if x.method != http.MethodHead {
		x.method = http.MethodGet
	}
	x.body = nil
	x.keepHeaders(func(name string) bool { return !slices.Contains(describing, name) })
	return nil
}

func (x *exchange) keepHeaders(keep func(name string) bool) {
	for name := range x.header {
		if !keep(name) {
			delete(x.header, name)
		}
	}
}

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// receive reads the last answer.
func (x *exchange) receive(ctx context.Context, resp *http.Response) (*Response, error) {
	defer resp.Body.Close()
	s := x.client.scrub.Load()
	body, truncated, err := readBody(resp, x.client.limits.Response, s)
	if err != nil {
		return nil, x.explain(ctx, err)
	}
	return &Response{Status: resp.StatusCode, URL: s.text(x.target.String()),
		Headers: responseHeader(resp, s), Body: body, Truncated: truncated}, nil
}

func quote(s string) string { return fmt.Sprintf("%+q", s[:min(len(s), maxMethod)]) }
