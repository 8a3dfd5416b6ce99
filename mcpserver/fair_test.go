package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wasmagent/wasmagent/mcpserver"
	"github.com/wasmagent/wasmagent/plugins"
)

// TestFairness pins that one session which calls as much as it can neither keeps another one's calls
// out, nor itself from the server's own answers.
func TestFairness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const places = 8
		leave := make(chan struct{})
		registry := plugins.NewRegistry(nil)
		if err := registry.Add(tool(spec("hold"),
			func(context.Context, plugins.Call) (plugins.Output, error) {
				<-leave
				return value(`"held"`), nil
			}), tool(spec("quick"), gives(`"quick"`)), tool(spec("long"),
			gives(`"`+strings.Repeat("x", 100_000)+`"`))); err != nil {
			t.Fatal(err)
		}
		s := mcpserver.New(registry, &mcpserver.Options{Calls: places, SessionCalls: places,
			Discover: true})
		defer s.Close()
		greedy, stop := inBubble(t, s, sessions, func(*mcp.ClientSession) {})
		defer stop()
		other, stopOther := inBubble(t, s, sessions, func(*mcp.ClientSession) {})
		defer stopOther()

		handle := marker.FindStringSubmatch(textOf(call(t, greedy, "long", nil)))[1]
		var all sync.WaitGroup
		var mu sync.Mutex
		answers := map[string]int{}
		hold := func(n int) {
			for range n {
				all.Go(func() {
					text := textOf(call(t, greedy, "hold", nil))
					mu.Lock()
					defer mu.Unlock()
					answers[text]++
				})
			}
			synctest.Wait()
		}
		hold(places + mcpserver.MaxSessionWaiting)
		if len(answers) > 0 {
			t.Errorf("as many calls as may be: %v", answers)
		}
		hold(1)
		if len(answers) != 1 || answers["held"] != 0 {
			t.Errorf("one more: %v", answers)
		}
		toolNames(t, greedy)
		for name, args := range map[string]map[string]any{
			"read_more":    {"handle": handle},
			"search_tools": {"query": "quick"},
		} {
			if res := call(t, greedy, name, args); res.IsError {
				t.Errorf("%s: %s", name, textOf(res))
			}
		}
		var quick sync.WaitGroup
		quick.Go(func() {
			if res := call(t, other, "quick", nil); textOf(res) != "quick" {
				t.Errorf("another session: %s", textOf(res))
			}
		})
		synctest.Wait()
		leave <- struct{}{} // one place gets free, and then another
		leave <- struct{}{}
		quick.Wait()
		close(leave)
		all.Wait()
		if answers["held"] != places+mcpserver.MaxSessionWaiting {
			t.Errorf("the first ones: %v", answers)
		}
	})
}

// TestHiddenToolsCanBeCalled pins that clients which search for tools may also call one by its name,
// through the same gates, and what they are told of a name that there is not.
func TestHiddenToolsCanBeCalled(t *testing.T) {
	everyWay(t, func(t *testing.T, w way) {
		registry := plugins.NewRegistry(&plugins.Options{Rules: map[string]plugins.Rule{
			"point": {Key: "order"},
		}})
		if err := registry.Add(testTools(registry)...); err != nil {
			t.Fatal(err)
		}
		s := mcpserver.New(registry, &mcpserver.Options{Discover: true})
		defer s.Close()
		c := w.connect(t, s, nil)
		for name, args := range map[string]string{"count": `{}`, "point": `{"x":1}`, "long": `{}`,
			"fail_handler": `{}`, "fail_host": `{}`} {
			direct := call(t, c, name, json.RawMessage(args))
			named := fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args)
			byCall := call(t, c, "call_tool", json.RawMessage(named))
			have, want := textOf(direct), textOf(byCall)
			if name == "long" { // each has a handle of its own
				have, want = marker.ReplaceAllString(have, ""), marker.ReplaceAllString(want, "")
			}
			if have != want || direct.IsError != byCall.IsError || direct.StructuredContent != nil ||
				fmt.Sprint(direct.Meta) != fmt.Sprint(byCall.Meta) {
				t.Errorf("%s: %+v by name, %+v by call_tool", name, direct, byCall)
			}
		}
		_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "cuont"})
		if err == nil || !strings.Contains(err.Error(), `unknown tool "cuont"; search_tools finds`) {
			t.Errorf("a name that there is not: %v", err)
		}
	})
}

// TestListsArePrivate pins that nobody in between keeps a list for others.
func TestListsArePrivate(t *testing.T) {
	everyWay(t, func(t *testing.T, w way) {
		s, _ := withTestTools(t, nil)
		list, err := w.connect(t, s, nil).ListTools(t.Context(), nil)
		if err != nil || list.CacheScope != "private" || list.TTLMs != 0 {
			t.Errorf("have %q, %d ms, %v", list.CacheScope, list.TTLMs, err)
		}
	})
	s, _ := withTestTools(t, nil)
	url := listen(t, s, mcpserver.HTTP{Tokens: []string{testToken}})
	_, text, _ := post(t, url, discover, "Mcp-Protocol-Version", none, "Mcp-Method", "server/discover")
	if !strings.Contains(text, `"cacheScope":"private"`) {
		t.Errorf("have %s", text)
	}
}
