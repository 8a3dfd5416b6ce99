package egress

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestRequestBodyLimit(t *testing.T) {
	w := newWorld(t)
	port := w.http(func(rw http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		_, _ = fmt.Fprint(rw, n)
	})
	c := w.client(Options{Rules: []Rule{local("a.test", port)}, Limits: Limits{Request: 1000}})
	req := &Request{Method: "POST", URL: address("http", "a.test", port, "/"), Body: make([]byte,
		1000)}
	if resp, err := c.Do(t.Context(), req); err != nil || string(resp.Body) != "1000" {
		t.Error(err)
	}
	req.Body = make([]byte, 1001)
	e := refused(t, c, req, TooLarge, "body")
	if !strings.Contains(e.Error(), "limits.request") || e.Sent {
		t.Error(e)
	}
}

// TestResponseLimit shows that a body at the limit is whole and that one past it is cut and marked,
// with and without coding, with and without a length.
func TestResponseLimit(t *testing.T) {
	const limit = 100_000
	w := newWorld(t)
	port := w.http(func(rw http.ResponseWriter, r *http.Request) {
		var size int
		_, _ = fmt.Sscan(r.URL.Query().Get("size"), &size)
		body := bytes.Repeat([]byte("x"), size)
		switch r.URL.Path {
		case "/length":
			rw.Header().Set("Content-Length", fmt.Sprint(size))
		case "/gzip":
			rw.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(rw)
			_, _ = z.Write(body)
			_ = z.Close()
			return
		}
		rw.WriteHeader(http.StatusNotFound)
		_, _ = rw.Write(body)
	})
	plain := w.client(Options{Rules: []Rule{local("a.test", port)}, Limits: Limits{Response: limit}})
	scrubbing := w.client(Options{Rules: []Rule{local("a.test", port)},
		Limits: Limits{Response: limit}})
	scrubbing.scrub.Store(newScrubber([]word{{"correct horse", "S"}}))
	for _, c := range []*Client{plain, scrubbing} {
		for _, path := range []string{"/", "/length", "/gzip"} {
			for size, truncated := range map[int]bool{0: false, 1: false, limit - 1: false, limit: false,
				limit + 1: true, 3 * limit: true} {
				resp := get(t, c, address("http", "a.test", port, fmt.Sprint(path, "?size=", size)))
				if resp.Truncated != truncated || len(resp.Body) != min(size, limit) {
					t.Errorf("%s of %d: %d bytes, truncated %v", path, size, len(resp.Body), resp.Truncated)
				}
				if resp.header("Content-Encoding") != "" || resp.header("Content-Length") != "" {
					t.Errorf("%v", resp.Headers)
				}
			}
		}
	}
}

// TestMeter holds what may come over the wire against what it decodes to.
func TestMeter(t *testing.T) {
	for size, fine := range map[int]bool{codedSlack: true, codedSlack + 1: false} {
		m := &meter{bytes.NewReader(make([]byte, size)), codedSlack}
		if _, err := io.Copy(io.Discard, m); fine != (err == nil) || !fine && err != errBloated {
			t.Errorf("%d: %v", size, err)
		}
	}
}

// TestBombs are bodies that are small on the wire, and ones that never begin.
func TestBombs(t *testing.T) {
	const limit = 1 << 20
	var zeros bytes.Buffer
	z, _ := gzip.NewWriterLevel(&zeros, gzip.BestSpeed)
	for range 4 {
		_, _ = z.Write(make([]byte, 1<<20))
	}
	_ = z.Close()
	var nothing bytes.Buffer
	_ = gzip.NewWriter(&nothing).Close()
	w := newWorld(t)
	port := w.http(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Encoding", "gzip")
		if r.URL.Path == "/zeros" {
			_, _ = rw.Write(zeros.Bytes())
			return
		}
		for { // members of nothing until the client hangs up
			if _, err := rw.Write(bytes.Repeat(nothing.Bytes(), 1000)); err != nil {
				return
			}
		}
	})
	c := w.client(Options{Rules: []Rule{local("a.test", port)}, Limits: Limits{Response: limit}})
	resp := get(t, c, address("http", "a.test", port, "/zeros"))
	if !resp.Truncated || len(resp.Body) != limit {
		t.Errorf("%d bytes, truncated %v", len(resp.Body), resp.Truncated)
	}
	e := refused(t, c, &Request{URL: address("http", "a.test", port, "/nothing")}, Network, "answer")
	if !strings.Contains(e.Detail, errBloated.Error()) {
		t.Error(e)
	}
}

// TestBrokenAnswers are answers that are not whole for another reason than the limit: never a short
// body.
func TestBrokenAnswers(t *testing.T) {
	var whole bytes.Buffer
	z := gzip.NewWriter(&whole)
	_, _ = z.Write(bytes.Repeat([]byte("abc"), 1000))
	_ = z.Close()
	cut := whole.String()[:whole.Len()-9]
	w := newWorld(t)
	for name, answer := range map[string]string{
		"short":       "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
		"chunks":      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n",
		"bad chunk":   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nshort\r\n0\r\n\r\n",
		"cut gzip":    "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + cut,
		"no gzip":     "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nplain text",
		"other":       "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\nxxxx",
		"twice":       "HTTP/1.1 200 OK\r\nContent-Encoding: gzip, gzip\r\n\r\nxxxx",
		"two lengths": "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
		"no HTTP":     "220 mail.test ESMTP\r\n",
		"nothing":     "",
		"bad header":  "HTTP/1.1 200 OK\r\nno colon here\r\n\r\n",
		"upgrade":     "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
	} {
		port := w.raw(answer)
		c := w.client(Options{Rules: []Rule{local("a.test", port)}})
		e := refused(t, c, &Request{URL: address("http", "a.test", port, "/")}, Network, "answer")
		if !e.Sent || e.Fix != "" {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// TestAnswersWithoutBody have a coding and nothing to decode.
func TestAnswersWithoutBody(t *testing.T) {
	w := newWorld(t)
	for _, answer := range []string{
		"HTTP/1.1 204 No Content\r\nContent-Encoding: br\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n",
	} {
		port := w.raw(answer)
		c := w.client(Options{Rules: []Rule{local("a.test", port)}})
		if resp := get(t, c, address("http", "a.test", port, "/")); len(resp.Body) != 0 ||
			resp.Truncated {
			t.Errorf("%q: %+v", answer, resp)
		}
	}
}

func TestResponseHeaderLimit(t *testing.T) {
	w := newWorld(t)
	port := w.http(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("X-Long", strings.Repeat("x", 20_000))
	})
	url := address("http", "a.test", port, "/")
	c := w.client(Options{Rules: []Rule{local("a.test", port)}, Limits: Limits{Headers: 10_000}})
	e := refused(t, c, &Request{URL: url}, TooLarge, "answer")
	if !strings.Contains(e.Error(), "limits.headers") || !e.Sent {
		t.Error(e)
	}
	get(t, w.client(Options{Rules: []Rule{local("a.test", port)}}), url)
}

// TestSlowServers shows whose time is named.
func TestSlowServers(t *testing.T) {
	release := make(chan struct{})
	w := newWorld(t)
	port := w.http(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			_, _ = rw.Write([]byte("begun"))
			rw.(http.Flusher).Flush()
		}
		<-release
	})
	t.Cleanup(func() { close(release) })
	const short = 30 * time.Millisecond
	limited := w.client(Options{Rules: []Rule{local("a.test", port)}, Limits: Limits{Time: short}})
	patient := w.client(Options{Rules: []Rule{local("a.test", port)}})
	for _, path := range []string{"/head", "/body"} {
		url := address("http", "a.test", port, path)
		e := refused(t, limited, &Request{URL: url}, Timeout, "time")
		if !strings.Contains(e.Error(), "took longer than 30ms (limits.time)") || !e.Sent {
			t.Error(e)
		}
		e = refused(t, limited, &Request{URL: url, Timeout: time.Hour}, Timeout, "time")
		if !strings.Contains(e.Error(), "limits.time") {
			t.Error(e)
		}
		e = refused(t, patient, &Request{URL: url, Timeout: short}, Timeout, "time")
		if !strings.Contains(e.Error(), "the request's own timeout") {
			t.Error(e)
		}
		ctx, cancel := context.WithTimeout(t.Context(), short)
		_, err := patient.Do(ctx, &Request{URL: url})
		cancel()
		if !errors.Is(err, Timeout) || !strings.Contains(err.Error(), "the caller's deadline") ||
			!errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	}
}

// TestConcurrentLimit shows that requests over the limit wait, and that waiting costs their time.
func TestConcurrentLimit(t *testing.T) {
	const limit = 3
	var running, most atomic.Int32
	full, release := make(chan struct{}), make(chan struct{})
	w := newWorld(t)
	port := w.http(func(http.ResponseWriter, *http.Request) {
		n := running.Add(1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		if n == limit {
			close(full)
		}
		<-release
		running.Add(-1)
	})
	c := w.client(Options{Rules: []Rule{local("a.test", port)}, Limits: Limits{Concurrent: limit}})
	url := address("http", "a.test", port, "/")
	errs := make(chan error)
	for range limit {
		go func() {
			_, err := c.Do(t.Context(), &Request{URL: url})
			errs <- err
		}()
	}
	<-full
	e := refused(t, c, &Request{URL: url, Timeout: time.Millisecond}, Timeout, "time")
	if e.Sent {
		t.Error(e)
	}
	for range limit {
		go func() {
			_, err := c.Do(t.Context(), &Request{URL: url})
			errs <- err
		}()
	}
	close(release)
	for range 2 * limit {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if most.Load() != limit {
		t.Errorf("%d at a time", most.Load())
	}
}

// TestClose shows that closing ends what is under way and leaves nothing; goleak looks after that.
func TestClose(t *testing.T) {
	release := make(chan struct{})
	entered := make(chan struct{}, 8)
	w := newWorld(t)
	port := w.http(func(http.ResponseWriter, *http.Request) { entered <- struct{}{}; <-release })
	t.Cleanup(func() { close(release) })
	c := w.client(Options{Rules: []Rule{local("a.test", port)}, Limits: Limits{Concurrent: 4, Time: time.Hour}})
	errs := make(chan error)
	for range 8 { // four wait for their turn
		go func() {
			_, err := c.Do(t.Context(), &Request{URL: address("http", "a.test", port, "/")})
			errs <- err
		}()
	}
	for range 4 {
		<-entered
	}
	for range 2 {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	for range 8 {
		if err := <-errs; !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	}
	if _, err := c.Do(t.Context(), &Request{URL: address("http", "a.test", port,
		"/")}); err != ErrClosed {
		t.Error(err)
	}
	c.dialer.mu.Lock()
	defer c.dialer.mu.Unlock()
	if len(c.dialer.conns) != 0 {
		t.Errorf("%d connections are open", len(c.dialer.conns))
	}
}
