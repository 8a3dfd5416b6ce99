package mcpserver

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmagent/wasmagent/plugins"
)

func TestRequestsAreBounded(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	handler := bounded(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-leave
	}))
	get := func() int {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		return w.Code
	}
	var all sync.WaitGroup
	for range MaxRequests {
		all.Go(func() {
			if code := get(); code != http.StatusOK {
				t.Errorf("one that may be: %d", code)
			}
		})
		<-entered
	}
	if code := get(); code != http.StatusServiceUnavailable {
		t.Errorf("one more: %d", code)
	}
	close(leave)
	all.Wait()
	go func() { <-entered }()
	if code := get(); code != http.StatusOK {
		t.Errorf("after the others: %d", code)
	}
}

// deadlines is a writer that remembers which deadlines were set.
type deadlines struct {
	*httptest.ResponseRecorder
	set []string
}

func (d *deadlines) note(kind string, at time.Time) {
	if at.IsZero() {
		d.set = append(d.set, kind+" none")
		return
	}
	d.set = append(d.set, fmt.Sprintf("%s %v", kind, time.Until(at)))
}

func (d *deadlines) SetReadDeadline(at time.Time) error  { d.note("read", at); return nil }
func (d *deadlines) SetWriteDeadline(at time.Time) error { d.note("write", at); return nil }

func (d *deadlines) Write(b []byte) (int, error) {
	d.set = append(d.set, "wrote "+string(b))
	return d.ResponseRecorder.Write(b)
}

// TestPeersHaveDeadlines pins that each piece of an answer has its time, that a body has one, and
// that neither ends an answer which takes long to begin.
func TestPeersHaveDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		handler := bounded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !readBody(w, r) {
				t.Error("the body is not read")
			}
			time.Sleep(time.Hour)
			_, _ = io.WriteString(w, "a")
			time.Sleep(time.Hour)
			w.(http.Flusher).Flush()
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
		}))
		handler.ServeHTTP(d, httptest.NewRequest("POST", "/", strings.NewReader("{}")))
		want := fmt.Sprintf("read %v, read none, write %[2]v, wrote a, write %[2]v, write %[2]v",
			ReadBodyTimeout, WriteTimeout)
		if have := strings.Join(d.set, ", "); have != want {
			t.Errorf("have %s", have)
		}
	})
}

// TestSessionsExpire pins that a session that is not used ends, and frees its place.
func TestSessionsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(plugins.NewRegistry(nil), &Options{Sessions: 1})
		defer s.Close()
		const token = "0123456789abcdef"
		handler, err := s.Handler(HTTP{Tokens: []string{token}})
		if err != nil {
			t.Fatal(err)
		}
		post := func(session, body string) *httptest.ResponseRecorder {
			r := httptest.NewRequest("POST", "http://localhost/", strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer "+token)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			if session != "" {
				r.Header.Set("Mcp-Session-Id", session)
			}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			return w
		}
		const begin = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":` +
			`"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
		const ping = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
		session := post("", begin).Header().Get("Mcp-Session-Id")
		for range 3 {
			time.Sleep(SessionIdle - 1)
			if w := post(session, ping); w.Code != http.StatusOK {
				t.Fatalf("a session that is used: %d %s", w.Code, w.Body)
			}
		}
		if w := post("", begin); !strings.Contains(w.Body.String(), "as many as may be") {
			t.Errorf("a second session of one: %s", w.Body)
		}
		time.Sleep(SessionIdle + 1)
		synctest.Wait()
		if w := post(session, ping); w.Code != http.StatusNotFound {
			t.Errorf("a session that is not used: %d %s", w.Code, w.Body)
		}
		if w := post("", begin); !strings.Contains(w.Body.String(), `"result"`) {
			t.Errorf("its place is not free: %s", w.Body)
		}
	})
}
