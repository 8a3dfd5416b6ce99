package host_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/egress"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/host/kv"
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
		{"http GET http://a.test/",
			"error denied: the operator has not granted http to this plugin"},
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
		"as long as it may be": {map[string]string{"K": string(spaces(host.MaxEnvBytes - 1))},
			true},
		"one byte longer": {map[string]string{"K": string(spaces(host.MaxEnvBytes))},
			false},
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

// TestImportsOfUnusedCalls holds that a plugin that sends and remembers nothing is not linked to
// what does: it would need a grant.
func TestImportsOfUnusedCalls(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a Go plugin")
	}
	for dir, want := range map[string]bool{"testdata/reflective": false, "testdata/goguest": false,
		"testdata/grants": true} {
		facts, err := host.Inspect(hosttest.GoPlugin(t, dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"http", "kv"} {
			has := slices.ContainsFunc(facts.Imports, func(im host.Import) bool {
				return im.Module == abi.ImportModule && im.Name == name
			})
			if has != want {
				t.Errorf("%s imports %s: %v", dir, name, has)
			}
		}
	}
}

// TestMissing names what a plugin needs and a policy does not grant.
func TestMissing(t *testing.T) {
	needs := &abi.Needs{
		HTTP: []abi.HTTPNeed{{Host: "a.test"}, {Host: "b.test", Methods: []string{"GET", "POST"}},
			{Host: "*.c.test"}, {Host: abi.AnyHost}, {Host: "d.test", Optional: true}},
		KV: &abi.KVNeed{},
		Files: []abi.FileNeed{{Guest: "/data", Mode: "ro"}, {Guest: "/out/logs", Mode: "rw"},
			{Guest: "/tmp", Mode: "rw"},
			{Guest: "/opt", Mode: "ro", Optional: true}},
		Env:     []abi.ValueNeed{{Name: "TZ"}, {Name: "LANG", Default: "C"}},
		Config:  []abi.ValueNeed{{Name: "region"}, {Name: "zone", Default: "z"}},
		Secrets: []abi.ValueNeed{{Name: "token"}},
	}
	rules := func(rules ...egress.Rule) host.HTTP {
		return newClient(t, egress.Options{Rules: rules,
			Secrets: []egress.Secret{{Name: "token", As: "bearer",
				Hosts: []string{"a.test"}, From: func(context.Context) (string,
					error) {
					return "0123456789", nil
				}}}})
	}
	get := []string{"GET", "POST"}
	for name, test := range map[string]struct {
		policy host.Policy
		want   string
	}{
		"nothing": {host.Policy{},
			"config region, env TZ, files /data ro, files /out/logs rw, files /tmp rw, http, " +
				"http *.c.test, http a.test, http b.test, kv, secret token"},
		"all": {host.Policy{Config: map[string]abi.Raw{"region": {0xc0}}, Grants: host.Grants{
			HTTP: rules(egress.Rule{Host: "a.test"}, egress.Rule{Host: "b.test", Methods: get},
				egress.Rule{Host: "*.c.test"}),
			KV: kv.Memory(), Env: map[string]string{"TZ": ""},
			Files: []host.Mount{{Guest: "/data"}, {Guest: "/out", Write: true},
				{Guest: "/tmp", Scratch: true}}}}, ""},
		"not enough": {host.Policy{Config: map[string]abi.Raw{"region": {0xc0}},
			Grants: host.Grants{
				HTTP: rules(egress.Rule{Host: "*.a.test"}, egress.Rule{Host: "b.test"},
					egress.Rule{Host: "x.c.test"}),
				KV: kv.Memory(), Env: map[string]string{"TZ": ""},
				Files: []host.Mount{{Guest: "/data/x"}, {Guest: "/out"},
					{Guest: "/tmpx", Scratch: true}}}},
			"files /data ro, files /out/logs rw, files /tmp rw, http *.c.test, http a.test, http b.test"},
		"all of the disk": {host.Policy{Grants: host.Grants{Files: []host.Mount{{Guest: "/",
			Write: true}}, HTTP: strangeHTTP(nil)}},
			"config region, env TZ, kv, secret token"},
	} {
		if got := strings.Join(test.policy.Missing(needs), ", "); got != test.want {
			t.Errorf("%s: %s; want %s", name, got, test.want)
		}
	}
}
