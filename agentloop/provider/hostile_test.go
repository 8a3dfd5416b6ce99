package provider_test

import (
	"compress/gzip"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/provider"
	"github.com/wasmagent/wasmagent/agentloop/provider/openai"
)

// speaking is a server that reads a request and sends a text, whatever that is.
func speaking(t *testing.T, text string) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 64<<10)) // what was asked does not matter here,
			_, _ = io.WriteString(conn, text)      // nor whether all of it is wanted
			conn.Close()
		}
	}()
	return "http://" + l.Addr().String()
}

// TestNoHTTP pins that what is sent in place of HTTP neither fills an error nor shows a key in it.
func TestNoHTTP(t *testing.T) {
	const around = 200 // bytes that an error may have besides
	long := strings.Repeat("x", 1<<20)
	for name, text := range map[string]string{
		"the key":       "you sent " + key + "\r\n\r\n",
		"a long status": "HTTP/1.1 " + long + "\r\n\r\n",
		"a long header": "HTTP/1.1 200 OK\r\n" + long + "\r\n\r\n",
		"endless early": strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 100),
	} {
		_, _, err := ask(t, "openai", speaking(t, text), provider.Options{APIKey: key, Client: client()})
		if _, ok := errors.AsType[*provider.HTTPError](err); !ok {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if n := len(err.Error()); n > provider.MaxErrorBody+len(provider.CutMark)+around {
			t.Errorf("%s: the error has %d bytes", name, n)
		}
	}
}

// TestKeyInURL pins that a key which a server wants in the URL is no less secret.
func TestKeyInURL(t *testing.T) {
	const word = "url+key 123456"
	for _, sent := range []string{word, url.QueryEscape(word)} {
		server := looptest.NewServer(t, looptest.Answer{Status: 400, Body: "no such key: " + sent})
		model, err := openai.New("m", &provider.Options{Client: client(),
			BaseURL: server.URL + "/v1?version=2026-01-02&API_Key=" + url.QueryEscape(word)})
		if err != nil {
			t.Fatal(err)
		}
		_, err = model.Turn(t.Context(), hello)
		if refused, ok := errors.AsType[*provider.StatusError](err); !ok ||
			refused.Body != "no such key: [key]" {
			t.Errorf("%v", err)
		}
	}
}

// TestRedirect pins that no request goes where a server sends it, since the key would go along.
func TestRedirect(t *testing.T) {
	eachWire(t, func(t *testing.T, wire string, opts provider.Options) {
		other := looptest.NewServer(t, fine)
		for _, code := range []int{301, 302, 303, 307, 308} {
			a := status(code, "Location", other.URL+"/v1/chat/completions")
			server := looptest.NewServer(t, a, fine)
			_, _, err := ask(t, wire, server.URL, opts)
			if refused, ok := errors.AsType[*provider.StatusError](err); !ok || refused.Status != code {
				t.Errorf("%d: %v", code, err)
			}
			if n := len(server.Asked()); n != 1 {
				t.Errorf("%d: asked %d times", code, n)
			}
		}
		if n := len(other.Asked()); n != 0 {
			t.Errorf("the other server was asked %d times", n)
		}
	})
}

// TestErrorInGoodAnswer pins that the status 200 makes no answer of an error, of whatever shape.
func TestErrorInGoodAnswer(t *testing.T) {
	for _, body := range []string{`{"error":"too busy"}`, `{"error":{"message":"too busy"}}`,
		`{"error":{"type":"other","message":"too busy"},"choices":null,"content":null}`} {
		eachWire(t, func(t *testing.T, wire string, opts provider.Options) {
			opts.NoStream = true
			server := looptest.NewServer(t, looptest.Answer{Body: body})
			_, _, err := ask(t, wire, server.URL, opts)
			if refused, ok := errors.AsType[*provider.StatusError](err); !ok ||
				!strings.Contains(refused.Body, "too busy") {
				t.Errorf("%s: %v", body, err)
			}
		})
	}
}

// TestAnotherPage pins that the error says so when it is a web page that answered.
func TestAnotherPage(t *testing.T) {
	eachWire(t, func(t *testing.T, wire string, opts provider.Options) {
		server := looptest.NewServer(t, looptest.Answer{Body: "<html>Please log in</html>",
			Header: map[string]string{"Content-Type": "text/html; charset=utf-8"}})
		_, _, err := ask(t, wire, server.URL, opts)
		if _, ok := errors.AsType[*provider.DecodeError](err); !ok ||
			!strings.HasSuffix(err.Error(), `; its content type is "text/html": is the base URL right?`) ||
			strings.Count(err.Error(), "cannot be read") != 1 {
			t.Errorf("%v", err)
		}
	})
}

// TestFloods pins that there is an end to what is read: of lines that say nothing, and of what a
// few bytes unpack to. All wires read with the same code.
func TestFloods(t *testing.T) {
	if testing.Short() {
		t.Skip("reads more than a hundred megabytes")
	}
	for name, tt := range map[string]struct {
		kind  string // the content type
		piece string
		gzip  bool
	}{
		"comments": {"text/event-stream", ": " + strings.Repeat("still here ", 100) + "\n", false},
		"unpacked": {"application/json", strings.Repeat(" ", 100), true},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var out io.Writer = w
			w.Header().Set("Content-Type", tt.kind)
			if tt.gzip {
				w.Header().Set("Content-Encoding", "gzip")
				packed := gzip.NewWriter(w)
				defer packed.Close()
				out = packed
			}
			block := strings.Repeat(tt.piece, 1000)
			for n := 0; n < 2*provider.MaxAnswer; n += len(block) {
				if _, err := io.WriteString(out, block); err != nil {
					return
				}
			}
		}))
		defer server.Close()
		_, _, err := ask(t, "openai", server.URL, provider.Options{Client: client()})
		if _, ok := errors.AsType[*provider.DecodeError](err); !ok ||
			!strings.Contains(err.Error(), " MiB") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
