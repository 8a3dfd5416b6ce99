package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/mcpserver"
	"github.com/wasmagent/wasmagent/plugins"
)

// peerVariable makes the test binary a server for clients in other processes: stdio, http or
// conformance, which is http for everybody.
const peerVariable = "WASMAGENT_MCP_TEST_SERVER"

const testToken = "test-token-0123456789"

func TestMain(m *testing.M) {
	if way := os.Getenv(peerVariable); way != "" {
		if err := peer(way); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// peer is a server with the tools of the tests.
func peer(way string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	registry := plugins.NewRegistry(nil)
	tools, who := testTools(registry), mcpserver.HTTP{Tokens: []string{testToken}}
	if way == "conformance" {
		tools, who = conformanceTools(registry), mcpserver.HTTP{NoAuth: true}
	}
	if err := registry.Add(tools...); err != nil {
		return err
	}
	s := mcpserver.New(registry, &mcpserver.Options{
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	defer s.Close()
	if way == "stdio" {
		return s.ServeStdio(ctx, os.Stdin, os.Stdout)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/mcp\n", listener.Addr())
	if err := s.Serve(ctx, listener, who); ctx.Err() == nil {
		return err
	}
	return nil
}

// pixel is a PNG's first bytes: enough for an image that nobody looks at.
var pixel = []byte("\x89PNG\r\n\x1a\n")

type invoke = func(context.Context, plugins.Call) (plugins.Output, error)

// tool makes a tool for a test. It remembers nothing of its calls.
func tool(spec abi.ToolSpec, reply invoke) plugins.Tool { return &plain{spec, reply} }

type plain struct {
	spec  abi.ToolSpec
	reply invoke
}

func (p *plain) Spec() abi.ToolSpec { return p.spec }

func (p *plain) Invoke(ctx context.Context, call plugins.Call) (plugins.Output, error) {
	return p.reply(ctx, call)
}

func value(text string) plugins.Output { return plugins.Output{Value: []byte(text)} }

func gives(text string) invoke {
	return func(context.Context, plugins.Call) (plugins.Output, error) { return value(text), nil }
}

func blocks(b ...abi.Block) invoke {
	return func(context.Context, plugins.Call) (plugins.Output, error) {
		return plugins.Output{Content: b}, nil
	}
}

func failsWith(err error) invoke {
	return func(context.Context, plugins.Call) (plugins.Output, error) { return plugins.Output{}, err }
}

const pointSchema = `{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}`

// testTools are tools that show all that a call can come to. grow adds one to the registry; hold
// tells of progress and waits until release is called.
func testTools(registry *plugins.Registry) []plugins.Tool {
	kind := func(name string, kind plugins.Kind, cause error) plugins.Tool {
		return tool(abi.ToolSpec{Name: name}, failsWith(&plugins.ToolError{Kind: kind, Err: cause}))
	}
	released := make(chan struct{})
	failed := &abi.Failure{Code: "no_disk", Message: "the disk is\x1b[31m full", Permanent: true}
	return []plugins.Tool{
		tool(abi.ToolSpec{Name: "echo", Description: "Gives back its arguments.", Effect: abi.EffectRead},
			func(_ context.Context, call plugins.Call) (plugins.Output, error) {
				return value(string(call.Input)), nil
			}),
		tool(abi.ToolSpec{Name: "point", Description: "Gives a point.", InputSchema: pointSchema,
			OutputSchema: pointSchema, Effect: abi.EffectIdempotent},
			func(_ context.Context, call plugins.Call) (plugins.Output, error) {
				return value(string(call.Input)), nil
			}),
		tool(abi.ToolSpec{Name: "count", OutputSchema: `{"type":"integer"}`}, gives("42")),
		tool(abi.ToolSpec{Name: "tree", OutputSchema: `{"$ref":"#/$defs/n","$defs":{"n":` +
			`{"type":["array","null"],"items":{"$ref":"#/$defs/n"}}}}`}, gives("[[],null]")),
		tool(abi.ToolSpec{Name: "image"}, blocks(
			abi.Block{Type: "text", Text: "a picture"},
			abi.Block{Type: "image", Data: pixel, MIME: "image/png"},
			abi.Block{Type: "audio", Data: []byte("beep"), MIME: "audio/wav"},
			abi.Block{Type: "file", Data: []byte{0, 1}, Name: "a/b.bin"},
			abi.Block{Type: "file", Text: "hello", Name: "c.txt"},
		)),
		tool(abi.ToolSpec{Name: "long"}, gives(`"`+strings.Repeat("line\\n", 20000)+`"`)),
		tool(abi.ToolSpec{Name: "steps", Effect: abi.EffectRead}, steps),
		tool(abi.ToolSpec{Name: "wait"}, waitForEver),
		tool(abi.ToolSpec{Name: "hold"},
			func(_ context.Context, call plugins.Call) (plugins.Output, error) {
				call.Progress(abi.Progress{Done: 1, Total: 2})
				<-released
				return value("true"), nil
			}),
		tool(abi.ToolSpec{Name: "release"},
			func(context.Context, plugins.Call) (plugins.Output, error) {
				close(released)
				return value("true"), nil
			}),
		kind("fail_handler", plugins.ErrHandler, failed),
		kind("fail_malformed", plugins.ErrMalformedResult,
			&plugins.MalformedError{Name: "bad_msgpack", Detail: "cut off", Offset: 3}),
		kind("fail_serialization", plugins.ErrOutputSerialization,
			&abi.Failure{Message: "a channel has no form"}),
		kind("fail_key", plugins.ErrMissingIdempotencyKey,
			&plugins.KeyError{Path: "order.id", Detail: "it is not there"}),
		tool(abi.ToolSpec{Name: "fail_host"}, failsWith(plugins.HostFault(errors.New("/dev/sda is gone")))),
		tool(abi.ToolSpec{Name: "grow"},
			func(context.Context, plugins.Call) (plugins.Output, error) {
				return value("true"), registry.Add(tool(abi.ToolSpec{Name: "grown"}, gives("1")))
			}),
	}
}

func steps(_ context.Context, call plugins.Call) (plugins.Output, error) {
	call.Log(abi.LevelWarn, "about to\nbegin")
	if call.Progress != nil {
		for i := range 4 {
			call.Progress(abi.Progress{Done: float64(i), Total: 3, Message: "step"})
		}
	}
	return value("true"), nil
}

func waitForEver(ctx context.Context, call plugins.Call) (plugins.Output, error) {
	if call.Progress != nil {
		call.Progress(abi.Progress{Done: 1})
	}
	<-ctx.Done()
	return plugins.Output{}, ctx.Err()
}

// serverWith makes a server of these tools.
func serverWith(t *testing.T, opts *mcpserver.Options, tools ...plugins.Tool) (*mcpserver.Server,
	*plugins.Registry) {
	t.Helper()
	registry := plugins.NewRegistry(nil)
	if err := registry.Add(tools...); err != nil {
		t.Fatal(err)
	}
	s := mcpserver.New(registry, opts)
	t.Cleanup(func() { s.Close() })
	return s, registry
}

// withTestTools makes a server of testTools.
func withTestTools(t *testing.T, opts *mcpserver.Options) (*mcpserver.Server, *plugins.Registry) {
	t.Helper()
	registry := plugins.NewRegistry(nil)
	if err := registry.Add(testTools(registry)...); err != nil {
		t.Fatal(err)
	}
	s := mcpserver.New(registry, opts)
	t.Cleanup(func() { s.Close() })
	return s, registry
}

// The two eras of the protocol.
const (
	sessions = "2025-11-25"
	none     = "2026-07-28"
)

// way is how a client reaches a server.
type way struct{ transport, version string }

var ways = []way{{"stdio", sessions}, {"stdio", none}, {"http", sessions}, {"http", none}}

func (w way) String() string { return w.transport + " " + w.version }

// connect connects a client to s.
func (w way) connect(t testing.TB, s *mcpserver.Server, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	var transport mcp.Transport
	if w.transport == "stdio" {
		transport = pipes(t, s)
	} else {
		transport = overHTTP(t, s, testToken)
	}
	return connect(t, transport, w.version, opts)
}

func connect(t testing.TB, transport mcp.Transport, version string, opts *mcp.ClientOptions) (
	session *mcp.ClientSession) {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opts)
	session, err := client.Connect(t.Context(), transport,
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	if have := session.InitializeResult().ProtocolVersion; version == sessions && have != version {
		t.Fatalf("the server speaks %s, not %s", have, version)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// pipes serves a client on two pipes.
func pipes(t testing.TB, s *mcpserver.Server) mcp.Transport {
	t.Helper()
	transport, end := pipePair(t, s)
	t.Cleanup(end)
	return transport
}

// pipePair serves a client on two pipes until end is called.
func pipePair(t testing.TB, s *mcpserver.Server) (client mcp.Transport, end func()) {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	var served sync.WaitGroup
	served.Go(func() {
		if err := s.ServeStdio(context.Background(), in, out); err != nil {
			t.Errorf("stdio: %v", err)
		}
		out.Close()
	})
	return &mcp.IOTransport{Reader: fromServer, Writer: toServer}, func() {
		toServer.Close()
		fromServer.Close()
		served.Wait()
	}
}

// listen serves HTTP and gives the address.
func listen(t testing.TB, s *mcpserver.Server, h mcpserver.HTTP) string {
	t.Helper()
	handler, err := s.Handler(h)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

func overHTTP(t testing.TB, s *mcpserver.Server, token string) mcp.Transport {
	t.Helper()
	return dial(t, listen(t, s, mcpserver.HTTP{Tokens: []string{token}}), token)
}

func dial(t testing.TB, url, token string) mcp.Transport {
	t.Helper()
	base := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(base.CloseIdleConnections)
	return &mcp.StreamableClientTransport{
		Endpoint:   url,
		HTTPClient: &http.Client{Transport: bearer{base, token}},
		MaxRetries: -1,
	}
}

type bearer struct {
	http.RoundTripper
	token string
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.RoundTripper.RoundTrip(r)
}

// call calls a tool and fails the test on a protocol error.
func call(t *testing.T, c *mcp.ClientSession, name string, args any) *mcp.CallToolResult {
	t.Helper()
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return res
}

// textOf joins the texts of a result.
func textOf(res *mcp.CallToolResult) string {
	var texts []string
	for _, c := range res.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			texts = append(texts, text.Text)
		}
	}
	return strings.Join(texts, "|")
}

func toolNames(t *testing.T, c *mcp.ClientSession) []string {
	t.Helper()
	var names []string
	for tool, err := range c.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	return names
}

func spec(name string) abi.ToolSpec { return abi.ToolSpec{Name: name} }

// logTo makes a logger that writes to a buffer.
func logTo(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(&locked{w: w}, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

type locked struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}
