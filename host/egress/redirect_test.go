package egress

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// script answers requests by path with a status and a location, and keeps what it saw.
type script struct {
	mu   sync.Mutex
	seen []string
	to   map[string]string // path: "302 location"
}

func (s *script) serve(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	line := fmt.Sprintf("%s %s%s %q", r.Method, r.Host[:strings.IndexByte(r.Host, ':')], r.URL.Path,
		body)
	for _, name := range []string{"Authorization", "Cookie", "Content-Type", "X-Guest", "Accept"} {
		if v := r.Header.Get(name); v != "" {
			line += " " + name
		}
	}
	s.seen = append(s.seen, line)
	answer, ok := s.to[r.URL.Path]
	s.mu.Unlock()
	if !ok {
		return
	}
	var status int
	var location string
	_, _ = fmt.Sscan(answer, &status, &location)
	rw.Header()["Location"] = []string{location}
	rw.WriteHeader(status)
}

func (s *script) saw() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// TestRedirects shows how methods, bodies and headers change on the way.
func TestRedirects(t *testing.T) {
	guest := []Header{{"Authorization", "x"}, {"Cookie", "a=b"}, {"Content-Type", "text/plain"},
		{"X-Guest", "1"}, {"Accept", "*/*"}}
	const all, portable = " Authorization Cookie Content-Type X-Guest Accept", " Content-Type Accept"
	const noBody = " Authorization Cookie X-Guest Accept"
	for _, c := range []struct {
		method, status, location string
		want                     string
	}{
		{"POST", "301", "/end", `GET a.test/end ""` + noBody},
		{"POST", "302", "/end", `GET a.test/end ""` + noBody},
		{"PUT", "303", "/end", `GET a.test/end ""` + noBody},
		{"POST", "307", "/end", `POST a.test/end "body"` + all},
		{"PUT", "308", "end", `PUT a.test/end "body"` + all},
		{"HEAD", "302", "/end", `HEAD a.test/end ""` + noBody},
		{"POST", "307", "http://b.test:PORT/end", `POST b.test/end "body"` + portable},
		{"POST", "302", "http://b.test:PORT/end", `GET b.test/end "" Accept`},
		{"POST", "307", "http://a.test:OTHER/end", `POST a.test/end "body"` + portable},
		{"GET", "302", "//b.test:PORT/end#fragment", `GET b.test/end "" Accept`},
		{"GET", "302", "http://A.TEST:PORT/x/../end", `GET a.test/end ""` + noBody},
	} {
		w, s := newWorld(t), &script{}
		port := w.http(s.serve)
		other := w.http(s.serve)
		ports := strings.NewReplacer("PORT", portText(port), "OTHER", portText(other))
		s.to = map[string]string{"/": c.status + " " + ports.Replace(c.location)}
		client := w.client(Options{Rules: []Rule{local("a.test", port), local("a.test", other),
			local("b.test", port)}})
		req := &Request{Method: c.method, URL: address("http", "a.test", port, "/"), Headers: guest}
		if c.method[0] == 'P' {
			req.Body = []byte("body")
		}
		resp, err := client.Do(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if seen := s.saw(); len(seen) != 2 || seen[1] != c.want || !strings.HasSuffix(resp.URL, "/end") {
			t.Errorf("%s %s %s: %q, %s", c.method, c.status, c.location, seen, resp.URL)
		}
	}
}

// TestRedirectIsJudged shows that every hop is held against the rules, and that nothing is sent on
// the one that fails.
func TestRedirectIsJudged(t *testing.T) {
	for _, c := range []struct {
		method, answer string
		part           string
	}{
		{"GET", "302 http://evil.test:PORT/", "host"},
		{"GET", "302 http://b.test:PORT/other", "path"},
		{"GET", "302 http://b.test:1/v1", "port"},
		{"GET", "302 https://b.test:PORT/v1", "scheme"},
		{"POST", "302 http://post.test:PORT/", "method"},
		{"GET", "302 http://127.0.0.1:PORT/", "host"},
		{"GET", "302 http://169.254.169.254/latest/meta-data/", "host"},
		{"GET", "302 http://[::ffff:127.0.0.1]:PORT/", "host"},
		{"GET", "302 http://2130706433:PORT/", "host"},
		{"GET", "302 http://inside.test:PORT/", "address"},
		{"GET", "302 http://user@b.test:PORT/v1", "url"},
		{"GET", `302 /\b.test:PORT/`, "url"},
		{"GET", "302 http://b.test:PORT/v1/%2e%2e/x", "path"},
		{"GET", "302 file:///etc/passwd", "scheme"},
		{"GET", "302 ftp://a.test/", "scheme"},
		{"GET", "302 javascript:alert(1)", "url"},
		{"GET", "302 data:,x", "url"},
		{"POST", "307 http://evil.test:PORT/", "host"},
		{"GET", "301 /again", "redirect"},
	} {
		w, s := newWorld(t), &script{}
		port := w.http(s.serve)
		w.names["inside.test"] = func() []string { return []string{"127.0.0.1"} }
		w.names["evil.test"], w.names["post.test"] = w.names["a.test"], w.names["a.test"]
		answer := strings.ReplaceAll(c.answer, "PORT", portText(port))
		s.to = map[string]string{"/": answer, "/again": "301 /again"}
		v1, post := local("b.test", port), local("post.test", port)
		v1.Path, post.Methods = "/v1", []string{"POST"}
		client := w.client(Options{Rules: []Rule{local("a.test", port), v1, post,
			{Host: "inside.test", Scheme: "http", Port: port}}})
		req := &Request{Method: c.method, URL: address("http", "a.test", port, "/")}
		e := refused(t, client, req, Denied, c.part)
		hops := 1
		if c.part == "redirect" {
			hops = MaxRedirects + 1
		}
		if e.Hop != hops || !e.Sent || len(s.saw()) != hops || e.From == "" {
			t.Errorf("%s: hop %d, sent %v, %q: %v", c.answer, e.Hop, e.Sent, s.saw(), e)
		}
	}
}

func TestRedirectLimit(t *testing.T) {
	w, s := newWorld(t), &script{to: map[string]string{}}
	port := w.http(s.serve)
	for i := range MaxRedirects {
		s.to[fmt.Sprint("/", i)] = fmt.Sprint("302 /", i+1)
	}
	s.to["/more"] = "302 /0"
	c := w.client(Options{Rules: []Rule{local("a.test", port)}})
	if resp := get(t, c, address("http", "a.test", port, "/0")); resp.Status != 200 {
		t.Errorf("%+v", resp)
	}
	e := refused(t, c, &Request{URL: address("http", "a.test", port, "/more")}, Denied, "redirect")
	if !strings.Contains(e.Error(), "more than 10 redirects") {
		t.Error(e)
	}
}

// TestNoRedirect is about answers that only look like one: the guest gets them.
func TestNoRedirect(t *testing.T) {
	w := newWorld(t)
	port := w.http(func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/300":
			rw.Header().Set("Location", "http://evil.test/")
			rw.WriteHeader(http.StatusMultipleChoices)
		case "/302":
			rw.WriteHeader(http.StatusFound)
		case "/201":
			rw.Header().Set("Location", "/made")
			rw.WriteHeader(http.StatusCreated)
		}
		_, _ = rw.Write([]byte("body"))
	})
	c := w.client(Options{Rules: []Rule{local("a.test", port)}})
	for _, status := range []int{300, 302, 201} {
		resp := get(t, c, address("http", "a.test", port, fmt.Sprint("/", status)))
		if resp.Status != status || string(resp.Body) != "body" {
			t.Errorf("%+v", resp)
		}
	}
}

// TestRedirectText is what an operator reads.
func TestRedirectText(t *testing.T) {
	w, s := newWorld(t), &script{}
	port := w.http(s.serve)
	s.to = map[string]string{"/": "302 https://evil.test/x?token=1"}
	c := w.client(Options{Rules: []Rule{local("a.test", port)}})
	e := refused(t, c, &Request{URL: address("http", "a.test", port, "/?q=1")}, Denied, "host")
	want := "GET https://evil.test/x: redirect 1, from " + address("http", "a.test", port, "/") +
		`: no rule allows the host evil.test; to allow it: { host = "evil.test" }`
	if e.Error() != want {
		t.Errorf("%v\nnot %s", e, want)
	}
	if !slices.Equal(s.saw(), []string{`GET a.test/ ""`}) {
		t.Errorf("%q", s.saw())
	}
}
