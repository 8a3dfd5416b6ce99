package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// checkURL tells what is wrong with a server's address, or gives "". Secrets and what tools are
// told travel over it, so in the clear it goes to this machine only.
func checkURL(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "it is no URL" // the error's text would repeat what may be secret
	case u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "want https://HOST/…, or http:// to this machine"
	case u.User != nil:
		return "it has a user name; give it as a header from a secret"
	case u.Fragment != "":
		return "it has a fragment"
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return "http:// goes to this machine only; use https://"
	}
	return ""
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// owned are headers that belong to the transport.
var owned = []string{"Accept", "Connection", "Content-Length", "Content-Type", "Host",
	"Last-Event-Id", "Transfer-Encoding"}

// dialHTTP makes a transport that talks to the server's URL with these headers.
func dialHTTP(address string, base http.RoundTripper, headers http.Header, s *sieve) *link {
	guard := &guard{base: base, headers: headers, sieve: s}
	return &link{transport: &sdk.StreamableClientTransport{
		Endpoint: address,
		HTTPClient: &http.Client{
			Transport: guard,
			// A redirect would carry arguments and secrets to where nobody sent them.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}}
}

// guard puts the operator's headers on each request, and a sieve on each answer.
type guard struct {
	base    http.RoundTripper
	headers http.Header
	sieve   *sieve
}

func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	sent := req.Clone(req.Context())
	for name, values := range g.headers {
		sent.Header[name] = values
	}
	resp, err := g.base.RoundTrip(sent)
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode == http.StatusNotFound && sent.Header.Get(sessionHeader) != "":
		lostSession(req, resp)
	case resp.StatusCode/100 != 2:
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, MaxAnswerBytes), resp.Body}
	case kind == "text/event-stream":
		resp.Body = g.sieve.events(resp.Body, func() json.RawMessage { return idOf(req) })
	default:
		resp.Body = g.sieve.whole(resp.Body, func() json.RawMessage { return idOf(req) })
	}
	resp.Header.Del("Content-Length")
	resp.ContentLength = -1
	return resp, nil
}

// sessionHeader names the session that a request belongs to.
const sessionHeader = "Mcp-Session-Id"

// lostSession reads an answer 404 to a request of a session, by which a server says that it does not
// know it. Servers say so in various ways, after most of which the library would go on with the
// session for ever: all but an answer to the very call are made the one by which it ends it. A call
// learns whether it was the server that spoke, and of its session.
func lostSession(req *http.Request, resp *http.Response) {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, MaxAnswerBytes))
	resp.Body.Close()
	resp.Body = http.NoBody
	var answer struct {
		ID json.RawMessage `json:"id"`
	}
	ofSession := bytes.Contains(bytes.ToLower(body), []byte("session"))
	if id := idOf(req); !ofSession && id != nil && json.Unmarshal(body, &answer) == nil &&
		bytes.Equal(answer.ID, id) {
		resp.Body = io.NopCloser(bytes.NewReader(body))
		return
	}
	if sent, ok := req.Context().Value(deliveryKey{}).(*delivery); ok && ofSession {
		sent.refused.Store(true)
	}
}

// idOf is the number of the call that a request makes, or nil.
func idOf(req *http.Request) json.RawMessage {
	if req.GetBody == nil {
		return nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil
	}
	defer body.Close()
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	if json.NewDecoder(body).Decode(&m) != nil {
		return nil
	}
	return m.ID
}

// whole sifts an answer that is one message. Whatever is wrong with it is said of its call alone:
// the library would end the session.
func (s *sieve) whole(from io.ReadCloser, id func() json.RawMessage) io.ReadCloser {
	return &feed{closer: from, next: func() ([]byte, error) {
		b, err := io.ReadAll(io.LimitReader(from, int64(s.max)+1))
		switch {
		case err != nil:
			return errorMessage(id(), codeBroken, "the answer broke off"), io.EOF
		case len(b) > s.max:
			return errorMessage(id(), codeTooLong, "the answer is too long"), io.EOF
		}
		if out := s.pass(b); out != nil {
			return out, io.EOF
		}
		return errorMessage(id(), codeMalformed, "the answer is no message"), io.EOF
	}}
}

// events sifts an answer that is a stream of events, each with one message. The data of an event
// become one line.
func (s *sieve) events(from io.ReadCloser, id func() json.RawMessage) io.ReadCloser {
	in := bufio.NewReaderSize(from, 32<<10)
	return &feed{closer: from, next: func() ([]byte, error) {
		var e event
		for {
			l, err := readLine(in, s.max)
			if err != nil {
				return nil, err // an event without its end is none
			}
			if !l.long && len(l.text) == 0 {
				return s.event(&e, id), nil
			}
			e.add(l, s.max)
		}
	}}
}

// event is one event of a stream as it is read.
type event struct {
	fields []byte // lines other than data
	data   []byte
	isData bool
	long   bool
}

func (e *event) add(l line, max int) {
	name, value, _ := bytes.Cut(l.text, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch {
	case l.long, len(e.data)+len(e.fields)+len(l.text) > max:
		e.long, e.data, e.fields = true, nil, nil
	case e.long:
	case string(name) == "data":
		if e.isData {
			e.data = append(e.data, '\n')
		}
		e.data, e.isData = append(e.data, value...), true
	default:
		e.fields = append(append(e.fields, l.text...), '\n')
	}
}

func (s *sieve) event(e *event, id func() json.RawMessage) []byte {
	var message []byte
	switch {
	case e.long:
		if call := id(); call != nil {
			message = errorMessage(call, codeTooLong, "the answer is too long")
		} else {
			s.log(fmt.Sprintf("a message of more than %d bytes was dropped", s.max))
		}
	case len(e.data) > 0:
		if message = s.pass(e.data); message == nil {
			s.noise(e.data)
		}
	}
	out := e.fields
	if message != nil {
		out = append(append(append(out, "data: "...), message...), '\n')
	}
	if len(out) == 0 {
		return nil
	}
	return append(out, '\n')
}

// checkHeader tells what is wrong with a header's name.
func checkHeader(name string) error {
	canonical := http.CanonicalHeaderKey(name)
	for _, own := range owned {
		if canonical == own {
			return errors.New("it belongs to the transport")
		}
	}
	if strings.HasPrefix(canonical, "Mcp-") {
		return errors.New("it belongs to the protocol")
	}
	for _, c := range name {
		if c <= ' ' || c >= 0x7f || strings.ContainsRune("\"(),/:;<=>?@[\\]{}", c) {
			return errors.New("it is no name of a header")
		}
	}
	return nil
}
