package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wasmagent/wasmagent"
	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/mcpserver"
	"github.com/wasmagent/wasmagent/plugins"
)

// version is one of a tool's versions: they differ in their output schemas, and none's results match
// another one's.
type version struct {
	schema  string  // of the tool; "" is none
	value   abi.Raw // what it gives
	text    string  // what a client reads
	offered string  // the schema as clients see it
	whole   string  // the structured content
}

var versions = []version{
	{`{"type":"object","required":["n"]}`,
		abi.AppendInt(abi.AppendString(abi.AppendMapHeader(nil, 1), "n"), 0), `{"n":0}`,
		`{"required":["n"],"type":"object"}`, `{"n":0}`},
	{`{"type":"object","required":["s"]}`,
		abi.AppendString(abi.AppendString(abi.AppendMapHeader(nil, 1), "s"), "1"), `{"s":"1"}`,
		`{"required":["s"],"type":"object"}`, `{"s":"1"}`},
	{`{"type":"string"}`, abi.AppendString(nil, "two"), `two`,
		`{"properties":{"result":{"type":"string"}},"required":["result"],"type":"object"}`,
		`{"result":"two"}`},
	{``, abi.AppendInt(nil, 3), `3`, `null`, `null`},
}

// wasm is a plugin with this version of the tool changes.
func (v version) wasm() []byte {
	return hosttest.Plugin{Name: "changes",
		Tools: []abi.ToolSpec{{Name: "changes", OutputSchema: v.schema}},
		Call:  hosttest.Reply(abi.AppendReply(nil, &abi.Reply{Outcome: abi.OutcomeOK, Value: v.value})),
	}.Bytes()
}

// holdsTo is a client that holds structured content against the schema that it was given last.
type holdsTo struct {
	c     *mcp.ClientSession
	knows string // the schema
}

func (h *holdsTo) list(ctx context.Context) error {
	list, err := h.c.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list.Tools, func(t *mcp.Tool) bool { return t.Name == "changes" })
	if i < 0 {
		return fmt.Errorf("the tool is not in the list")
	}
	text, err := json.Marshal(list.Tools[i].OutputSchema)
	h.knows = string(text)
	return err
}

// call calls the tool and reports which version answered, and whether with structured content.
func (h *holdsTo) call(ctx context.Context) (v int, structured bool, err error) {
	res, err := h.c.CallTool(ctx, &mcp.CallToolParams{Name: "changes"})
	if err != nil {
		return 0, false, err
	}
	v = slices.IndexFunc(versions, func(v version) bool { return v.text == textOf(res) })
	if v < 0 || res.IsError {
		return 0, false, fmt.Errorf("neither version gives %q", textOf(res))
	}
	whole, err := json.Marshal(res.StructuredContent)
	if err != nil {
		return 0, false, err
	}
	meta, _ := res.Meta[mcpserver.MetaResult].(map[string]any)
	switch {
	case res.StructuredContent == nil && meta["otherSchema"] != true && versions[v].schema != "":
		return v, false, fmt.Errorf("version %d: nothing says why there is no structured content", v)
	case res.StructuredContent == nil:
		return v, false, nil
	case string(whole) != versions[v].whole || h.knows != versions[v].offered:
		return v, true, fmt.Errorf("version %d gives %s, the client knows %s", v, whole, h.knows)
	case meta["otherSchema"] != nil:
		return v, true, fmt.Errorf("version %d: structured content that is said to be missing", v)
	}
	return v, true, nil
}

// TestFilesChangeUnderLoad pins that while a plugin's file is replaced again and again, each call is
// answered by one version or the other, that no client gets structured content which breaks the
// schema it knows, and that each is told of the change, over every transport.
func TestFilesChangeUnderLoad(t *testing.T) {
	rounds := 9
	if testing.Short() {
		rounds = 3
	}
	root := t.TempDir()
	file := filepath.Join(root, "plugins", "changes.wasm")
	put := func(v version) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file+".new", v.wasm(), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	put(versions[0])
	box, err := wasmagent.Open(t.Context(), filepath.Dir(file), &wasmagent.Options{
		CacheDir: filepath.Join(root, "cache"), StateDir: filepath.Join(root, "state")})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	if err := box.Watch(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	s := mcpserver.New(box.Registry(), nil)
	defer s.Close()
	url := listen(t, s, mcpserver.HTTP{Tokens: []string{testToken}})

	stop := make(chan struct{})
	var callers sync.WaitGroup
	var told []chan struct{} // by client: it has heard of a change and listed the tools
	for i, w := range append(ways, ways...) {
		changed, listed := make(chan struct{}, 1000), make(chan struct{}, 1000)
		transport := dial(t, url, testToken)
		if w.transport == "stdio" {
			transport = pipes(t, s)
		}
		h := &holdsTo{c: connect(t, transport, w.version, onChange(changed))}
		if err := h.list(t.Context()); err != nil {
			t.Fatal(err)
		}
		told = append(told, listed)
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-changed:
					if err := h.list(t.Context()); err != nil {
						t.Errorf("client %d, %v: %v", i, w, err)
					}
					listed <- struct{}{}
				default:
				}
				if _, _, err := h.call(t.Context()); err != nil {
					t.Errorf("client %d, %v: %v", i, w, err)
				}
			}
		})
	}
	for round := range rounds {
		put(versions[(round+1)%len(versions)])
		for _, listed := range told {
			<-listed
		}
	}
	close(stop)
	callers.Wait()
}

// TestSchemaOfTheSession pins when a client gets structured content: when what ran has the schema
// that this very client has listed last.
func TestSchemaOfTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := plugins.NewRegistry(nil)
		native := func(v int) plugins.Tool {
			value := versions[v].text
			if v == 2 {
				value = `"two"`
			}
			return tool(abi.ToolSpec{Name: "changes", OutputSchema: versions[v].schema}, gives(value))
		}
		last := native(0)
		replace := func(v int) {
			next := native(v)
			if err := registry.Replace([]plugins.Tool{last}, []plugins.Tool{next}); err != nil {
				t.Fatal(err)
			}
			last = next
		}
		if err := registry.Add(last); err != nil {
			t.Fatal(err)
		}
		s := mcpserver.New(registry, nil)
		defer s.Close()
		for _, era := range []string{sessions, none} {
			a, stop := inBubble(t, s, era, func(*mcp.ClientSession) {})
			defer stop()
			b, stopB := inBubble(t, s, era, func(*mcp.ClientSession) {})
			defer stopB()
			one, other := &holdsTo{c: a}, &holdsTo{c: b}
			list := func(h *holdsTo) {
				t.Helper()
				if err := h.list(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			want := func(what string, h *holdsTo, version int, structured bool) {
				t.Helper()
				v, ok, err := h.call(t.Context())
				if err != nil || v != version || ok != structured {
					t.Errorf("%s, %s: version %d, structured %v, %v", era, what, v, ok, err)
				}
			}
			settle := func() {
				time.Sleep(2 * mcpserver.ChangeDelay)
				synctest.Wait()
			}
			replace(0)
			settle()
			one.knows = versions[0].offered
			want("who has listed nothing", one, 0, true)
			list(one)
			list(other)
			replace(1)
			want("replaced, not yet told", one, 1, false)
			settle()
			want("told", one, 1, false)
			list(one)
			want("listed", one, 1, true)
			want("the other one", other, 1, false)
			replace(0)
			want("taken back, not yet told", one, 0, false)
			want("what the other one still knows", other, 0, true)
			replace(3)
			settle()
			want("no schema any more", other, 3, false)
			list(one)
			replace(2)
			settle()
			want("a schema where there was none", one, 2, false)
			list(one)
			want("listed", one, 2, true)
		}
	})
}
