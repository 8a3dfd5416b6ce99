package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/wasmagent/wasmagent/loader/mcp"
	"github.com/wasmagent/wasmagent/plugins"
)

// peerVariable makes the test binary a server of the named kind on its stdin and stdout.
const peerVariable = "WASMAGENT_LOADER_MCP_TEST"

func TestMain(m *testing.M) {
	if kind := os.Getenv(peerVariable); kind != "" {
		peers[kind]()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// command is a server of a kind in a process of its own.
func command(t testing.TB, kind string) mcp.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return mcp.Server{Name: "peer", Command: self, Bare: true,
		Env: map[string]mcp.Value{peerVariable: {Text: kind}}}
}

func open(t testing.TB, server mcp.Server, opts *mcp.Options) *mcp.Source {
	t.Helper()
	s, err := mcp.Open(t.Context(), server, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// pipes are a server's two ends: what it reads and what it writes.
type pipes struct {
	in  *bufio.Scanner
	out io.WriteCloser
}

// over opens a source of a server that is a function on two pipes. It ends with its pipes.
func over(t testing.TB, server mcp.Server, opts *mcp.Options, serve func(pipes)) (*mcp.Source, error) {
	t.Helper()
	var served sync.WaitGroup
	t.Cleanup(served.Wait)
	if server.Name == "" {
		server.Name, server.Bare = "pipe", true
	}
	s, err := mcp.OpenOver(t.Context(), server, opts, func() (io.ReadCloser, io.WriteCloser) {
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		served.Go(func() {
			defer out.Close()
			defer in.Close()
			lines := bufio.NewScanner(in)
			lines.Buffer(nil, 32<<20)
			serve(pipes{lines, out})
		})
		return fromServer, toServer
	})
	if err == nil {
		t.Cleanup(func() { s.Close() })
	}
	return s, err
}

// message is one that a server gets.
type message struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Name      string
		Arguments json.RawMessage
		Cursor    string
		RequestID json.RawMessage
		Meta      struct{ ProgressToken json.RawMessage } `json:"_meta"`
	}
	Error *struct{ Code int }
}

// next gives the next message; false when there is none any more.
func (p pipes) next() (m message, ok bool) {
	if !p.in.Scan() {
		return m, false
	}
	if err := json.Unmarshal(p.in.Bytes(), &m); err != nil {
		panic(err)
	}
	return m, true
}

func (p pipes) say(format string, args ...any) { fmt.Fprintf(p.out, format+"\n", args...) }

func (p pipes) answer(m message, result string) {
	p.say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

const hello = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},` +
	`"serverInfo":{"name":"raw","version":"1"}}`

const oneTool = `{"tools":[{"name":"go","inputSchema":{"type":"object"}}]}`

// greet answers whatever comes before the first call of a tool, with this list of tools, and gives
// that call.
func (p pipes) greet(tools string) (message, bool) {
	for {
		m, ok := p.next()
		switch {
		case !ok:
			return m, false
		case m.Method == "server/discover":
			p.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"what?"}}`, m.ID)
		case m.Method == "initialize":
			p.answer(m, hello)
		case m.Method == "tools/list":
			p.answer(m, tools)
		case m.Method == "tools/call":
			return m, true
		}
	}
}

// each answers every call of a tool by f.
func each(tools string, f func(p pipes, m message)) func(pipes) {
	return func(p pipes) {
		for {
			m, ok := p.greet(tools)
			if !ok {
				return
			}
			f(p, m)
		}
	}
}

// replies answers every call with one result.
func replies(tools, result string) func(pipes) {
	return each(tools, func(p pipes, m message) { p.answer(m, result) })
}

func registry(t testing.TB, s *mcp.Source, opts *plugins.Options) *plugins.Registry {
	t.Helper()
	r := plugins.NewRegistry(opts)
	if err := r.Add(s.Tools()...); err != nil {
		t.Fatal(err)
	}
	return r
}

func call(t testing.TB, s *mcp.Source, tool, input string) (plugins.Result, error) {
	t.Helper()
	return registry(t, s, nil).Call(t.Context(), plugins.Call{Tool: tool, Input: []byte(input)})
}

// is checks an error's kind, its cause and a word of its text.
func is(t testing.TB, err error, kind plugins.Kind, cause, word string) {
	t.Helper()
	if !errors.Is(err, kind) || plugins.CauseOf(err) != cause || !strings.Contains(err.Error(), word) {
		t.Errorf("%v (cause %q), want %v, %s, %q", err, plugins.CauseOf(err), kind, cause, word)
	}
}

func names(s *mcp.Source) string {
	var list []string
	for _, t := range s.Tools() {
		list = append(list, t.Spec().Name)
	}
	return strings.Join(list, " ")
}

// good is a server with the library's own server side.
func good() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "good", Version: "1"}, nil)
	add := func(name, output string, f sdk.ToolHandler) {
		tool := &sdk.Tool{Name: name, Description: "Does " + name + ".",
			InputSchema: json.RawMessage(`{"type":"object"}`)}
		if output != "" {
			tool.OutputSchema = json.RawMessage(output)
		}
		s.AddTool(tool, f)
	}
	text := func(s string) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
	}
	add("echo", "", func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return text(string(r.Params.Arguments)), nil
	})
	add("meta", "", func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return text(fmt.Sprintf("%v %v", r.Params.Meta[mcp.MetaKey], r.Params.Meta[mcp.MetaAttempt])), nil
	})
	add("fail", "", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		res := text("the disk is\x1b[31m full")
		res.IsError = true
		res.StructuredContent = map[string]any{"free": 0}
		return res, nil
	})
	add("refuse", "", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return nil, sdkError(-32602, "x must be even")
	})
	add("break", "", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return nil, sdkError(-32603, "oh no")
	})
	add("number", `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`,
		func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			res := text("a number")
			res.StructuredContent = r.Params.Arguments
			return res, nil
		})
	add("picture", "", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{
			&sdk.TextContent{Text: "look"},
			&sdk.ImageContent{Data: []byte("png"), MIMEType: "image/png"},
			&sdk.AudioContent{Data: []byte("beep"), MIMEType: "audio/wav"},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "a://b", Text: "hi"}},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "a://c", Blob: []byte{0}}},
			&sdk.ResourceLink{URI: "https://x.example/", Name: "x"},
		}}, nil
	})
	add("wait", "", func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
			ProgressToken: r.Params.GetProgressToken(), Progress: 1, Total: 2, Message: "one\x1b[1m half"})
		select {
		case <-ctx.Done():
			waited.Store(true)
		case <-time.After(10 * time.Second): // so that a test that fails ends
		}
		return nil, ctx.Err()
	})
	add("grow", "", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		add("grown", "", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return text("big"), nil
		})
		return text("ok"), nil
	})
	return s
}

// serveGood serves good over two pipes.
func serveGood(p pipes) {
	r, w := io.Pipe()
	var pump sync.WaitGroup
	pump.Go(func() {
		defer w.Close()
		for p.in.Scan() {
			if _, err := w.Write(append(bytes.Clone(p.in.Bytes()), '\n')); err != nil {
				return
			}
		}
	})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_ = good().Run(ctx, &sdk.IOTransport{Reader: r, Writer: p.out})
	r.Close()
	pump.Wait()
}

// ways are the three ways to the good server.
var ways = []string{"pipes", "command", "http", "http sessions"}

func reach(t testing.TB, way string) *mcp.Source {
	t.Helper()
	switch way {
	case "pipes":
		s, err := over(t, mcp.Server{}, nil, serveGood)
		if err != nil {
			t.Fatal(err)
		}
		return s
	case "command":
		return open(t, command(t, "good"), nil)
	}
	server := good()
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server },
		&sdk.StreamableHTTPOptions{Stateless: way == "http",
			PropagateRequestCancellation: true})
	return open(t, mcp.Server{Name: "web", Bare: true, URL: listen(t, handler)}, nil)
}

func listen(t testing.TB, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// eventually waits for what another goroutine does, for as long as a test may take.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never: " + what)
		}
	}
}

// journal is a log that can be read while it is written.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

func (j *journal) options() *mcp.Options {
	return &mcp.Options{Logger: slog.New(slog.NewTextHandler(j,
		&slog.HandlerOptions{Level: slog.LevelDebug}))}
}
