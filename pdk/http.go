package pdk

import (
	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/pdk/internal/guest"
)

// HTTPClient sends requests through the host, which holds each, and each redirect, against what its
// operator allows.
type HTTPClient struct{ host guest.Host }

// HTTP gives the call's way to other hosts. A plugin that uses it needs http, see Needs. (It is no
// method of Call because a linker keeps the methods of a program that reflects, used or not: then
// each such plugin would need it.)
func HTTP(c *Call) HTTPClient { return HTTPClient{c.host} }

// Request is an HTTP request. The host frames it: Host, Content-Length, Connection and their like
// are refused as headers, and so is what the operator injects, such as a token. A nil Body is none.
type Request = abi.HTTPRequest

// Response is an HTTP response: any status, after redirects. Body is whole unless Truncated.
type Response = abi.HTTPResponse

// Header is one line of a request's or response's head.
type Header = abi.HTTPHeader

// HostError is a host call that failed, with a Kind such as [Denied] and a message for whoever
// operates the host. A handler may return it: the call then fails with the kind as its code.
type HostError = abi.CallError

// The kinds of a HostError, to be used with errors.Is.
const (
	Denied    = abi.Denied    // the operator does not allow it
	Network   = abi.Network   // the server or the way to it; it may pass
	Timeout   = abi.Timeout   // it took too long
	TooLarge  = abi.TooLarge  // over a limit of the host's
	Quota     = abi.Quota     // the key-value space is full
	Busy      = abi.Busy      // other calls have the key-value space; it may pass
	Invalid   = abi.Invalid   // the host cannot read what it is asked
	Cancelled = abi.Cancelled // the caller no longer wants the result
	Internal  = abi.Internal  // the host's own trouble
)

// Do sends a request. Every status is a Response; the error is a *HostError.
func (h HTTPClient) Do(r *Request) (*Response, error) { return guest.HTTP(h.host, r) }

// Get asks for a URL.
func (h HTTPClient) Get(url string) (*Response, error) { return h.Do(&Request{URL: url}) }

// HeaderOf gives the first value of a name, in whatever case it is written; "" when there is none.
func HeaderOf(headers []Header, name string) string {
	for _, h := range headers {
		if equalFold(h.Name, name) {
			return h.Value
		}
	}
	return ""
}

// equalFold is for ASCII, as names of headers are.
func equalFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}
