package agentloop_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

// sandbox is a registry of the tools of small plugins.
func sandbox(t testing.TB, limits host.Limits, list ...hosttest.Plugin) *plugins.Registry {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "plugins")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if err := os.WriteFile(filepath.Join(dir, p.Name+".wasm"), p.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d, err := loader.OpenDir(t.Context(), dir, &loader.Options{Limits: limits,
		CacheDir: filepath.Join(root, "cache"), StateDir: filepath.Join(root, "state")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return registry(t, d.Tools()...)
}

// TestPluginFailures runs plugins that end badly in each of six ways. Each way is told to the model
// under a name of its own, the next call of the same plugin works, and the run ends with an answer.
func TestPluginFailures(t *testing.T) {
	nan := []byte{0x81, 0xa2, 'o', 'k', 0xcb, 0x7f, 0xf8, 0, 0, 0, 0, 0, 0} // {ok: NaN}
	cases := []struct {
		name, code, cause, text string
		bad                     hosttest.Body
	}{
		{"fails", "tool", "failed", `plugin "fails" reported: "no funds"`,
			hosttest.Fail(abi.Failure{Message: "no funds"})},
		{"traps", "tool", "trap.unreachable", `it crashed (unreachable)`, hosttest.Trap},
		{"loops", "tool", "limit.time", `it did not finish within its time limit`, hosttest.Loop},
		{"grows", "tool", "limit.memory", `it went past its memory limit`, hosttest.Grow(1000)},
		{"babbles", "tool", "bad_msgpack", `its reply cannot be read`,
			hosttest.Reply([]byte{0x81, 0xa2, 'o', 'k', 0xc1})},
		{"nan", "tool", "no_json", `its result has no JSON form`, hosttest.Reply(nan)},
	}
	var list []hosttest.Plugin
	model := looptest.NewModel()
	for _, c := range cases {
		list = append(list, hosttest.Plugin{Name: c.name, Call: hosttest.OnBad(c.bad)})
		model.Add(looptest.Call(
			call(c.name+"-1", c.name, fmt.Sprintf(`{"text":%q}`, hosttest.Bad)),
			call(c.name+"-2", c.name, `{"text":"good"}`)))
	}
	model.Add(looptest.Say("done"))
	limits := host.Limits{Memory: 1 << 20, Time: time.Second}
	loop := &agentloop.Loop{Model: model, Tools: sandbox(t, limits, list...),
		Approval: agentloop.Approval{Mode: agentloop.Never}}
	if last := end(t, loop.Run(t.Context(), user("go"))); last.End != message.EndAnswer {
		t.Fatalf("the run ended with %+v", last)
	}
	isValid(t, loop.History())
	seen := map[string]string{}
	have := results(loop.History())
	for i, c := range cases {
		bad, good := have[2*i], have[2*i+1]
		if bad.Outcome != message.Error || bad.Code != c.code || bad.Cause != c.cause ||
			!strings.Contains(bad.Text, c.text) {
			t.Errorf("%s: %+v", c.name, bad)
		}
		if other, ok := seen[bad.Code+bad.Cause]; ok {
			t.Errorf("%s and %s have the same code and cause", c.name, other)
		}
		seen[bad.Code+bad.Cause] = c.name
		if good.Outcome != message.OK {
			t.Errorf("%s: the next call: %+v", c.name, good)
		}
	}
}

// TestPluginIsNotStarted pins that what the schema refuses does not reach a plugin.
func TestPluginIsNotStarted(t *testing.T) {
	p := hosttest.Plugin{Name: "trap", Call: hosttest.Trap, Tools: []abi.ToolSpec{{Name: "trap",
		InputSchema: `{"type":"object","required":["n"]}`}}}
	loop := &agentloop.Loop{Tools: sandbox(t, host.Limits{}, p),
		Approval: agentloop.Approval{Mode: agentloop.Never},
		Model:    looptest.NewModel(looptest.Call(call("a", "trap", "{}")), looptest.Say("ok"))}
	end(t, loop.Run(t.Context(), user("go")))
	if have := results(loop.History())[0]; have.Code != "invalid_arguments" || have.Cause != "schema" {
		t.Errorf("%+v", have)
	}
}

// TestPluginsRunByDefault pins that a plugin which is granted nothing counts as one that reads, so
// that nobody has to approve of it.
func TestPluginsRunByDefault(t *testing.T) {
	loop := &agentloop.Loop{Tools: sandbox(t, host.Limits{}, hosttest.Plugin{Name: "echo"}),
		Model: looptest.NewModel(looptest.Call(call("a", "echo", `{"n":1}`)), looptest.Say("ok"))}
	end(t, loop.Run(t.Context(), user("go")))
	if have := results(loop.History())[0]; have.Text != `{"n":1}` {
		t.Errorf("%+v", have)
	}
}
