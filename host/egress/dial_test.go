package egress

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

func hello(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("hello")) }

// TestAddressIsCheckedWhenDialled is about names that lead inside.
func TestAddressIsCheckedWhenDialled(t *testing.T) {
	w := newWorld(t)
	port := w.http(hello)
	for _, address := range []string{"127.0.0.1", "::1", "10.0.0.1", "169.254.169.254",
		"fd00:ec2::254",
		"100.64.0.1", "0.0.0.0", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "224.0.0.1"} {
		w.names["in.test"] = func() []string { return []string{address} }
		c := w.client(Options{Rules: []Rule{{Host: "in.test", Scheme: "http", Port: port}}})
		e := refused(t, c, &Request{URL: "http://in.test:" + portText(port) + "/"}, Denied, "address")
		if !strings.HasPrefix(e.Detail, "in.test is at ") || e.Sent {
			t.Errorf("%s: %v", address, e)
		}
		never := e.Fix == ""
		if never != slices.Contains([]string{"0.0.0.0", "224.0.0.1", "169.254.169.254",
			"fd00:ec2::254"}, address) {
			t.Errorf("%s: %v", address, e)
		}
	}
}

// TestSuggestedAddress shows that what an error suggests works.
func TestSuggestedAddress(t *testing.T) {
	w := newWorld(t)
	port := w.http(hello)
	rule := Rule{Host: "a.test", Scheme: "http", Port: port}
	req := &Request{URL: "http://a.test:" + portText(port) + "/"}
	e := refused(t, w.client(Options{Rules: []Rule{rule}}), req, Denied, "address")
	fixed := w.client(Options{Rules: []Rule{parseRule(t, e.Fix)}})
	if resp := get(t, fixed, req.URL); string(resp.Body) != "hello" {
		t.Errorf("%+v", resp)
	}
}

// TestRebinding is a name that is public when it is looked up for a check, and is not when it is
// looked up for a connection. There is only one look-up, and its answer is what is checked.
func TestRebinding(t *testing.T) {
	w := newWorld(t)
	var hits, lookups atomic.Int32
	port := w.http(func(rw http.ResponseWriter, r *http.Request) { hits.Add(1); hello(rw, r) })
	w.names["in.test"] = func() []string {
		if lookups.Add(1) <= 1 {
			return []string{"10.9.9.9"}
		}
		return []string{"127.0.0.1"}
	}
	url := "http://in.test:" + portText(port) + "/"
	c := w.client(Options{Rules: []Rule{{Host: "in.test", Scheme: "http", Port: port}}})
	for range 4 {
		refused(t, c, &Request{URL: url}, Denied, "address")
	}
	if hits.Load() != 0 || lookups.Load() < 4 {
		t.Errorf("%d requests got through, %d look-ups", hits.Load(), lookups.Load())
	}
}

// TestMixedAnswer is a name with an address that may be reached and one that may not: only the
// first is.
func TestMixedAnswer(t *testing.T) {
	w := newWorld(t)
	port := w.http(hello)
	w.names["in.test"] = func() []string { return []string{"127.0.0.2", "127.0.0.1"} }
	c := w.client(Options{Rules: []Rule{local("in.test", port)}})
	if resp := get(t, c, "http://in.test:"+portText(port)+"/"); string(resp.Body) != "hello" {
		t.Errorf("%+v", resp)
	}
}

// TestConnectionsOfRules shows that a connection that one rule may have is not used for another
// that may not, nor by another client.
func TestConnectionsOfRules(t *testing.T) {
	w := newWorld(t)
	port := w.http(hello)
	inside := local("a.test", port)
	inside.Path = "/inside"
	outside := Rule{Host: "a.test", Scheme: "http", Port: port, Path: "/outside"}
	c := w.client(Options{Rules: []Rule{inside, outside}})
	base := "http://a.test:" + portText(port)
	get(t, c, base+"/inside")
	refused(t, c, &Request{URL: base + "/outside"}, Denied, "address")
	other := w.client(Options{Rules: []Rule{outside}})
	refused(t, other, &Request{URL: base + "/outside"}, Denied, "address")
	get(t, c, base+"/inside")
}

// TestRulesAddUp shows that a rule whose address is refused does not stand in the way of one that
// grants it.
func TestRulesAddUp(t *testing.T) {
	w := newWorld(t)
	port := w.http(hello)
	c := w.client(Options{Rules: []Rule{{Host: "*.test", Scheme: "http", Port: port}, local("a.test",
		port)}})
	get(t, c, "http://a.test:"+portText(port)+"/")
}

// TestAddressAsHost shows that a rule that names an address grants it, and only it.
func TestAddressAsHost(t *testing.T) {
	w := newWorld(t)
	port := w.http(hello)
	c := w.client(Options{Rules: []Rule{{Host: "127.0.0.1", Scheme: "http", Port: port}}})
	get(t, c, "http://127.0.0.1:"+portText(port)+"/")
	refused(t, c, &Request{URL: "http://127.0.0.2:" + portText(port) + "/"}, Denied, "host")
}

// TestNetworkIsNoDenial is about failures that may pass.
func TestNetworkIsNoDenial(t *testing.T) {
	w := newWorld(t)
	const closed = 1 // a port that nobody gets by chance
	plain := w.http(hello)
	c := w.client(Options{Rules: []Rule{local("a.test", closed), secure("a.test", plain),
		{Host: "nowhere.test"}, secure("127.0.0.1", w.https(hello))}})
	for url, say := range map[string]string{
		"http://a.test:" + portText(closed) + "/": "connection refused",
		"https://a.test:" + portText(plain) + "/": "tls",
		"https://nowhere.test/":                   "no such host",
	} {
		e := refused(t, c, &Request{URL: url}, Network, "connection")
		if !strings.Contains(e.Detail, say) && !strings.Contains(e.Detail, "HTTP response to HTTPS") ||
			e.Sent || e.Fix != "" {
			t.Errorf("%v", e)
		}
	}
	e := refused(t, c, &Request{URL: "https://nowhere.test/"}, Network, "connection")
	if dns := (*net.DNSError)(nil); !errors.As(e, &dns) || !dns.IsNotFound {
		t.Errorf("%#v", e.Err)
	}
}

// TestCertificate shows that a certificate for another name is none.
func TestCertificate(t *testing.T) {
	w := newWorld(t)
	port := w.https(hello)
	w.names["c.test"] = func() []string { return []string{"127.0.0.1"} }
	c := w.client(Options{Rules: []Rule{secure("c.test", port), secure("a.test", port)}})
	e := refused(t, c, &Request{URL: address("https", "c.test", port, "/")}, Network, "connection")
	if !strings.Contains(e.Detail, "certificate") || e.Sent {
		t.Error(e)
	}
	get(t, c, address("https", "a.test", port, "/"))
}

// TestNoProxy looks at the field: net/http reads the environment once in a process, so that a test
// which sets a proxy there would only sometimes see it.
func TestNoProxy(t *testing.T) {
	c := newWorld(t).client(Options{Rules: []Rule{{Host: "a.test"}}})
	if c.rules[0].transport.Proxy != nil {
		t.Error("the environment could name a proxy")
	}
}

// TestDialAfterClose is about a dial that the transport began before the client was closed.
func TestDialAfterClose(t *testing.T) {
	port := newWorld(t).http(hello)
	d := newDialer(nil, t.Context())
	d.close()
	granted := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	c, err := d.dial(t.Context(), "tcp", "127.0.0.1:"+portText(port), granted)
	if c != nil || err != ErrClosed {
		t.Errorf("%v %v", c, err)
	}
}

// TestNoHTTP2 shows that a server which would rather speak HTTP/2 is not asked to.
func TestNoHTTP2(t *testing.T) {
	w := newWorld(t)
	port := w.https(func(rw http.ResponseWriter, r *http.Request) { _, _ = rw.Write([]byte(r.Proto)) })
	c := w.client(Options{Rules: []Rule{secure("a.test", port)}})
	if resp := get(t, c, address("https", "a.test", port, "/")); string(resp.Body) != "HTTP/1.1" {
		t.Errorf("%s", resp.Body)
	}
}

func TestNoCookieJarNoReferer(t *testing.T) {
	w := newWorld(t)
	port := w.http(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Cookie") != "" || r.Header.Get("Referer") != "" {
			t.Errorf("%v", r.Header)
		}
		if r.URL.Path == "/" {
			rw.Header().Set("Set-Cookie", "a=b; Path=/")
			http.Redirect(rw, r, "/next", http.StatusFound)
		}
	})
	c := w.client(Options{Rules: []Rule{local("a.test", port)}})
	get(t, c, address("http", "a.test", port, "/"))
	get(t, c, address("http", "a.test", port, "/"))
}

func TestContextCause(t *testing.T) {
	w := newWorld(t)
	entered := make(chan struct{})
	release := make(chan struct{})
	port := w.http(func(http.ResponseWriter, *http.Request) { close(entered); <-release })
	defer close(release)
	c := w.client(Options{Rules: []Rule{local("a.test", port)}})
	because := errors.New("the caller's reason")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { <-entered; cancel(because) }()
	if _, err := c.Do(ctx, &Request{URL: address("http", "a.test", port, "/")}); err != because {
		t.Error(err)
	}
}
