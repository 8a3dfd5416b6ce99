package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wasmagent/wasmagent/mcpserver"
	"github.com/wasmagent/wasmagent/plugins"
)

// TestSoak has 200 clients of both eras call for a minute, among others who mean harm: no answer is
// wrong, no session is lost, and the memory is given back.
func TestSoak(t *testing.T) {
	clients, length := 16, time.Second
	if os.Getenv("WASMAGENT_LONG") != "" {
		clients, length = 200, time.Minute
	} else if testing.Short() {
		t.Skip("takes a second")
	}
	registry := plugins.NewRegistry(nil)
	if err := registry.Add(append(testTools(registry), tool(spec("limited"), limited))...); err != nil {
		t.Fatal(err)
	}
	s := mcpserver.New(registry, nil)
	defer s.Close()
	url := listen(t, s, mcpserver.HTTP{Tokens: []string{testToken}})
	before := heap()
	var calls atomic.Int64
	ctx, stop := context.WithTimeout(t.Context(), length)
	defer stop()
	var all sync.WaitGroup
	for i := range clients {
		c := connect(t, dial(t, url, testToken), []string{sessions, none}[i%2], nil)
		all.Go(func() {
			defer c.Close()
			for n := 0; ctx.Err() == nil; n++ {
				if err := oneOfMany(t, c, i, n); err != nil {
					t.Errorf("client %d, call %d: %v", i, n, err)
					return
				}
				calls.Add(1)
			}
		})
	}
	for range clients / 10 {
		all.Go(func() { attack(t, ctx, url) })
	}
	all.Wait()
	runtime.GC()
	after := heap()
	t.Logf("%d calls of %d clients in %v; the heap had %d MiB before and has %d MiB after",
		calls.Load(), clients, length, before>>20, after>>20)
	if after > before+32<<20 {
		t.Errorf("the heap keeps %d MiB", (after-before)>>20)
	}
}

// limited is a tool with a time limit, as plugins are. It needs one: where there are sessions, a
// client's word that it has cancelled a call may arrive before the call.
func limited(ctx context.Context, _ plugins.Call) (plugins.Output, error) {
	select {
	case <-ctx.Done():
		return plugins.Output{}, ctx.Err()
	case <-time.After(2 * time.Second):
		return plugins.Output{}, errors.New("too late")
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// oneOfMany makes a call and looks at what comes back.
func oneOfMany(t *testing.T, c *mcp.ClientSession, i, n int) error {
	want := fmt.Sprintf(`{"x":%d}`, i*1_000_000+n)
	params := &mcp.CallToolParams{Name: "point", Arguments: json.RawMessage(want)}
	switch n % 10 {
	case 3:
		params.Name, want = "fail_malformed", "cannot be read"
	case 5:
		params.Name, want = "long", "left out here"
	case 7:
		params.Arguments, want = json.RawMessage(`{"x":"`+strings.Repeat("y", 100_000)+`"}`), "at /x"
	case 9:
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		_, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "limited"})
		if !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("a cancelled call: %w", err)
		}
		return nil
	}
	res, err := c.CallTool(t.Context(), params)
	if err != nil {
		return err
	}
	if text := textOf(res); !strings.Contains(text, want) {
		return fmt.Errorf("have %.200s, want %s", text, want)
	}
	return nil
}

// attack sends what no client sends.
func attack(t *testing.T, ctx context.Context, url string) {
	for n := 0; ctx.Err() == nil; n++ {
		body, header := initialize, []string{"Authorization", "Bearer " + otherToken}
		switch n % 4 {
		case 1:
			body, header = strings.Repeat("[", 1<<20), nil
		case 2:
			header = []string{"Mcp-Session-Id", "made-up"}
		case 3:
			body, header = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`, nil
		}
		status, text, _ := post(t, url, body, header...)
		if status < 400 && !strings.Contains(text, `"error"`) {
			t.Errorf("attack %d: %d %.200s", n%4, status, text)
		}
	}
}

// BenchmarkCall is what the protocol adds to a call of a Go tool.
func BenchmarkCall(b *testing.B) {
	args := json.RawMessage(`{"x":7}`)
	for _, w := range ways {
		b.Run(strings.ReplaceAll(w.String(), " ", "/"), func(b *testing.B) {
			registry := plugins.NewRegistry(nil)
			if err := registry.Add(testTools(registry)...); err != nil {
				b.Fatal(err)
			}
			s := mcpserver.New(registry, nil)
			defer s.Close()
			c := w.connect(b, s, nil)
			for b.Loop() {
				res, err := c.CallTool(b.Context(), &mcp.CallToolParams{Name: "point", Arguments: args})
				if err != nil || res.IsError {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("registry", func(b *testing.B) {
		registry := plugins.NewRegistry(nil)
		if err := registry.Add(testTools(registry)...); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := registry.Call(b.Context(), plugins.Call{Tool: "point", Input: args}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkStart is from the start of a process to its first answer.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		c := connect(b, &mcp.CommandTransport{Command: peerCommand("stdio")}, sessions, nil)
		if _, err := c.ListTools(b.Context(), nil); err != nil {
			b.Fatal(err)
		}
		c.Close()
	}
}
