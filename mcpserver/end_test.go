package mcpserver_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/mcpserver"
	"github.com/wasmagent/wasmagent/plugins"
)

// holder is a tool that tells when it has begun and why it was cancelled.
func holder() (holds plugins.Tool, begun chan struct{}, ended chan error) {
	begun, ended = make(chan struct{}), make(chan error, 1)
	return tool(spec("hold"), func(ctx context.Context, _ plugins.Call) (plugins.Output, error) {
		close(begun)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return plugins.Output{}, ctx.Err()
	}), begun, ended
}

// TestCloseCancelsCalls pins that the end of a server reaches the tools that run.
func TestCloseCancelsCalls(t *testing.T) {
	everyWay(t, func(t *testing.T, w way) {
		holds, begun, ended := holder()
		s, _ := serverWith(t, nil, holds)
		c := w.connect(t, s, nil)
		var caller sync.WaitGroup
		caller.Go(func() {
			if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "hold"}); err == nil {
				t.Error("the call has a result")
			}
		})
		<-begun
		s.Close()
		if err := <-ended; !errors.Is(err, mcpserver.ErrClosed) {
			t.Errorf("cancelled by %v", err)
		}
		caller.Wait()
		s.Close()
	})
}

// TestStdioEndsWithItsContext pins that ServeStdio can be ended, with a call under way and a client
// that does not close its end.
func TestStdioEndsWithItsContext(t *testing.T) {
	holds, begun, ended := holder()
	s, _ := serverWith(t, nil, holds)
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.ServeStdio(ctx, in, out); err != cause {
			t.Errorf("it ended with %v", err)
		}
		out.Close()
	})
	c := connect(t, &mcp.IOTransport{Reader: fromServer, Writer: toServer}, sessions, nil)
	running.Go(func() {
		_, _ = c.CallTool(t.Context(), &mcp.CallToolParams{Name: "hold"})
	})
	<-begun
	cancel(cause)
	<-ended
	running.Wait()
}

// TestClientThatDoesNotRead pins that nobody waits for ever for a client that asks and does not
// listen: neither its tools nor the end of the server.
func TestClientThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := make(chan struct{})
		registry := plugins.NewRegistry(nil)
		if err := registry.Add(tool(spec("talk"),
			func(_ context.Context, call plugins.Call) (plugins.Output, error) {
				for i := range 1000 {
					call.Progress(abi.Progress{Done: float64(i)})
					call.Log(abi.LevelError, "listen!")
				}
				close(ran)
				return value("1"), nil
			})); err != nil {
			t.Fatal(err)
		}
		s := mcpserver.New(registry, nil)
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		var served sync.WaitGroup
		served.Go(func() {
			if err := s.ServeStdio(ctx, in, out); err != context.Canceled {
				t.Errorf("it ended with %v", err)
			}
		})
		go func() {
			_, _ = io.WriteString(toServer, initialize+"\n")
			_, _ = io.WriteString(toServer, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{`+
				`"name":"talk","_meta":{"progressToken":1}}}`+"\n")
		}()
		if _, err := bufio.NewReaderSize(fromServer, 1<<16).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		<-ran
		began := time.Now()
		cancel()
		served.Wait()
		s.Close()
		if took := time.Since(began); took > 2*mcpserver.ShutdownGrace {
			t.Errorf("the end took %v", took)
		}
		fromServer.Close()
		toServer.Close()
	})
}

// TestStreamsThatCannotBeClosed pins that in need not be a Closer, that its end is the client's, and
// that lines which are no messages are answered and end nothing.
func TestStreamsThatCannotBeClosed(t *testing.T) {
	s, _ := withTestTools(t, nil)
	const ping = `{"jsonrpc":"2.0","id":7,"method":"ping"}`
	var out strings.Builder
	in := io.MultiReader(strings.NewReader(initialize + "\r\n\n \nno JSON\n[" + ping + "]\n{}\n" + ping))
	if err := s.ServeStdio(t.Context(), in, &out); err != nil {
		t.Error(err)
	}
	for _, want := range []string{`"serverInfo"`, "-32700", "-32600", "batches are not served",
		"invalid request", `"id":7,"result":{}`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in %s", want, out.String())
		}
	}
}

// TestBeforeInitialize pins that a request which comes too early is answered as one that is not valid,
// over either transport, and that it is no error of the server's in the log.
func TestBeforeInitialize(t *testing.T) {
	const list = `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`
	for _, way := range []string{"stdio", "HTTP"} {
		t.Run(way, func(t *testing.T) {
			var out strings.Builder
			var log bytes.Buffer
			s, _ := withTestTools(t, &mcpserver.Options{Logger: logTo(&log)})
			if way == "HTTP" {
				_, text, _ := post(t, listen(t, s, mcpserver.HTTP{Tokens: []string{testToken}}), list)
				out.WriteString(text)
			} else if err := s.ServeStdio(t.Context(), strings.NewReader(list), &out); err != nil {
				t.Error(err)
			}
			if text := out.String(); !strings.Contains(text, `"code":-32600`) ||
				!strings.Contains(text, "send initialize first") {
				t.Errorf("answered %s", text)
			}
			if text := log.String(); strings.Contains(text, "ERROR") {
				t.Errorf("logged %s", text)
			}
		})
	}
}

// calling is a whole dialog that calls a tool and says no more.
func calling(tool string) string {
	return initialize + "\n" + `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"` +
		tool + `"}}` + "\n"
}

// brittle is an output that breaks after so many writes.
type brittle struct{ left int }

func (b *brittle) Write(p []byte) (int, error) {
	if b.left--; b.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

// TestCallsOutliveTheInput pins that calls under way when the client closes its end are answered,
// for how long, and what else does not keep a server.
func TestCallsOutliveTheInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		takes := func(d time.Duration) invoke {
			return func(ctx context.Context, call plugins.Call) (plugins.Output, error) {
				if call.Progress != nil {
					call.Progress(abi.Progress{Done: 1})
				}
				select {
				case <-time.After(d):
					return value(`"in time"`), nil
				case <-ctx.Done():
					return plugins.Output{}, ctx.Err()
				}
			}
		}
		registry := plugins.NewRegistry(nil)
		if err := registry.Add(tool(spec("just"), takes(mcpserver.FinishTime-1)),
			tool(spec("late"), takes(mcpserver.FinishTime+time.Second))); err != nil {
			t.Fatal(err)
		}
		s := mcpserver.New(registry, nil)
		defer s.Close()
		listening := strings.Replace(strings.Replace(discover, "server/discover", "subscriptions/listen",
			1), `"params":{`, `"params":{"notifications":{"toolsListChanged":true},`, 1)
		for _, tt := range []struct {
			name, in, want string
			took           time.Duration
		}{
			{"nothing", "", "", 0},
			{"just in time", calling("just"), `"text":"in time"`, mcpserver.FinishTime - 1},
			{"two calls", calling("just") + strings.Replace(calling("just"), `"id":2`, `"id":3`, 1),
				`"id":3`, mcpserver.FinishTime - 1},
			{"too late", calling("late"), "", mcpserver.FinishTime},
			{"a stream of changes", listening + "\n", "", 0},
			{"a cancelled call", calling("late") + `{"jsonrpc":"2.0","method":"notifications/cancelled",` +
				`"params":{"requestId":2}}`, "", 0},
		} {
			var out strings.Builder
			began := time.Now()
			if err := s.ServeStdio(t.Context(), strings.NewReader(tt.in), &out); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			if took := time.Since(began); took != tt.took {
				t.Errorf("%s: it took %v", tt.name, took)
			}
			have := out.String()
			if !strings.Contains(have, tt.want) || tt.want == "" && strings.Contains(have, "in time") {
				t.Errorf("%s: have %s", tt.name, have)
			}
		}
		began := time.Now()
		progress := strings.Replace(calling("late"), `"late"`, `"late","_meta":{"progressToken":1}`, 1)
		if err := s.ServeStdio(t.Context(), strings.NewReader(progress), &brittle{1}); err != nil {
			t.Errorf("nobody listens: %v", err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("nobody listens: it took %v", took)
		}
	})
}

// TestHandlesExpire pins how long read_more can read on, and how much a session keeps.
func TestHandlesExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sized := func(name string, n int) plugins.Tool {
			return tool(abi.ToolSpec{Name: name}, gives(`"`+strings.Repeat("a", n)+`"`))
		}
		registry := plugins.NewRegistry(nil)
		if err := registry.Add(sized("largest", mcpserver.SessionKeep),
			sized("larger", mcpserver.SessionKeep+1)); err != nil {
			t.Fatal(err)
		}
		s := mcpserver.New(registry, nil)
		defer s.Close()
		c, stop := inBubble(t, s, sessions, func(*mcp.ClientSession) {})
		defer stop()
		handle := marker.FindStringSubmatch(textOf(call(t, c, "largest", nil)))[1]
		read := func() *mcp.CallToolResult {
			return call(t, c, "read_more", map[string]any{"handle": handle})
		}
		time.Sleep(mcpserver.HandleAge - 1)
		if res := read(); res.IsError {
			t.Errorf("just before its age: %s", textOf(res))
		}
		time.Sleep(time.Nanosecond)
		if res := read(); !res.IsError {
			t.Error("at its age it can be read")
		}
		if text := textOf(call(t, c, "larger", nil)); !strings.Contains(text, "too many to be kept") {
			t.Errorf("more than a session keeps: %.200s", text)
		}
	})
}

// TestBusy pins what a client is told when too many calls run, and that a place is free again
// afterwards. The calls that wait are counted and timed in the tests of the gate.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		entered, leave := make(chan struct{}, 1), make(chan struct{})
		registry := plugins.NewRegistry(nil)
		if err := registry.Add(tool(spec("hold"),
			func(context.Context, plugins.Call) (plugins.Output, error) {
				entered <- struct{}{}
				<-leave
				return value("1"), nil
			})); err != nil {
			t.Fatal(err)
		}
		s := mcpserver.New(registry, &mcpserver.Options{SessionCalls: 1})
		defer s.Close()
		c, stop := inBubble(t, s, none, func(*mcp.ClientSession) {})
		defer stop()
		var first sync.WaitGroup
		first.Go(func() {
			if res := call(t, c, "hold", nil); textOf(res) != "1" {
				t.Errorf("the first call: %s", textOf(res))
			}
		})
		<-entered
		res := call(t, c, "hold", nil)
		meta := fmt.Sprint(res.Meta[mcpserver.MetaError])
		if !res.IsError || !strings.Contains(textOf(res), "try again later") ||
			meta != "map[attempts:0 cause:busy fault:world]" {
			t.Errorf("a second call of one: %s, %s", textOf(res), meta)
		}
		close(leave)
		first.Wait()
		if res := call(t, c, "hold", nil); res.IsError {
			t.Errorf("afterwards: %s", textOf(res))
		}
	})
}

// TestMessagesAreBounded pins how long a message over stdio may be: a longer one ends the session.
// The line's end does not count.
func TestMessagesAreBounded(t *testing.T) {
	s, _ := withTestTools(t, nil)
	for _, tt := range []struct {
		size int
		good bool
	}{{mcpserver.MaxMessage, true}, {mcpserver.MaxMessage + 1, false}} {
		const head, tail = `{"jsonrpc":"2.0","id":2,"method":"ping","params":{"a":"`, `"}}`
		line := head + strings.Repeat("x", tt.size-len(head)-len(tail)) + tail
		in := strings.NewReader(initialize + "\n" + line + "\n")
		err := s.ServeStdio(t.Context(), in, io.Discard)
		if (err == nil) != tt.good {
			t.Errorf("%d bytes: %v", tt.size, err)
		}
	}
}
