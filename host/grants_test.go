package host_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/pdk"
)

// grantGuest is the Go plugin in testdata/grants under a policy.
func grantGuest(t testing.TB, p host.Policy) *host.Module {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and compiles a Go plugin")
	}
	wasm := hosttest.GoPlugin(t, "testdata/grants")
	return hosttest.Compile(t, hosttest.CachedEngine(t), wasm, p)
}

// run lets the guest carry out lines, and gives what came of each.
func run(t testing.TB, m *host.Module, lines ...string) []string {
	t.Helper()
	out, _, err := runTo(t.Context(), m, nil, "", lines...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// runTo lets the call end in some way. A failure that the guest reports is an *abi.Failure.
func runTo(ctx context.Context, m *host.Module, obs *host.Observer, end string, lines ...string) (
	[]string, host.CallStats, error) {
	var out struct {
		Lines []string `json:"lines"`
	}
	stats, err := callTool(ctx, m, obs, "run", map[string]any{"lines": lines, "end": end}, &out)
	return out.Lines, stats, err
}

// lines is the input of the tool run.
func lines(t testing.TB, lines ...string) abi.Raw {
	t.Helper()
	raw, err := pdk.Encode(map[string]any{"lines": lines})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// callTool calls a tool of a guest that was written with the kit.
func callTool(ctx context.Context, m *host.Module, obs *host.Observer, tool string, in, out any) (
	host.CallStats, error) {
	input, err := pdk.Encode(in)
	if err != nil {
		return host.CallStats{}, err
	}
	b, stats, err := m.Call(ctx, abi.Request{Tool: tool, Attempt: 1, Input: input}, obs, nil)
	if err != nil {
		return stats, err
	}
	reply, err := abi.ParseReply(b)
	switch {
	case err != nil:
		return stats, err
	case reply.Failure != nil:
		return stats, reply.Failure
	}
	return stats, pdk.Decode(reply.Value, out)
}

// step is a line for the guest and what must come of it.
type step struct{ line, want string }

// expect carries the steps out in one call.
func expect(t testing.TB, m *host.Module, steps []step) {
	t.Helper()
	lines := make([]string, len(steps))
	for i, s := range steps {
		lines[i] = s.line
	}
	for i, got := range run(t, m, lines...) {
		if got != steps[i].want {
			t.Errorf("%s: %s; want %s", steps[i].line, got, steps[i].want)
		}
	}
}

func TestNothingGranted(t *testing.T) {
	m := grantGuest(t, host.Policy{})
	expect(t, m, []step{
		{"env", "ok"},
		{"read /etc/passwd", "error Capabilities insufficient"},
		{"get k", "error denied: the operator has not granted kv to this plugin"},
		{"set k v", "error denied: the operator has not granted kv to this plugin"},
		{"http GET http://a.test/", "error denied: the operator has not granted http to this plugin"},
	})
}

func TestEnvironment(t *testing.T) {
	t.Setenv("OF_THE_HOST", "secret")
	m := grantGuest(t, host.Policy{Grants: host.Grants{
		Env: map[string]string{"TZ": "Europe/Berlin", "A": "x=y z", "EMPTY": ""}}})
	expect(t, m, []step{{"env", "ok A=x=y z EMPTY= TZ=Europe/Berlin"}})
}

func TestEnvironmentLimits(t *testing.T) {
	many := func(n int) map[string]string {
		env := map[string]string{}
		for i := range n {
			env[fmt.Sprintf("V%d", i)] = ""
		}
		return env
	}
	e := hosttest.Engine(t)
	wasm := hosttest.Plugin{Name: "t", Call: hosttest.OK}.Bytes()
	for name, test := range map[string]struct {
		env map[string]string
		ok  bool
	}{
		"as many as there may be": {many(host.MaxEnv), true},
		"one more":                {many(host.MaxEnv + 1), false},
		"as long as it may be":    {map[string]string{"K": string(spaces(host.MaxEnvBytes - 1))}, true},
		"one byte longer":         {map[string]string{"K": string(spaces(host.MaxEnvBytes))}, false},
		"no name":                 {map[string]string{"": "v"}, false},
		"a name that has a value": {map[string]string{"A=B": "v"}, false},
		"a zero byte":             {map[string]string{"A": "v\x00"}, false},
	} {
		m, err := e.Compile(t.Context(), wasm, host.Policy{Grants: host.Grants{Env: test.env}})
		if (err == nil) != test.ok {
			t.Errorf("%s: %v", name, err)
		}
		if m != nil {
			err = errors.Join(err, m.Close(t.Context()))
		}
		if test.ok && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// spaces gives that many spaces.
func spaces(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = ' '
	}
	return b
}
