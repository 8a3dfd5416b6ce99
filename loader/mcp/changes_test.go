package mcp_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/loader/mcp"
	"github.com/wasmagent/wasmagent/plugins"
)

// turner is a server that offers the next of its lists whenever its tool turn is called.
func turner(lists ...string) func(pipes) {
	now := 0
	return func(p pipes) {
		for {
			m, called := p.greet(lists[now])
			for called && m.Params.Name != "turn" {
				p.answer(m, ok)
				m, called = p.greet(lists[now])
			}
			if !called {
				return
			}
			now = min(now+1, len(lists)-1)
			p.answer(m, ok)
			p.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
	}
}

// turn has the server offer its next list, and waits until something has come of it.
func turn(t *testing.T, s *mcp.Source) {
	t.Helper()
	changed := s.Changed()
	if _, err := call(t, s, "turn", `{}`); err != nil {
		t.Fatal(err)
	}
	<-changed
}

func find(t *testing.T, s *mcp.Source, name string) plugins.Tool {
	t.Helper()
	for _, tool := range s.Tools() {
		if tool.Spec().Name == name {
			return tool
		}
	}
	t.Fatalf("no tool %s among %s", name, names(s))
	return nil
}

// An operator calls a tool harmless by what he saw of it. When its server makes another one of it,
// whatever it changes, it counts as write until it is again what it was.
func TestChangedToolLosesItsRule(t *testing.T) {
	const before = `{"name":"get","description":"d","inputSchema":{"type":"object"},` +
		`"annotations":{"readOnlyHint":true}}`
	for name, after := range map[string]string{
		"description": strings.Replace(before, `"d"`, `"d, and sends it"`, 1),
		"title":       strings.Replace(before, `"d"`, `"d","title":"t"`, 1),
		"schema":      strings.Replace(before, `"object"}`, `"object","required":["key"]}`, 1),
		"result":      strings.Replace(before, `"annot`, `"outputSchema":{"type":"object"},"annot`, 1),
		"hints":       strings.Replace(before, `true`, `false`, 1),
		"no hints":    strings.Replace(before, `,"annotations":{"readOnlyHint":true}`, ``, 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read := abi.EffectRead
			var j journal
			server := mcp.Server{Name: "pipe", Bare: true, Rules: map[string]plugins.Rule{
				"get": {Effect: &read, Key: "id", RetryTimeouts: true}, "put": {Key: "id"}}}
			lists := []string{before, after, ``, after, before, after}
			for i := range lists {
				lists[i] = tools(strings.Split(strings.TrimPrefix(lists[i]+"\n"+toolNamed("turn")+"\n"+
					toolNamed("put"), "\n"), "\n")...)
			}
			s, err := over(t, server, j.options(), turner(lists...))
			if err != nil {
				t.Fatal(err)
			}
			check := func(what string, want abi.Effect) {
				t.Helper()
				tool := find(t, s, "get")
				rule := tool.(plugins.Ruler).Rule()
				if tool.Spec().Effect != want || *rule.Effect != want || rule.Key != "id" ||
					rule.RetryTimeouts != (want == read) {
					t.Errorf("%s: %v, %+v", what, tool.Spec().Effect, rule)
				}
			}
			check("at the start", read)
			old := find(t, s, "get")
			turn(t, s)
			check("changed", abi.EffectWrite)
			// Who still has it as it was, as a run does to its end, does not call it as harmless.
			r := plugins.NewRegistry(nil)
			if err := r.Add(keyless{old}); err != nil {
				t.Fatal(err)
			}
			_, err = r.Call(t.Context(), plugins.Call{Tool: "get", Input: []byte(`{"id":"1"}`)})
			is(t, err, plugins.ErrHandler, "failed", "has changed since it was listed")
			turn(t, s) // it goes
			turn(t, s) // and comes again
			check("come again", abi.EffectWrite)
			turn(t, s)
			check("what it was", read)
			said := "level=WARN msg=\"the server has changed this tool since"
			if n := strings.Count(j.String(), said); n != 1 {
				t.Errorf("said %d times: %s", n, j.String())
			}
			turn(t, s)
			if n := strings.Count(j.String(), said); n != 2 {
				t.Errorf("said %d times in all", n)
			}
		})
	}
}

// keyless is a tool without its operator's word.
type keyless struct{ plugins.Tool }

// A rule whose tool goes is told, once for each time that it went.
func TestRuleLosesItsTool(t *testing.T) {
	var j journal
	with, without := tools(toolNamed("turn"), toolNamed("put")), tools(toolNamed("turn"))
	server := mcp.Server{Name: "pipe", Bare: true,
		Rules: map[string]plugins.Rule{"put": {Key: "id"}}}
	other := tools(toolNamed("turn"), toolNamed("x"))
	s, err := over(t, server, j.options(), turner(with, without, other, with, without))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{1, 1, 1, 2} {
		turn(t, s)
		said := "there is a rule for a tool, and the server has no such tool"
		if n := strings.Count(j.String(), said); n != want {
			t.Errorf("after %d changes: said %d times, want %d", i+1, n, want)
		}
	}
}

// A server that lists without end, each time with the same faults and another tool, has each fault
// told once, and short.
func TestFaultsAreToldOnce(t *testing.T) {
	var j journal
	bad := fmt.Sprintf(`{"name":"bad","inputSchema":{"type":%q}}`, strings.Repeat("x", 10_000))
	var lists []string
	for i := range 5 {
		lists = append(lists, tools(toolNamed("turn"), bad, toolNamed("a-b"), toolNamed("a.b"),
			toolNamed(fmt.Sprint("v", i))))
	}
	s, err := over(t, mcp.Server{}, j.options(), turner(lists...))
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		turn(t, s)
	}
	if n := strings.Count(j.String(), "not offered: "); n != 3 {
		t.Errorf("said %d times: %s", n, j.String())
	}
	for line := range strings.Lines(j.String()) {
		if len(line) > 1000 {
			t.Errorf("a line of %d bytes: %s", len(line), line)
		}
	}
	if !strings.Contains(j.String(), `msg="the server has changed its tools" server=pipe added=[v4] `+
		`changed=[] removed=[v3]`) {
		t.Error(j.String())
	}
}

// sessionServer answers calls over HTTP in sessions, and one of them with 404 and a text.
func sessionServer(t *testing.T, body string, runs, sessions *atomic.Int64) *mcp.Source {
	t.Helper()
	url := listen(t, answers(tools(toolNamed("get"), toolNamed("put")), func(w http.ResponseWriter, m message) bool {
		if m.Method == "initialize" {
			w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", sessions.Add(1)))
		}
		if m.Method != "tools/call" {
			return false
		}
		if runs.Add(1); runs.Load() == 1 {
			w.WriteHeader(404)
			fmt.Fprintf(w, strings.ReplaceAll(body, "ID", "%[1]s"), m.ID)
			return true
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, ok)
		return true
	}))
	read := abi.EffectRead
	return open(t, mcp.Server{Name: "web", Bare: true, URL: url,
		Rules: map[string]plugins.Rule{"get": {Effect: &read}}}, nil)
}

// A call that an answer 404 has met is made again when the server says that it is about the session,
// so that nothing ran, or when the tool may be run again; the session is left in any case.
func TestLostSession(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		tool string
		runs int64 // requests of the first call
	}{
		"plain": {"session not found", "put", 2},
		"TypeScript": {`{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},` +
			`"id":null}`, "put", 2},
		"Python": {`{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,` +
			`"message":"Not Found: Session has been terminated"}}`, "put", 2},
		"who knows":       {"", "put", 1},
		"a proxy":         {"<html>no such upstream</html>", "put", 1},
		"a proxy, a read": {"<html>no such upstream</html>", "get", 2},
		"the tool's own": {`{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,` +
			`"message":"no such page"}}`, "put", 1},
		"about a long answer": {strings.Repeat("x", mcp.MaxAnswerBytes) + "session", "put", 1},
	} {
		t.Run(name, func(t *testing.T) {
			var runs, sessions atomic.Int64
			s := sessionServer(t, c.body, &runs, &sessions)
			_, err := call(t, s, c.tool, `{}`)
			if runs.Load() != c.runs || (err == nil) != (c.runs == 2) {
				t.Errorf("%d runs, %v", runs.Load(), err)
			}
			if err != nil && !strings.Contains(err.Error(), "may or may not have happened") {
				t.Errorf("%v: not said that it may have happened", err)
			}
			if _, err := call(t, s, c.tool, `{}`); err != nil {
				t.Errorf("the next call: %v", err)
			}
			want := int64(2)
			if name == "the tool's own" {
				want = 1
				if !strings.Contains(fmt.Sprint(err), "no such page") {
					t.Error(err)
				}
			}
			if sessions.Load() != want {
				t.Errorf("%d sessions", sessions.Load())
			}
		})
	}
}

// A call that runs when another one finds the session lost is not made again: it was sent.
func TestLostSessionOfAnother(t *testing.T) {
	var runs atomic.Int64
	running, over := make(chan struct{}), make(chan struct{})
	url := listen(t, answers(tools(toolNamed("slow"), toolNamed("put")),
		func(w http.ResponseWriter, m message) bool {
			switch {
			case m.Method == "initialize":
				w.Header().Set("Mcp-Session-Id", "s")
			case m.Params.Name == "slow":
				if runs.Add(1) == 1 {
					close(running)
				}
				<-over
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, ok)
				return true
			case m.Params.Name == "put":
				http.Error(w, "session not found", http.StatusNotFound)
				return true
			}
			return false
		}))
	answer := sync.OnceFunc(func() { close(over) })
	t.Cleanup(answer)
	s := open(t, mcp.Server{Name: "web", Bare: true, URL: url}, nil)
	r := registry(t, s, nil)
	ended := make(chan error, 1)
	go func() {
		_, err := r.Call(t.Context(), plugins.Call{Tool: "slow"})
		ended <- err
	}()
	<-running
	_, err := call(t, s, "put", `{}`)
	is(t, err, plugins.ErrHandler, "server", "session not found")
	var slow error
	select {
	case slow = <-ended:
	default: // it is still waited for
		answer()
		slow = <-ended
	}
	if runs.Load() != 1 || slow != nil && !errors.Is(slow, plugins.ErrHandler) {
		t.Errorf("%d runs, %v", runs.Load(), slow)
	}
}
