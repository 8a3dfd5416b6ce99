package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/mcpserver"
	"github.com/wasmagent/wasmagent/plugins"
)

func onChange(changed chan<- struct{}) *mcp.ClientOptions {
	return &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			changed <- struct{}{}
		},
	}
}

// TestStorm pins that a storm of changes is told often enough to be followed and not more, that the
// last one is never lost, and that what comes to nothing is not told.
func TestStorm(t *testing.T) {
	for _, tt := range []struct {
		name     string
		writes   int
		pause    time.Duration
		min, max int
	}{
		{"at once", 1000, 0, 1, 1},
		{"without a rest", 1000, mcpserver.ChangeQuiet / 2, 40, 60},
		{"with rests", 50, 2 * mcpserver.ChangeQuiet, 50, 50},
	} {
		for _, version := range []string{sessions, none} {
			synctest.Test(t, func(t *testing.T) {
				registry := plugins.NewRegistry(nil)
				s := mcpserver.New(registry, nil)
				defer s.Close()
				told, last := 0, 0
				client, stop := inBubble(t, s, version, func(c *mcp.ClientSession) {
					told++
					list, err := c.ListTools(t.Context(), nil)
					if err == nil {
						last = len(list.Tools)
					}
				})
				defer stop()
				synctest.Wait()
				for i := range tt.writes {
					name := fmt.Sprintf("t%d", i%20)
					if i%2 == 0 {
						registry.Remove(name)
					}
					if err := registry.Replace(nil, []plugins.Tool{
						tool(spec(fmt.Sprintf("u%d", i)), gives("1"))}); err != nil {
						t.Fatal(err)
					}
					registry.Remove(fmt.Sprintf("u%d", i-10))
					time.Sleep(tt.pause)
				}
				time.Sleep(2 * mcpserver.ChangeDelay)
				synctest.Wait()
				if told < tt.min || told > tt.max || last != 11 {
					t.Errorf("%s, %s: told %d times, and saw %d tools", tt.name, version, told, last)
				}
				before := told
				for range 10 {
					added := tool(spec("fleeting"), gives("1"))
					if err := registry.Add(added); err != nil {
						t.Fatal(err)
					}
					registry.Remove("fleeting")
				}
				time.Sleep(2 * mcpserver.ChangeDelay)
				synctest.Wait()
				if told != before {
					t.Errorf("%s, %s: told of nothing", tt.name, version)
				}
				_ = client
			})
		}
	}
}

// inBubble connects a client whose streams all lie in the bubble of a test.
func inBubble(t *testing.T, s *mcpserver.Server, version string,
	changed func(*mcp.ClientSession)) (client *mcp.ClientSession, stop func()) {
	transport, end := pipePair(t, s)
	events := make(chan struct{}, 10000)
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, onChange(events)).Connect(
		t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var follower sync.WaitGroup
	follower.Go(func() {
		for {
			select {
			case <-events:
				changed(client)
			case <-done:
				return
			}
		}
	})
	return client, func() {
		close(done)
		follower.Wait()
		client.Close()
		end()
	}
}

// TestReplacedUnderLoad pins that every call is answered by one version or the other while tools are
// replaced, by name and by call_tool.
func TestReplacedUnderLoad(t *testing.T) {
	for _, opts := range []*mcpserver.Options{nil, {Discover: true}} {
		version := func(v int) plugins.Tool { return tool(spec("a"), gives(fmt.Sprint(v))) }
		last := version(0)
		s, registry := serverWith(t, opts, last)
		var callers sync.WaitGroup
		stop := make(chan struct{})
		for _, w := range ways {
			c := w.connect(t, s, nil)
			callers.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					params := &mcp.CallToolParams{Name: "a"}
					if opts != nil {
						params = &mcp.CallToolParams{Name: "call_tool", Arguments: map[string]any{"name": "a"}}
					}
					if res, err := c.CallTool(t.Context(), params); err != nil || res.IsError {
						t.Errorf("%v: %v, %+v", w, err, res)
						return
					}
				}
			})
		}
		for v := range 500 {
			next := version(v)
			if err := registry.Replace([]plugins.Tool{last}, []plugins.Tool{next}); err != nil {
				t.Error(err)
			}
			last = next
		}
		close(stop)
		callers.Wait()
	}
}

// TestRemovedToolIsUnknown pins what becomes of a call before clients have been told.
func TestRemovedToolIsUnknown(t *testing.T) {
	s, registry := serverWith(t, nil, tool(spec("a"), gives("1")), tool(spec("b"), gives("1")))
	changed := make(chan struct{}, 1)
	c := ways[0].connect(t, s, onChange(changed))
	registry.Remove("a")
	if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "a"}); err == nil {
		t.Error("the removed tool answers")
	}
	<-changed
	if names := toolNames(t, c); !slices.Equal(names, []string{"b", "read_more"}) {
		t.Errorf("have %v", names)
	}
}

// TestCloneOfOurs pins that a tool which looks like one of the server's to the last byte is still
// another one, also when the server's takes its place.
func TestCloneOfOurs(t *testing.T) {
	ours, _ := serverWith(t, &mcpserver.Options{Discover: true})
	list, err := ways[0].connect(t, ours, nil).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := json.Marshal(list.Tools[0].InputSchema)
	if err != nil || list.Tools[0].Name != "call_tool" {
		t.Fatal(err, list.Tools[0].Name)
	}
	clone := tool(abi.ToolSpec{Name: "call_tool", Description: list.Tools[0].Description,
		InputSchema: string(schema)}, gives(`"theirs"`))
	s, registry := serverWith(t, &mcpserver.Options{DirectTools: 1}, clone)
	changed := make(chan struct{}, 1)
	c := ways[0].connect(t, s, onChange(changed))
	args := map[string]any{"name": "one"}
	if res := call(t, c, "call_tool", args); textOf(res) != "theirs" {
		t.Errorf("alone: %s", textOf(res))
	}
	if err := registry.Add(tool(spec("one"), gives("1"))); err != nil {
		t.Fatal(err)
	}
	<-changed
	if res := call(t, c, "call_tool", args); textOf(res) != "1" {
		t.Errorf("beside ours: %s", textOf(res))
	}
}

// TestThresholdIsCrossed pins that the way tools are shown follows their number.
func TestThresholdIsCrossed(t *testing.T) {
	all := numbered(3)
	s, registry := serverWith(t, &mcpserver.Options{DirectTools: 2}, all[:2]...)
	changed := make(chan struct{}, 10)
	c := ways[1].connect(t, s, onChange(changed))
	if names := toolNames(t, c); !slices.Equal(names, []string{"read_more", "t000", "t001"}) {
		t.Errorf("have %v", names)
	}
	if err := registry.Add(all[2]); err != nil {
		t.Fatal(err)
	}
	<-changed
	if names := toolNames(t, c); !slices.Equal(names, onDemand) {
		t.Errorf("have %v", names)
	}
	registry.Remove("t000")
	<-changed
	if names := toolNames(t, c); !slices.Equal(names, []string{"read_more", "t001", "t002"}) {
		t.Errorf("have %v", names)
	}
}
