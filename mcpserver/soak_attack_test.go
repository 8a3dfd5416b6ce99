package mcpserver_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wasmagent/wasmagent/mcpserver"
)

// attackers makes so many attackers of each sort, and what tells how often each sort has struck.
func (k *soak) attackers(each int, lister *soakClient) (all []func(context.Context), struck func() string) {
	sorts := []struct {
		name   string
		strike func(ctx context.Context, n int)
	}{
		{"strangers", k.stranger}, {"huge bodies", k.hugeBody}, {"dropped calls", k.droppedCall},
		{"slow readers", k.slowReader}, {"slow bodies", k.slowBody}, {"storms of cancels", k.storm},
		{"storms of lists", k.lists(lister)},
	}
	counts := make([]atomic.Int64, len(sorts))
	for i, sort := range sorts {
		for range each {
			all = append(all, func(ctx context.Context) {
				for n := 0; ctx.Err() == nil && !k.t.Failed(); n++ {
					sort.strike(ctx, n)
					counts[i].Add(1)
				}
			})
		}
	}
	return all, func() string {
		var parts []string
		for i, sort := range sorts {
			parts = append(parts, fmt.Sprintf("%d %s", counts[i].Load(), sort.name))
		}
		return strings.Join(parts, ", ")
	}
}

// try sends a request that must not be served, and gives its status; 0 when the server hung up.
func (k *soak) try(ctx context.Context, body io.Reader, header ...string) int {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, k.url, body)
	if err != nil {
		k.t.Error(err)
		return 0
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+testToken)
	r.Close = true
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if host := r.Header.Get("X-Host"); host != "" {
		r.Host = host
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

// stranger has no token, or no manners.
func (k *soak) stranger(ctx context.Context, n int) {
	for _, tt := range []struct {
		body   string
		header []string
		status int
	}{
		{initialize, []string{"Authorization", "Bearer " + otherToken}, 401},
		{initialize, []string{"X-Host", "evil.example"}, 403},
		{initialize, []string{"Origin", "https://evil.example"}, 403},
		{initialize, []string{"Mcp-Session-Id", "made-up"}, 404},
		{strings.Repeat("[", 1<<18), nil, 400},
		{`{"jsonrpc":"2.0","id":1,"method":`, nil, 400},
		{"[" + initialize + "]", nil, 400},
	} {
		have := k.try(ctx, strings.NewReader(tt.body), tt.header...)
		if have != tt.status && have != 0 {
			k.t.Errorf("attack %.40s %v: %d", tt.body, tt.header, have)
		}
	}
}

// hugeBody sends one byte more than a message may have.
func (k *soak) hugeBody(ctx context.Context, _ int) {
	body := bytes.NewReader(make([]byte, mcpserver.MaxMessage+1))
	if have := k.try(ctx, body); have != http.StatusRequestEntityTooLarge && have != 0 {
		k.t.Errorf("a huge body: %d", have)
	}
	pause(ctx, 200*time.Millisecond)
}

// raw opens a connection and sends a call without a session: its headers, and of its body the first
// so many bytes.
func (k *soak) raw(ctx context.Context, tool string, sent int) net.Conn {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", strings.TrimPrefix(k.url, "http://"))
	if err != nil { // the time is over, or the system has no more connections for attackers
		return nil
	}
	body := callOf(tool)
	_, _ = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
		"Mcp-Protocol-Version: %s\r\nMcp-Method: tools/call\r\nMcp-Name: %s\r\n"+
		"Content-Length: %d\r\n\r\n%s", testToken, none, tool, len(body), body[:min(sent, len(body))])
	return conn
}

// whole is more than the bytes of a call.
const whole = 1 << 20

// callOf is a call in the era without sessions.
func callOf(tool string) string {
	return strings.Replace(discover, `"method":"server/discover","params":{`,
		`"method":"tools/call","params":{"name":"`+tool+`",`, 1)
}

// droppedCall hangs up while its call runs.
func (k *soak) droppedCall(ctx context.Context, n int) {
	if conn := k.raw(ctx, []string{"limited", "mean_loop", "long"}[n%3], whole); conn != nil {
		defer conn.Close()
	}
	pause(ctx, time.Duration(rand.IntN(20))*time.Millisecond)
}

// slowReader asks for much on many connections and reads nothing.
func (k *soak) slowReader(ctx context.Context, _ int) {
	for range 10 {
		if conn := k.raw(ctx, "long", whole); conn != nil {
			defer conn.Close()
		}
	}
	pause(ctx, time.Second)
}

// slowBody sends a body byte by byte.
func (k *soak) slowBody(ctx context.Context, _ int) {
	body := callOf("long")
	conn := k.raw(ctx, "long", 0)
	if conn == nil {
		pause(ctx, time.Second)
		return
	}
	defer conn.Close()
	for i := 0; i < 20 && ctx.Err() == nil; i++ {
		_, _ = conn.Write([]byte{body[i]})
		pause(ctx, 100*time.Millisecond)
	}
}

// storm begins a session and cancels more calls at once than it may have.
func (k *soak) storm(ctx context.Context, _ int) {
	c, err := k.begin(sessions)
	if err != nil {
		k.t.Errorf("a storm's session: %v", err)
		return
	}
	defer c.Close()
	var all sync.WaitGroup
	for range 2 * mcpserver.DefaultSessionCalls {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, time.Duration(rand.IntN(20))*time.Millisecond)
			defer cancel()
			_, _ = c.CallTool(ctx, &mcp.CallToolParams{Name: "limited"})
		})
	}
	all.Wait()
	if err := c.Ping(context.Background(), nil); err != nil {
		k.t.Errorf("after a storm of cancels: %v", err)
	}
}

// lists asks for the list again and again.
func (k *soak) lists(c *soakClient) func(context.Context, int) {
	return func(ctx context.Context, _ int) {
		var all sync.WaitGroup
		for range mcpserver.MaxSessionAsks {
			all.Go(func() {
				if _, err := c.ListTools(ctx, nil); err != nil && ctx.Err() == nil {
					k.t.Errorf("a storm of lists: %v", err)
				}
			})
		}
		all.Wait()
	}
}

// pause waits, unless the time is over.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
