package egress

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Options are what a Client is made with. The zero value, and nil, reach nothing.
type Options struct {
	Rules   []Rule   // at most MaxRules
	Secrets []Secret // at most MaxSecrets
	Limits  Limits
	// RootCAs replaces the system's roots for https; nil keeps them.
	RootCAs *x509.CertPool
	// Resolver looks names up, each time anew; nil is the system's.
	Resolver *net.Resolver
}

// Limits bound one client. A zero field is the documented default, never "no limit".
type Limits struct {
	Time       time.Duration // a request with its redirects and its body, DefaultTime
	Request    int64         // bytes of a request's body, DefaultRequest
	Response   int64         // bytes of an answer's body, decoded, DefaultResponse
	Headers    int64         // bytes of a request's headers, and of an answer's, DefaultHeaders
	Concurrent int           // requests at a time, DefaultConcurrent; further ones wait
}

// The limits of options that do not say otherwise.
const (
	DefaultTime       = 30 * time.Second
	DefaultRequest    = 4 << 20  // bytes
	DefaultResponse   = 8 << 20  // bytes
	DefaultHeaders    = 32 << 10 // bytes
	DefaultConcurrent = 16
)

// Limits that no option moves.
const (
	MaxRules       = 256
	MaxSecrets     = 32
	MaxURL         = 8 << 10 // bytes, also of a redirect's
	MaxHeaders     = 64      // of a request
	MaxRedirects   = 10      // hops after the first
	DialTimeout    = 10 * time.Second
	TLSTimeout     = 10 * time.Second
	idleTimeout    = 30 * time.Second // of a connection
	idleConns      = 8                // kept by a rule, of all its hosts
	maxDrain       = 4 << 10          // bytes of a redirect's body read to keep the connection
	maxErrorDetail = 400              // bytes of a text that somebody else wrote
)

// Request is what a guest asks for.
type Request struct {
	Method  string // "" is GET
	URL     string // absolute, http or https
	Headers []Header
	Body    []byte        // must not change any more, not even after Do has returned
	Timeout time.Duration // for this request; 0, and what is longer, is the client's limit
}

// Response is what a guest gets.
type Response struct {
	Status  int
	URL     string // of the last hop
	Headers []Header
	Body    []byte
	// Truncated says that the server had more than the limit, or that the end was taken off because
	// the cut would have gone through a secret.
	Truncated bool
}

// Header is one line of a head. A name may come more than once.
type Header struct{ Name, Value string }

// Client sends what its rules allow. It is safe for concurrent use.
type Client struct {
	limits  Limits
	rules   []*rule
	secrets []*secret
	dialer  *dialer
	slots   chan struct{}
	scrub   atomic.Pointer[scrubber] // nil while no secret was used

	// life ends with Close. It is the client's own, not a caller's.
	life context.Context
	end  context.CancelCauseFunc

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
	known   []known // what scrub looks for; guarded by mu
}

// New makes a client. The error joins a *ConfigError for everything that is wrong.
func New(opts *Options) (*Client, error) {
	if opts == nil {
		opts = &Options{}
	}
	limits, errs := opts.Limits.withDefaults()
	rules, ruleErrs := compileRules(opts.Rules)
	secrets, secretErrs := compileSecrets(opts.Secrets)
	errs = append(append(errs, ruleErrs...), secretErrs...)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	c := &Client{limits: limits, rules: rules, secrets: secrets,
		slots: make(chan struct{}, limits.Concurrent)}
	c.life, c.end = context.WithCancelCause(context.Background())
	c.dialer = newDialer(opts.Resolver, c.life)
	for _, r := range rules {
		r.transport = newTransport(c.dialer, r, limits, opts.RootCAs)
	}
	return c, nil
}

// Close ends the requests that are under way, waits for them, and closes all connections. It may be
// called more than once.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.end(ErrClosed)
	c.running.Wait()
	c.dialer.close()
	for _, r := range c.rules {
		r.transport.CloseIdleConnections()
	}
	return nil
}

// Scrub replaces the secrets that the client has used, and their common encodings, in a text that
// is about to be shown, kept or handed on.
func (c *Client) Scrub(text string) string { return c.scrub.Load().text(text) }

// admit gives a request its time and its turn. After release, ctx is done.
func (c *Client) admit(ctx context.Context, own time.Duration) (context.Context, func(), error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return ctx, nil, ErrClosed
	}
	c.running.Add(1)
	c.mu.Unlock()

	limit := &timeError{c.limits.Time, "limits.time"}
	if own > 0 && own < limit.limit {
		limit = &timeError{own, "the request's own timeout"}
	}
	ctx, cancelTime := context.WithTimeoutCause(ctx, limit.limit, limit)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.life, func() { cancel(ErrClosed) })
	finish := func() {
		stop()
		cancel(nil)
		cancelTime()
		c.running.Done()
	}
	select {
	case c.slots <- struct{}{}:
		return ctx, func() { <-c.slots; finish() }, nil
	case <-ctx.Done():
		return ctx, finish, context.Cause(ctx)
	}
}

func (l Limits) withDefaults() (Limits, []error) {
	errs := []error{
		setDefault("time", &l.Time, DefaultTime),
		setDefault("request", &l.Request, DefaultRequest),
		setDefault("response", &l.Response, DefaultResponse),
		setDefault("headers", &l.Headers, DefaultHeaders),
		setDefault("concurrent", &l.Concurrent, DefaultConcurrent),
	}
	return l, compact(errs)
}

func setDefault[T ~int | ~int64](name string, field *T, value T) error {
	if *field == 0 {
		*field = value
	}
	if *field < 0 {
		return &ConfigError{"limits." + name, fmt.Sprint(*field), "is negative"}
	}
	return nil
}

// compact drops what is nil.
func compact(errs []error) []error {
	var kept []error
	for _, err := range errs {
		if err != nil {
			kept = append(kept, err)
		}
	}
	return kept
}
