package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/loader/mcp"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
	"github.com/wasmagent/wasmagent/plugins/pluginstest"
)

// waited is set when the good server's wait was cancelled in this process.
var waited atomic.Bool

func sdkError(code int64, text string) error { return &jsonrpc.Error{Code: code, Message: text} }

// What comes of a call is the same over every way to a server.
func TestWays(t *testing.T) {
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			s := reach(t, way)
			if got := names(s); got != "break echo fail grow meta number picture refuse wait" {
				t.Fatal(got)
			}
			t.Run("values", func(t *testing.T) { values(t, s) })
			t.Run("errors", func(t *testing.T) { failures(t, s) })
			t.Run("blocks", func(t *testing.T) { picture(t, s) })
			t.Run("key", func(t *testing.T) { keyed(t, s) })
			t.Run("cancel", func(t *testing.T) { cancelled(t, s, way != "command") })
		})
	}
}

func values(t *testing.T, s *mcp.Source) {
	for _, tool := range s.Tools() {
		if spec := tool.Spec(); spec.Effect != abi.EffectWrite {
			t.Errorf("%s: effect %v", spec.Name, spec.Effect)
		}
	}
	res, err := call(t, s, "echo", `{"a":"<&>"}`)
	if err != nil || len(res.Content) != 1 || res.Content[0].Text != `{"a":"<&>"}` {
		t.Errorf("%+v, %v", res, err)
	}
	// A float64 does not hold it: no digit is lost on the way.
	res, err = call(t, s, "number", `{"n":9007199254740993}`)
	if err != nil || string(res.Value) != `{"n":9007199254740993}` {
		t.Errorf("%s, %v", res.Value, err)
	}
}

func failures(t *testing.T, s *mcp.Source) {
	_, err := call(t, s, "fail", `{}`)
	is(t, err, plugins.ErrHandler, "failed", "the disk is full")
	f, _ := errors.AsType[*abi.Failure](err)
	if f == nil || string(f.Details) != "\x81\xa4free\x00" {
		t.Errorf("%+v", f)
	}
	who := fmt.Sprintf("server %q", s.Name())
	if text := plugins.ModelText(err); !strings.Contains(text, who+` reported: "the disk is full"`) {
		t.Errorf("%s: not quoted, or not as the server's word", text)
	}
	if !strings.Contains(err.Error(), `tool "fail" of `+who) {
		t.Errorf("%v: not of %s", err, who)
	}
	_, err = call(t, s, "refuse", `{}`)
	is(t, err, plugins.ErrInvalidInput, "guest_input", "x must be even")
	_, err = call(t, s, "break", `{}`)
	is(t, err, plugins.ErrHandler, "failed", "oh no")
	_, err = call(t, s, "number", `{"n":"five"}`)
	is(t, err, plugins.ErrMalformedResult, "output_schema", "/n")
}

func picture(t *testing.T, s *mcp.Source) {
	res, err := call(t, s, "picture", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	want := []abi.Block{
		{Type: "text", Text: "look"},
		{Type: "image", Data: []byte("png"), MIME: "image/png"},
		{Type: "audio", Data: []byte("beep"), MIME: "audio/wav"},
		{Type: "file", Text: "hi", Name: "a://b"},
		{Type: "file", Data: []byte{0}, Name: "a://c"},
		{Type: "text", Text: `[a link to "x": https://x.example/]`},
	}
	got, _ := json.Marshal(res.Content)
	if wanted, _ := json.Marshal(want); string(got) != string(wanted) {
		t.Errorf("%s\nwant\n%s", got, wanted)
	}
}

// The server is told the key and the attempt.
func keyed(t *testing.T, s *mcp.Source) {
	r := registry(t, s, &plugins.Options{Ledger: &ledger.Memory{},
		Rules: map[string]plugins.Rule{"meta": {Key: "id"}}})
	res, err := r.Call(t.Context(), plugins.Call{Tool: "meta", Input: []byte(`{"id":"7"}`)})
	if err != nil || res.Content[0].Text != "meta:7 1" {
		t.Errorf("%+v, %v", res, err)
	}
}

// A caller's end reaches the server, and what the server says before it reaches the caller.
func cancelled(t *testing.T, s *mcp.Source, inProcess bool) {
	waited.Store(false)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var heard atomic.Pointer[abi.Progress]
	_, err := registry(t, s, nil).Call(ctx, plugins.Call{Tool: "wait",
		Progress: func(p abi.Progress) { heard.Store(&p); cancel() }})
	if p := heard.Load(); p == nil || *p != (abi.Progress{Done: 1, Total: 2, Message: "one half"}) {
		t.Errorf("%+v", p)
	}
	if !errors.Is(err, context.Canceled) || plugins.FaultOf(err) != plugins.FaultHost ||
		errors.Is(err, plugins.ErrHandler) {
		t.Errorf("%v: not the caller's end", err)
	}
	if inProcess {
		eventually(t, "the server is cancelled", waited.Load)
	}
	if _, err := call(t, s, "echo", `{}`); err != nil {
		t.Error(err)
	}
}

func TestConformance(t *testing.T) {
	s := reach(t, "pipes")
	for _, tool := range s.Tools() {
		if tool.Spec().Name == "number" {
			pluginstest.Tool(t, tool,
				pluginstest.Case{Name: "good", Input: `{"n":1}`, Value: `{"n":1}`})
		}
	}
}

// The list changes while a call runs: the call ends as it would have, and whoever waits is told.
func TestChanged(t *testing.T) {
	for _, way := range []string{"pipes", "command", "http sessions"} {
		t.Run(way, func(t *testing.T) {
			s := reach(t, way)
			changed, old := s.Changed(), s.Tools()
			r := registry(t, s, nil)
			if _, err := r.Call(t.Context(), plugins.Call{Tool: "grow"}); err != nil {
				t.Fatal(err)
			}
			select {
			case <-changed:
			case <-time.After(20 * time.Second):
				t.Fatal("nobody is told")
			}
			if err := r.Replace(old, s.Tools()); err != nil {
				t.Fatal(err)
			}
			res, err := r.Call(t.Context(), plugins.Call{Tool: "grown"})
			if err != nil || res.Content[0].Text != "big" {
				t.Errorf("%+v, %v", res, err)
			}
			if kept := s.Tools(); kept[0] != old[0] {
				t.Error("a tool that did not change is another one")
			}
		})
	}
}

// After Close, calls say that it is the program's own doing; Close may come twice.
func TestClosed(t *testing.T) {
	for _, way := range ways {
		s := reach(t, way)
		r := registry(t, s, nil)
		running := make(chan error)
		started := make(chan struct{})
		go func() {
			_, err := r.Call(t.Context(), plugins.Call{Tool: "wait",
				Progress: func(abi.Progress) { close(started) }})
			running <- err
		}()
		<-started
		s.Close()
		s.Close()
		if err := <-running; !errors.Is(err, mcp.ErrClosed) {
			t.Errorf("%s: %v", way, err)
		}
		_, err := r.Call(t.Context(), plugins.Call{Tool: "echo"})
		if !errors.Is(err, mcp.ErrClosed) || plugins.FaultOf(err) != plugins.FaultHost {
			t.Errorf("%s: %v", way, err)
		}
	}
}
