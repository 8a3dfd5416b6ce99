package egress

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// userAgent is sent unless the guest sets another.
const userAgent = "wasmagent"

// framing are the headers that say where a message ends, who gets it and how it is coded, and the
// referer, which tells one server about another.
var framing = []string{"Accept-Encoding", "Connection", "Content-Length", "Expect", "Host",
	"Http2-Settings", "Keep-Alive", "Referer", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// portable are the guest's headers that go along to another origin.
var portable = append([]string{"Accept", "Accept-Language", "User-Agent"}, describing...)

// describing are the headers that go with a body, and are dropped with it.
var describing = []string{"Content-Encoding", "Content-Language", "Content-Location",
	"Content-Type"}

// hopByHop are headers of an answer that were for this client, and those that stopped being true
// when it read the body.
var hopByHop = []string{"Connection", "Content-Encoding", "Content-Length", "Keep-Alive", "Trailer",
	"Transfer-Encoding", "Upgrade"}

// refusedHeader says why a guest may not set a header; "" if it may.
func refusedHeader(name string) string {
	if !httpguts.ValidHeaderFieldName(name) {
		return "that is no header's name"
	}
	// Some servers read _ as -.
	name = http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
	if slices.Contains(framing, name) || strings.HasPrefix(name, "Proxy-") {
		return fmt.Sprintf("the header %s is the host's to set", name)
	}
	return ""
}

// requestHeader checks what a guest wants to send along.
func requestHeader(headers []Header, limit int64) (http.Header, *fault) {
	if len(headers) > MaxHeaders {
		return nil, tooLarge("header", "there are %d headers, more than %d", len(headers), MaxHeaders)
	}
	var size int64
	out := make(http.Header, len(headers)+3)
	for i, h := range headers {
		size += int64(len(h.Name) + len(h.Value))
		if size > limit {
			return nil, tooLarge("header", "the headers have more than %d bytes (limits.headers)", limit)
		}
		if why := refusedHeader(h.Name); why != "" {
			return nil, faultf("header", "header %d: %s", i+1, why)
		}
		if !httpguts.ValidHeaderFieldValue(h.Value) {
			return nil, faultf("header", "the header %s has control characters in its value",
				h.Name)
		}
		out.Add(h.Name, h.Value)
	}
	return out, nil
}

// responseHeader is what a guest gets of an answer's head, sorted by name.
func responseHeader(resp *http.Response, s *scrubber) []Header {
	dropped := slices.Clone(hopByHop)
	if resp.Request.Method == http.MethodHead {
		dropped = slices.DeleteFunc(dropped, func(n string) bool { return n == "Content-Length" })
	}
	for _, list := range resp.Header["Connection"] {
		for name := range strings.SplitSeq(list, ",") {
			dropped = append(dropped, http.CanonicalHeaderKey(strings.TrimSpace(name)))
		}
	}
	var out []Header
	for name, values := range resp.Header {
		if slices.Contains(dropped, name) || strings.HasPrefix(name, "Proxy-") || s.inName(name) {
			continue
		}
		for _, v := range values {
			out = append(out, Header{name, strings.ToValidUTF8(s.text(v), "\ufffd")})
		}
	}
	slices.SortStableFunc(out, func(a, b Header) int { return strings.Compare(a.Name, b.Name) })
	return out
}
