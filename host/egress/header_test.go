package egress

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestRefusedHeaders are headers with which a guest would frame a message, or write one of its own.
func TestRefusedHeaders(t *testing.T) {
	w := newWorld(t)
	port := w.http(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("sent: %v", r.Header) })
	c := w.client(Options{Rules: []Rule{local("a.test", port)}})
	for _, h := range []Header{
		{"Host", "b.test"}, {"host", "b.test"}, {"HOST", ""}, {"Content-Length", "3"},
		{"content_length", "3"}, {"Transfer-Encoding", "chunked"}, {"transfer_encoding", "chunked"},
		{"Connection", "close, X-Guest"}, {"Keep-Alive", "1"}, {"Proxy-Authorization", "x"},
		{"proxy-connection", "x"}, {"Te", "trailers"}, {"Trailer", "X"}, {"Upgrade", "websocket"},
		{"Expect", "100-continue"}, {"HTTP2-Settings", "x"}, {"Referer", "http://a.test/"},
		{"Accept-Encoding", "br"},
		{"", "x"}, {" ", "x"}, {"Host ", "b.test"}, {" Host", "b.test"}, {"X Y", "x"}, {"X:Y", "x"},
		{"X\r\nHost: b.test\r\nY", "x"}, {"X\n", "x"}, {"X\x00", "x"}, {"Ⅹ-Y", "x"}, {":path", "/"},
		{"X", "a\r\nHost: b.test"}, {"X", "a\nb"}, {"X", "a\rb"}, {"X", "a\x00b"}, {"X", "a\x7f"},
	} {
		e := refused(t, c, &Request{URL: address("http", "a.test", port, "/"),
			Headers: []Header{{"X-Fine", "1"}, h}}, Denied, "header")
		if e.Sent || strings.ContainsAny(e.Error(), "\r\n\x00") {
			t.Errorf("%q: %q", h, e.Error())
		}
	}
}

func TestHeaderLimits(t *testing.T) {
	w := newWorld(t)
	port := w.http(func(rw http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(rw, len(r.Header["X"]))
	})
	c := w.client(Options{Rules: []Rule{local("a.test", port)}, Limits: Limits{Headers: 1000}})
	url := address("http", "a.test", port, "/")
	many := slices.Repeat([]Header{{"X", "y"}}, MaxHeaders)
	if resp := get(t, c, url, many...); string(resp.Body) != fmt.Sprint(MaxHeaders) {
		t.Errorf("%s", resp.Body)
	}
	refused(t, c, &Request{URL: url, Headers: append(many, many[0])}, TooLarge, "header")
	get(t, c, url, Header{"X", strings.Repeat("y", 999)})
	refused(t, c, &Request{URL: url, Headers: []Header{{"X", strings.Repeat("y", 1000)}}}, TooLarge,
		"header")
}

// TestWire is what stands on the wire, to the byte.
func TestWire(t *testing.T) {
	for _, c := range []struct {
		name string
		req  Request
		want string
	}{
		{"get", Request{}, "GET /x HTTP/1.1\r\nHost: HOST\r\nUser-Agent: wasmagent\r\n" +
			"Accept-Encoding: gzip\r\n\r\n"},
		{"post without a body", Request{Method: "POST"}, "POST /x HTTP/1.1\r\nHost: HOST\r\n" +
			"User-Agent: wasmagent\r\nContent-Length: 0\r\nAccept-Encoding: gzip\r\n\r\n"},
		{"post", Request{Method: "POST", Body: []byte("ab"), Headers: []Header{{"user-agent", "me"},
			{"x-a", " 1 "}, {"X-A", "2"}}}, "POST /x HTTP/1.1\r\nHost: HOST\r\nUser-Agent: me\r\n" +
			"Content-Length: 2\r\nAccept-Encoding: gzip\r\nX-A: 1\r\nX-A: 2\r\n\r\nab"},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan string, 1)
		go func() {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			defer nc.Close()
			var seen bytes.Buffer
			for !strings.HasSuffix(seen.String(), c.want[len(c.want)-4:]) {
				if _, err := io.CopyN(&seen, nc, 1); err != nil {
					break
				}
			}
			got <- seen.String()
			_, _ = io.WriteString(nc, "HTTP/1.1 204 No Content\r\n\r\n")
		}()
		w := newWorld(t)
		port := portOf(t, l.Addr())
		client := w.client(Options{Rules: []Rule{local("a.test", port)}})
		c.req.URL = address("http", "a.test", port, "/x#fragment")
		if _, err := client.Do(t.Context(), &c.req); err != nil {
			t.Fatal(err)
		}
		if s := strings.ReplaceAll(<-got, "a.test:"+portText(port), "HOST"); s != c.want {
			t.Errorf("%s: %q", c.name, s)
		}
		_ = l.Close()
	}
}

// TestResponseHeaders shows which lines of an answer are the guest's.
func TestResponseHeaders(t *testing.T) {
	w := newWorld(t)
	port := w.raw("HTTP/1.1 200 OK\r\nX-B: 2\r\nX-A: 1\r\nx-a: \xff\r\nConnection: X-Hop\r\n" +
		"X-Hop: 1\r\nKeep-Alive: 1\r\nProxy-Authenticate: x\r\nTrailer: X\r\nSet-Cookie: a=b\r\n" +
		"Content-Length: 2\r\n\r\nok")
	c := w.client(Options{Rules: []Rule{local("a.test", port)}})
	resp := get(t, c, address("http", "a.test", port, "/"))
	want := []Header{{"Set-Cookie", "a=b"}, {"X-A", "1"}, {"X-A", "\ufffd"}, {"X-B", "2"}}
	if !slices.Equal(resp.Headers, want) {
		t.Errorf("%q", resp.Headers)
	}
}

func TestMethods(t *testing.T) {
	w := newWorld(t)
	port := w.http(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("X-Method",
			r.Method)
	})
	rule := local("a.test", port)
	rule.Methods = []string{"PROPFIND", "GET", "M-SEARCH"}
	c := w.client(Options{Rules: []Rule{rule}})
	url := address("http", "a.test", port, "/")
	for method, want := range map[string]string{"": "GET", "GET": "GET", "PROPFIND": "PROPFIND",
		"M-SEARCH": "M-SEARCH"} {
		resp, err := c.Do(t.Context(), &Request{Method: method, URL: url})
		if err != nil || resp.header("X-Method") != want {
			t.Errorf("%s: %v %v", method, resp, err)
		}
	}
	for _, method := range []string{"CONNECT", "TRACE", "get", "GET ",
		"GET / HTTP/1.1\r\nX: y\r\n\r\nGET",
		"GÉT", "G\x00T", strings.Repeat("A", maxMethod+1), "POST", strings.Repeat("A", maxMethod)} {
		refused(t, c, &Request{Method: method, URL: url}, Denied, "method")
	}
}
