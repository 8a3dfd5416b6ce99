// Package wire sends requests to a provider and reads answers, whole or streamed. It knows nothing
// of what they say.
package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/wasmagent/wasmagent/agentloop/provider"
)

// API is what a wire says of the API that it speaks.
type API struct {
	Name        string // of the wire, in errors
	BaseURL     string // of the vendor
	KeyVariable string // where the vendor's own programs look for the key
	Header      http.Header
	Authorize   func(header http.Header, key string)
	Reserved    []string // fields of the body that Options.Extra may not have
}

// Client sends requests to one server.
type Client struct {
	api    API
	base   *url.URL
	header http.Header
	http   http.Client
	opts   provider.Options
	hide   *strings.Replacer // takes secrets out of a text
	secret int               // bytes of the longest one
}

// New checks the options. A key that is missing is a *provider.MissingAPIKeyError.
func New(api API, opts *provider.Options) (*Client, error) {
	c := &Client{api: api}
	if opts != nil {
		c.opts = *opts
	}
	if c.opts.Idle <= 0 {
		c.opts.Idle = provider.DefaultIdle
	}
	if c.opts.Client != nil {
		c.http = *c.opts.Client
	}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}
	for _, name := range api.Reserved {
		if _, ok := c.opts.Extra[name]; ok {
			return nil, fmt.Errorf("%s: Options.Extra has %q, which is not its to set", api.Name, name)
		}
	}
	key, err := c.key()
	if err != nil {
		return nil, err
	}
	for name, value := range c.opts.Headers {
		if !headerName.MatchString(name) || !headerValue.MatchString(value) {
			return nil, fmt.Errorf("%s: the header %q cannot be sent", api.Name, name)
		}
	}
	if err := c.setBase(key != ""); err != nil {
		return nil, err
	}
	c.setHeader(key)
	return c, nil
}

// Host is the server's, with its port.
func (c *Client) Host() string { return c.base.Host }

// Path is that of the base URL.
func (c *Client) Path() string { return c.base.Path }

// Post sends body as JSON and has the answer read. read is called again for each try and must
// begin from nothing; see Answer for what ends the tries.
func (c *Client) Post(ctx context.Context, path string, body map[string]any,
	read func(*Answer) error) error {
	payload, err := c.encode(body)
	if err != nil {
		return fmt.Errorf("%s: the request has no JSON form: %w", c.api.Name, err)
	}
	waits := backoff.ExponentialBackOff{InitialInterval: provider.FirstWait, Multiplier: 2,
		RandomizationFactor: 0.25, MaxInterval: provider.MaxWait}
	for try := 1; ; try++ {
		f := c.once(ctx, path, payload, read)
		switch {
		case f == nil:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("%s at %s: %w", c.api.Name, c.base.Host, context.Cause(ctx))
		case try > provider.Retries || !f.passing():
			return c.name(f.err, try)
		}
		wait := waits.NextBackOff()
		if f.after >= 0 {
			wait = f.after
		}
		wait = min(wait, provider.MaxWait)
		c.log(ctx, f.err, try, wait)
		if err := sleep(ctx, wait); err != nil {
			return fmt.Errorf("%s at %s: %w", c.api.Name, c.base.Host, err)
		}
	}
}

// encode adds the caller's own fields.
func (c *Client) encode(body map[string]any) ([]byte, error) {
	for name, value := range c.opts.Extra {
		body[name] = value
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(body)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func (c *Client) name(err error, tries int) error {
	if tries > 1 {
		return fmt.Errorf("%s at %s, asked %d times: %w", c.api.Name, c.base.Host, tries, err)
	}
	return fmt.Errorf("%s at %s: %w", c.api.Name, c.base.Host, err)
}

func (c *Client) log(ctx context.Context, err error, try int, wait time.Duration) {
	if c.opts.Logger != nil {
		c.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "the provider is asked again",
			slog.String("provider", c.api.Name), slog.String("host", c.base.Host),
			slog.Int("try", try), slog.Duration("wait", wait), slog.Any("error", err))
	}
}

// once makes one request.
func (c *Client) once(parent context.Context, path string, payload []byte,
	read func(*Answer) error) *failure {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	idle := newIdle(c.opts.Idle, cancel)
	defer idle.stop()

	url := c.base.JoinPath(path).String()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(payload))
	if err != nil {
		return &failure{err: c.unreachable(ctx, err), final: true}
	}
	req.Header = c.header.Clone()
	idle.start()
	resp, err := c.http.Do(req)
	idle.stop()
	if err != nil {
		return &failure{err: c.unreachable(ctx, err), after: -1}
	}
	defer resp.Body.Close()
	body := &body{from: resp.Body, idle: idle, fail: func(err error) error {
		return c.unreachable(ctx, err)
	}}
	if resp.StatusCode/100 != 2 {
		return c.refused(resp, body)
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	answer := &Answer{body: body, Streamed: !c.opts.NoStream && kind != "application/json", client: c}
	if err := read(answer); err != nil {
		return &failure{err: otherKind(err, kind), after: -1, final: answer.begun}
	}
	return nil
}

// otherKind adds to the error of an answer that cannot be read what it is, if that is no kind of
// answer: then it is somebody else's, such as a page to log in.
func otherKind(err error, kind string) error {
	bad, ok := errors.AsType[*provider.DecodeError](err)
	if !ok || kind == "application/json" || kind == "text/event-stream" || kind == "" {
		return err
	}
	return Broken("%w; its content type is %.60q: is the base URL right?", bad.Err, kind)
}

// refused reads an answer that is not a good one.
func (c *Client) refused(resp *http.Response, body io.Reader) *failure {
	// A secret that lies across the cut must still be found, so a little more is read.
	text, _ := io.ReadAll(io.LimitReader(body, int64(provider.MaxErrorBody+c.secret+1)))
	return &failure{err: c.Status(resp.StatusCode, string(text)), after: retryAfter(resp.Header)}
}

// unreachable is err without what net/http tells around it, which is the URL, without secrets, and
// without most of a long line that the server sent in place of HTTP.
func (c *Client) unreachable(ctx context.Context, err error) error {
	if silent, ok := errors.AsType[*silence](context.Cause(ctx)); ok {
		return &provider.HTTPError{Err: silent}
	}
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err
	}
	if text := cut(c.hide.Replace(err.Error())); text != err.Error() {
		err = errors.New(text)
	}
	return &provider.HTTPError{Err: err}
}

// Status is the error for a provider's own report of one.
func (c *Client) Status(status int, text string) error {
	text = cut(strings.ToValidUTF8(c.hide.Replace(text), "\uFFFD"))
	return &provider.StatusError{Status: status, Body: text}
}

// cut keeps as much of a stranger's text as an error may have.
func cut(text string) string {
	if len(text) <= provider.MaxErrorBody {
		return text
	}
	return strings.ToValidUTF8(text[:provider.MaxErrorBody], "") + provider.CutMark
}
