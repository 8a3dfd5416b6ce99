package mcpserver_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wasmagent/wasmagent/mcpserver"
)

const otherToken = "other-token-0123456789"

// post sends one message and gives the status and the body.
func post(t *testing.T, url, body string, header ...string) (int, string, http.Header) {
	t.Helper()
	return send(t, http.MethodPost, url, body, header...)
}

func send(t *testing.T, method, url, body string, header ...string) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+testToken)
	r.Close = true
	for i := 0; i < len(header); i += 2 {
		switch {
		case header[i] == "Host":
			r.Host = header[i+1]
		case header[i+1] == "":
			r.Header.Del(header[i])
		default:
			r.Header.Set(header[i], header[i+1])
		}
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(text), res.Header
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":` +
	`"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// discover is a whole request of the era without sessions.
const discover = `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{` +
	`"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{}}}}`

func TestWhoGetsIn(t *testing.T) {
	s, _ := withTestTools(t, nil)
	url := listen(t, s, mcpserver.HTTP{Tokens: []string{testToken, otherToken},
		Hosts: []string{"Tools.example"}})
	addr := strings.TrimPrefix(url, "http://")
	_, port, _ := net.SplitHostPort(addr)
	for _, tt := range []struct {
		name   string
		header []string
		status int
	}{
		{"token", nil, 200},
		{"another token", []string{"Authorization", "Bearer " + otherToken}, 200},
		{"no token", []string{"Authorization", ""}, 401},
		{"wrong token", []string{"Authorization", "Bearer " + testToken + "x"}, 401},
		{"half a token", []string{"Authorization", "Bearer " + testToken[:8]}, 401},
		{"empty token", []string{"Authorization", "Bearer "}, 401},
		{"another scheme", []string{"Authorization", "Basic " + testToken}, 401},
		{"localhost", []string{"Host", "localhost:" + port}, 200},
		{"IPv6", []string{"Host", "[::1]:" + port}, 200},
		{"IPv6 without a port", []string{"Host", "[::1]"}, 200},
		{"an allowed host", []string{"Host", "tools.EXAMPLE"}, 200},
		{"rebound", []string{"Host", "evil.example:" + port}, 403},
		{"a longer name", []string{"Host", "localhost.evil.example"}, 403},
		{"another address", []string{"Host", "192.0.2.1"}, 403},
		{"trailing dot", []string{"Host", "localhost."}, 403},
		{"same origin", []string{"Origin", url}, 200},
		{"another site", []string{"Origin", "https://evil.example"}, 403},
		{"no site", []string{"Origin", "null"}, 403},
		{"another port", []string{"Origin", "http://127.0.0.1:1"}, 403},
		{"a browser says so", []string{"Sec-Fetch-Site", "cross-site"}, 403},
	} {
		for era, body := range map[string]string{"": initialize, none: discover} {
			header := append([]string{"Mcp-Protocol-Version", era, "Mcp-Method", "server/discover"},
				tt.header...)
			status, text, h := post(t, url, body, header...)
			if status != tt.status {
				t.Errorf("%s %s: %d %s", tt.name, era, status, text)
			}
			if auth := h.Get("Www-Authenticate"); (auth == "Bearer") != (status == 401) {
				t.Errorf("%s: Www-Authenticate is %q", tt.name, auth)
			}
		}
		if tt.status == 200 {
			continue
		}
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			if tt.name == "a browser says so" && method == http.MethodGet {
				continue // a page may send it, and gets nothing without a token and a session
			}
			if status, text, _ := send(t, method, url, "", tt.header...); status != tt.status {
				t.Errorf("%s: %s gives %d %s", tt.name, method, status, text)
			}
		}
	}
}

func TestNoAuth(t *testing.T) {
	s, _ := withTestTools(t, nil)
	url := listen(t, s, mcpserver.HTTP{NoAuth: true})
	if status, text, _ := post(t, url, initialize, "Authorization", ""); status != 200 {
		t.Errorf("on loopback: %d %s", status, text)
	}
	handler, err := s.Handler(mcpserver.HTTP{NoAuth: true})
	if err != nil {
		t.Fatal(err)
	}
	remote := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80}
	for _, ctx := range []context.Context{t.Context(),
		context.WithValue(t.Context(), http.LocalAddrContextKey, net.Addr(remote))} {
		r := httptest.NewRequestWithContext(ctx, "POST", "http://localhost/", strings.NewReader(initialize))
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != http.StatusForbidden {
			t.Errorf("at another address: %d", w.Code)
		}
	}
	for name, h := range map[string]mcpserver.HTTP{
		"nobody":         {},
		"granted":        {NoAuth: true, Granted: true},
		"both":           {NoAuth: true, Tokens: []string{testToken}},
		"short token":    {Tokens: []string{"0123456789abcde"}},
		"token of lines": {Tokens: []string{"0123456789abcdef\n"}},
	} {
		if _, err := s.Handler(h); err == nil {
			t.Errorf("%s: there is a handler", name)
		}
	}
	if _, err := s.Handler(mcpserver.HTTP{Tokens: []string{"0123456789abcdef"}, Granted: true}); err != nil {
		t.Error(err)
	}
}

func TestCheckAddr(t *testing.T) {
	for addr, good := range map[string]bool{
		"127.0.0.1:80": true, "127.3.2.1:0": true, "[::1]:80": true, "localhost:80": true,
		"[::ffff:127.0.0.1]:80": true, "LOCALHOST:1": true,
		":80": false, "0.0.0.0:80": false, "[::]:80": false, "192.168.0.1:80": false,
		"example.org:80": false, "localhost.example:80": false, "127.0.0.1": false, "": false,
		"127.1:80": false,
	} {
		if err := mcpserver.CheckAddr(addr); (err == nil) != good {
			t.Errorf("%q: %v", addr, err)
		}
	}
}

func TestBodies(t *testing.T) {
	s, _ := withTestTools(t, nil)
	url := listen(t, s, mcpserver.HTTP{Tokens: []string{testToken}})
	message := func(size int) string {
		const head, tail = `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"`, `"}}`
		return head + strings.Repeat("x", size-len(head)-len(tail)) + tail
	}
	for _, tt := range []struct {
		name, body string
		status     int
		want       string
	}{
		{"the largest", message(mcpserver.MaxMessage), 200, `"result"`},
		{"one byte more", message(mcpserver.MaxMessage + 1), 413, "too large"},
		{"nothing", "", 400, "-32700"},
		{"no JSON", "{", 400, "-32700"},
		{"two", initialize + initialize, 400, "-32700"},
		{"a batch", " [" + initialize + "," + initialize + "]", 400, "-32600"},
		{"as deep as can be sent", strings.Repeat("[", mcpserver.MaxMessage), 400, "-32700"},
		{"deep and closed", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"a":` +
			strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20) + "}}}", 400, "-32700"},
		{"less deep", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"a":` +
			strings.Repeat("[", 900) + strings.Repeat("]", 900) + "}}}", 200, ""},
		{"no message", `{"a":1}`, 400, ""},
		{"a number", `1`, 400, ""},
		{"a broken envelope", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, 400, ""},
		{"no parameters", `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, 400, "params"},
		{"parameters of another kind", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1}}`,
			200, `"error"`},
		{"no method", `{"jsonrpc":"2.0","id":1,"method":"nothing"}`, 400, "nothing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, h := post(t, url, initialize)
			status, text, _ := post(t, url, tt.body, "Mcp-Session-Id", h.Get("Mcp-Session-Id"))
			if status != tt.status || !strings.Contains(text, tt.want) {
				t.Errorf("%d %.200s", status, text)
			}
		})
	}
}

func TestSessionsAreCounted(t *testing.T) {
	s, _ := withTestTools(t, &mcpserver.Options{Sessions: 2})
	url := listen(t, s, mcpserver.HTTP{Tokens: []string{testToken}})
	begin := func() (string, bool) {
		_, text, h := post(t, url, initialize)
		return h.Get("Mcp-Session-Id"), strings.Contains(text, `"result"`)
	}
	first, ok1 := begin()
	_, ok2 := begin()
	if !ok1 || !ok2 {
		t.Fatal("the first two sessions do not begin")
	}
	if _, ok := begin(); ok {
		t.Error("a third session of two")
	}
	if status, text, _ := post(t, url, discover, "Mcp-Protocol-Version", none, "Mcp-Method",
		"server/discover"); status != 200 {
		t.Errorf("a request without a session: %d %s", status, text)
	}
	if status, _, _ := send(t, http.MethodDelete, url, "", "Mcp-Session-Id", first); status != 204 {
		t.Errorf("a session does not end: %d", status)
	}
	for range 1000 { // it is counted out once it has ended
		if _, ok := begin(); ok {
			return
		}
	}
	t.Error("the place of a session that ended is not free")
}

func TestSessionBelongsToItsToken(t *testing.T) {
	s, _ := withTestTools(t, nil)
	url := listen(t, s, mcpserver.HTTP{Tokens: []string{testToken, otherToken}})
	_, _, h := post(t, url, initialize)
	ping := `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	session := []string{"Mcp-Session-Id", h.Get("Mcp-Session-Id")}
	if status, text, _ := post(t, url, ping, session...); status != 200 {
		t.Errorf("its own token: %d %s", status, text)
	}
	other := append(session, "Authorization", "Bearer "+otherToken)
	if status, text, _ := post(t, url, ping, other...); status != 403 {
		t.Errorf("another token: %d %s", status, text)
	}
	if status, _, _ := send(t, http.MethodDelete, url, "", other...); status != 403 {
		t.Errorf("another token ends it: %d", status)
	}
	if status, _, _ := post(t, url, ping, "Mcp-Session-Id", "made-up"); status != 404 {
		t.Errorf("a session that was made up: %d", status)
	}
}

// TestHandlesAreTheirs pins who can read on in an output: its session, or where there are none,
// whoever has the token.
func TestHandlesAreTheirs(t *testing.T) {
	s, _ := withTestTools(t, nil)
	url := listen(t, s, mcpserver.HTTP{Tokens: []string{testToken, otherToken}})
	for _, tt := range []struct {
		name, version, token string
		good                 bool
	}{
		{"another session", sessions, testToken, false},
		{"another token", none, otherToken, false},
		{"the same token", none, testToken, true},
	} {
		owner := connect(t, dial(t, url, testToken), tt.version, nil)
		handle := marker.FindStringSubmatch(textOf(call(t, owner, "long", nil)))[1]
		reader := connect(t, dial(t, url, tt.token), tt.version, nil)
		if res := call(t, reader, "read_more", map[string]any{"handle": handle}); res.IsError == tt.good {
			t.Errorf("%s: %.100s", tt.name, textOf(res))
		}
		if res := call(t, owner, "read_more", map[string]any{"handle": handle}); res.IsError {
			t.Errorf("%s: the owner gets %s", tt.name, textOf(res))
		}
	}
}

func TestBothErasAtOneAddress(t *testing.T) {
	s, _ := withTestTools(t, nil)
	url := listen(t, s, mcpserver.HTTP{Tokens: []string{testToken}})
	old := connect(t, dial(t, url, testToken), sessions, nil)
	now := connect(t, dial(t, url, testToken), none, nil)
	if old.ID() == "" || now.ID() != "" {
		t.Errorf("the sessions are %q and %q", old.ID(), now.ID())
	}
	if have := now.InitializeResult().ProtocolVersion; have != none {
		t.Errorf("the newer one speaks %s", have)
	}
	for range 3 {
		for _, c := range []*mcp.ClientSession{old, now} {
			if res := call(t, c, "count", nil); textOf(res) != "42" {
				t.Errorf("have %s", textOf(res))
			}
		}
	}
}
