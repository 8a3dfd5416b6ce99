package mcp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wasmagent/wasmagent/loader/mcp"
	"github.com/wasmagent/wasmagent/plugins"
)

// What an operator may not write, each with the field that is wrong.
func TestConfig(t *testing.T) {
	for want, server := range map[string]mcp.Server{
		`server "": name: `:     {Command: "x"},
		`name: want one like`:   {Name: "Bad", Command: "x"},
		"command: want either":  {Name: "a"},
		"either a command or":   {Name: "a", Command: "x", URL: "https://x"},
		"url: args":             {Name: "a", URL: "https://x", Dir: "/"},
		"headers and a bearer":  {Name: "a", Command: "x", Bearer: "t"},
		"prefix: want":          {Name: "a", Command: "x", Prefix: "X"},
		"bare names":            {Name: "a", Command: "x", Prefix: "x", Bare: true},
		"dir: want an absolute": {Name: "a", Command: "x", Dir: "rel"},
		"limits: a limit":       {Name: "a", Command: "x", Limits: mcp.Limits{Time: -1}},
		"past 512 MiB":          {Name: "a", Command: "x", Limits: mcp.Limits{Output: 512<<20 + 1}},
		`tools: "b" is not`: {Name: "a", Command: "x", Tools: []string{"a"},
			Rules: map[string]plugins.Rule{"b": {}}},
		"env: a variable":      {Name: "a", Command: "x", Env: map[string]mcp.Value{"A=B": {}}},
		"url: it is no URL":    {Name: "a", URL: "http://\x7f"},
		"url: want https":      {Name: "a", URL: "ftp://x"},
		"it has a user name":   {Name: "a", URL: "https://u:p@x"},
		"it has a fragment":    {Name: "a", URL: "https://x#y"},
		"to this machine only": {Name: "a", URL: "http://example.com/"},
		"belongs to the protocol": {Name: "a", URL: "https://x",
			Headers: map[string]mcp.Value{"mcp-session-id": {}}},
		"to the transport":    {Name: "a", URL: "https://x", Headers: map[string]mcp.Value{"host": {}}},
		"no name of a header": {Name: "a", URL: "https://x", Headers: map[string]mcp.Value{"a b": {}}},
	} {
		_, err := mcp.Open(t.Context(), server, nil)
		if _, ok := errors.AsType[*mcp.ConfigError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Headers and the token are sent with each request.
func TestHeaders(t *testing.T) {
	server := good()
	inner := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	var bad atomic.Int64
	url := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer s3cr3t-token" || r.Header.Get("X-Team") != "blue" {
			bad.Add(1)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	who := mcp.Server{Name: "web", Bare: true, URL: url, Bearer: "token",
		Headers: map[string]mcp.Value{"X-Team": {Text: "blue"}}}
	s := open(t, who, &mcp.Options{Secret: secrets})
	if _, err := call(t, s, "echo", `{}`); err != nil {
		t.Error(err)
	}
	s.Close()
	if n := bad.Load(); n != 0 {
		t.Errorf("%d requests without them", n)
	}
	who.Bearer = ""
	_, err := mcp.Open(t.Context(), who, nil)
	if _, ok := errors.AsType[*mcp.ServerError](err); !ok ||
		!strings.Contains(err.Error(), "Unauthorized") {
		t.Error(err)
	}
}

// A redirect is not followed: what is sent is for the operator's URL alone.
func TestRedirect(t *testing.T) {
	var reached atomic.Bool
	other := listen(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	url := listen(t, http.RedirectHandler(other, http.StatusTemporaryRedirect))
	_, err := mcp.Open(t.Context(), mcp.Server{Name: "web", URL: url + "/?key=hunter2"}, nil)
	if err == nil || reached.Load() || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v, reached %v", err, reached.Load())
	}
}

// post is a server over HTTP that answers calls of a tool by f.
func post(t *testing.T, f func(w http.ResponseWriter, m message)) *mcp.Source {
	t.Helper()
	url := listen(t, answers(oneTool, func(w http.ResponseWriter, m message) bool {
		if m.Method == "tools/call" {
			f(w, m)
			return true
		}
		return false
	}))
	return open(t, mcp.Server{Name: "web", Bare: true, URL: url,
		Limits: mcp.Limits{Output: 1 << 20, Time: 2 * time.Second}}, nil)
}

// answers is a server over HTTP with a list of tools, of which f answers what it likes.
func answers(tools string, f func(w http.ResponseWriter, m message) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		var m message
		body, _ := io.ReadAll(r.Body)
		if json.Unmarshal(body, &m) != nil {
			panic(string(body))
		}
		w.Header().Set("Content-Type", "application/json")
		switch {
		case f(w, m):
		case m.Method == "server/discover":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"what?"}}`, m.ID)
		case m.Method == "initialize":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, hello)
		case m.Method == "tools/list":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, tools)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	})
}

func stream(w http.ResponseWriter, format string, args ...any) {
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, format, args...)
}

// What may come over HTTP: each harms its own call alone.
func TestHTTPAnswers(t *testing.T) {
	long := `{"content":[{"type":"text","text":"` + strings.Repeat("x", 2<<20) + `"}]}`
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter, m message)
		kind   plugins.Kind
		want   string
	}{
		"good": {func(w http.ResponseWriter, m message) {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, ok)
		}, 0, ""},
		"many lines": {func(w http.ResponseWriter, m message) {
			stream(w, ": hi\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\r\ndata:\"id\":%s,\n"+
				"data: \"result\":%s}\n\n", m.ID, ok)
		}, 0, ""},
		"noise before": {func(w http.ResponseWriter, m message) {
			stream(w, "data: hello\n\nevent: other\ndata: x\n\n"+
				"data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", m.ID, ok)
		}, 0, ""},
		"too long": {func(w http.ResponseWriter, m message) {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, long)
		}, plugins.ErrMalformedResult, "limit.output 1048576"},
		"too long an event": {func(w http.ResponseWriter, m message) {
			stream(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", m.ID, long)
		}, plugins.ErrMalformedResult, "limit.output 1048576"},
		"no message": {func(w http.ResponseWriter, m message) {
			fmt.Fprint(w, `<html>`)
		}, plugins.ErrMalformedResult, "bad_envelope message"},
		"cut off": {func(w http.ResponseWriter, m message) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, `{"jsonrpc"`)
		}, plugins.ErrHandler, "server broke"},
		"stream without an answer": {func(w http.ResponseWriter, m message) {
			stream(w, ": bye\n\n")
		}, plugins.ErrHandler, "server without"},
		"busy": {func(w http.ResponseWriter, m message) {
			w.WriteHeader(http.StatusServiceUnavailable)
		}, plugins.ErrHandler, "server Unavailable"},
		"bad params with a status": {func(w http.ResponseWriter, m message) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no x"}}`, m.ID)
		}, plugins.ErrInvalidInput, "guest_input x"},
		"not allowed": {func(w http.ResponseWriter, m message) {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, strings.Repeat("x", 1<<20))
		}, plugins.ErrHandler, "server Forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			s := post(t, c.answer)
			s.Hurry()
			for range 2 {
				_, err := call(t, s, "go", `{}`)
				if c.kind == 0 {
					if err != nil {
						t.Error(err)
					}
					continue
				}
				cause, word, _ := strings.Cut(c.want, " ")
				is(t, err, c.kind, cause, word)
			}
		})
	}
}

// A server that has forgotten the session has run nothing: the call is made in a new one.
func TestSessionIsLost(t *testing.T) {
	server := good()
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	url := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	s := open(t, mcp.Server{Name: "web", Bare: true, URL: url}, nil)
	for session := range server.Sessions() {
		session.Close()
	}
	if _, err := call(t, s, "echo", `{}`); err != nil {
		t.Error(err)
	}
}
