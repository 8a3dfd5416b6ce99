package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wasmagent/wasmagent/mcpserver"
)

func TestServeEnds(t *testing.T) {
	s, _ := withTestTools(t, nil)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	var served sync.WaitGroup
	served.Go(func() {
		if err := s.Serve(ctx, listener, mcpserver.HTTP{Tokens: []string{testToken}}); err != cause {
			t.Errorf("it ended with %v", err)
		}
	})
	c := connect(t, dial(t, "http://"+listener.Addr().String()+"/mcp", testToken), sessions, nil)
	if res := call(t, c, "count", nil); res.IsError {
		t.Error("no answer")
	}
	for _, path := range []string{"", "/", "/mcp/", "/mcp/x", "/.well-known/oauth-protected-resource"} {
		status, text, _ := post(t, "http://"+listener.Addr().String()+path, initialize)
		if status != 404 || !strings.Contains(text, "/mcp") {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	cancel(cause)
	served.Wait()
	if listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(t.Context(), listener, mcpserver.HTTP{}); err == nil {
		t.Error("it serves without a token")
	}
	if _, err := listener.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener is open: %v", err)
	}
}

// TestHeadersAreBounded pins that the server of Serve refuses large headers. The library allows
// 4 KiB more than it is told.
func TestHeadersAreBounded(t *testing.T) {
	s, _ := withTestTools(t, nil)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var served sync.WaitGroup
	served.Go(func() {
		_ = s.Serve(ctx, listener, mcpserver.HTTP{Tokens: []string{testToken}})
	})
	url := "http://" + listener.Addr().String() + "/mcp"
	for size, want := range map[int]int{mcpserver.MaxHeaderBytes / 2: 200,
		mcpserver.MaxHeaderBytes + 4<<10: 431} {
		if status, _, _ := post(t, url, initialize, "X-Large", strings.Repeat("x", size)); status != want {
			t.Errorf("%d bytes: %d", size, status)
		}
	}
	cancel()
	served.Wait()
}

// TestParallelSessions has many clients of both eras at once: each gets its own answers.
func TestParallelSessions(t *testing.T) {
	s, _ := withTestTools(t, nil)
	url := listen(t, s, mcpserver.HTTP{Tokens: []string{testToken}})
	var clients sync.WaitGroup
	for i := range 16 {
		c := connect(t, dial(t, url, testToken), []string{sessions, none}[i%2], nil)
		clients.Go(func() {
			for j := range 10 {
				want := fmt.Sprintf(`{"x":%d}`, i*100+j)
				res, err := c.CallTool(t.Context(),
					&mcp.CallToolParams{Name: "point", Arguments: json.RawMessage(want)})
				if err != nil || textOf(res) != want {
					t.Errorf("client %d: %v, %+v", i, err, res)
					return
				}
				if res, err = c.CallTool(t.Context(), &mcp.CallToolParams{Name: "fail_malformed"}); err != nil ||
					!res.IsError {
					t.Errorf("client %d: %v, %+v", i, err, res)
				}
			}
		})
	}
	clients.Wait()
}

func TestRefusalsAreLogged(t *testing.T) {
	var log bytes.Buffer
	s, _ := withTestTools(t, &mcpserver.Options{Logger: logTo(&log)})
	url := listen(t, s, mcpserver.HTTP{Tokens: []string{testToken}})
	post(t, url, initialize, "Host", "evil.example")
	post(t, url, initialize, "Authorization", "")
	for range 2 * mcpserver.RefusalLines {
		post(t, url, initialize, "Authorization", "Bearer "+otherToken)
		post(t, url, initialize, "Origin", "https://"+strings.Repeat("\u202e", mcpserver.MaxLogged))
	}
	if n := strings.Count(log.String(), "\n"); n != 2+2*mcpserver.RefusalLines {
		t.Errorf("%d lines", n)
	}
	if log.Len() > 30*(1<<10) || strings.Contains(log.String(), "\u202e") {
		t.Errorf("%d bytes: %s", log.Len(), log.String())
	}
	for _, want := range []string{"unknown host", "evil.example", "--host NAME", "wrong token", "no token",
		"the file that the server names"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %q: %s", want, log.String())
		}
	}
	if strings.Contains(log.String(), otherToken) || strings.Contains(log.String(), testToken) {
		t.Error("a token is in the log")
	}
}
