package loader_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/egress"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
	"github.com/wasmagent/wasmagent/host/kv"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

// word is an operator who says the same of every plugin.
type word struct {
	loader.Decision
	err error
}

func (w word) Decide(p *loader.Plugin) (loader.Decision, error) {
	if p.Digest == "" {
		return loader.Decision{Host: host.Policy{Limits: w.Host.Limits}}, nil
	}
	return w.Decision, w.err
}

// silent is an HTTP that never answers.
type silent struct{}

func (silent) Do(ctx context.Context, _ *egress.Request) (*egress.Response, error) {
	return nil, &egress.Error{Kind: egress.Network, Sent: true}
}

// What a tool does is what the operator says, else what is proved, else what the author says where
// the operator trusts that, else the worst.
func TestEffects(t *testing.T) {
	reads, writes := abi.EffectRead, abi.EffectWrite
	http := host.Grants{HTTP: silent{}}
	space := host.Grants{KV: kv.Memory()}
	dir := t.TempDir()
	files := func(m host.Mount) host.Grants { return host.Grants{Files: []host.Mount{m}} }
	for _, c := range []struct {
		name     string
		grants   host.Grants
		declared abi.Effect
		trust    bool
		rule     *abi.Effect
		want     abi.Effect
	}{
		{"nothing granted", host.Grants{}, abi.EffectWrite, false, nil, abi.EffectRead},
		{"http", http, abi.EffectRead, false, nil, abi.EffectWrite},
		{"kv", space, abi.EffectRead, false, nil, abi.EffectWrite},
		{"a writable mount", files(host.Mount{Host: dir, Guest: "/d", Write: true}), abi.EffectRead,
			false, nil, abi.EffectWrite},
		{"a mount to read", files(host.Mount{Host: dir, Guest: "/d"}), abi.EffectWrite, false, nil,
			abi.EffectRead},
		{"scratch", files(host.Mount{Guest: "/d", Scratch: true}), abi.EffectWrite, false, nil,
			abi.EffectRead},
		{"env", host.Grants{Env: map[string]string{"A": "1"}}, abi.EffectWrite, false, nil,
			abi.EffectRead},
		{"trusted", http, abi.EffectIdempotent, true, nil, abi.EffectIdempotent},
		{"trusted, and nothing granted", host.Grants{}, abi.EffectWrite, true, nil, abi.EffectRead},
		{"the operator's word", http, abi.EffectWrite, true, &reads, abi.EffectRead},
		{"the operator's word against proof", host.Grants{}, abi.EffectRead, false, &writes,
			abi.EffectWrite},
	} {
		t.Run(c.name, func(t *testing.T) {
			plugins, opts := t.TempDir(), options(t)
			write(t, plugins, map[string][]byte{"p.wasm": hosttest.Plugin{
				Name: "p", Tools: []abi.ToolSpec{{Name: "p", Effect: c.declared}}}.Bytes()})
			opts.Policies = word{Decision: decision(c.grants, c.trust, c.rule)}
			p := plugin(t, open(t, plugins, opts), "p")
			if p.Err != nil || p.Tools[0].Spec().Effect != c.want {
				t.Errorf("%v, %v, want %v", p.Err, p.Tools, c.want)
			}
			if p.Manifest.Tools[0].Effect != c.declared {
				t.Errorf("declared %v", p.Manifest.Tools[0].Effect)
			}
		})
	}
}

func decision(g host.Grants, trust bool, effect *abi.Effect) loader.Decision {
	d := loader.Decision{Host: host.Policy{Grants: g}, TrustEffects: trust}
	if effect != nil {
		d.Rules = map[string]plugins.Rule{"p": {Effect: effect}}
	}
	return d
}

// Tools are excluded by their own names, and offered under longer ones. The guest knows only its
// own.
func TestPrefixAndExclude(t *testing.T) {
	dir, opts := t.TempDir(), options(t)
	long := strings.Repeat("x", 60)
	two := hosttest.Plugin{Name: "My-Tools.v2", Tools: []abi.ToolSpec{
		{Name: "one"}, {Name: "two"}, {Name: long}, {Name: "bad", InputSchema: `{"type": 7}`}}}
	write(t, dir, map[string][]byte{
		"My-Tools.v2.wasm": two.Bytes(), "two.wasm": hosttest.Tiny("two"),
		"9.wasm": hosttest.Tiny("nine"),
	})
	opts.Policies = word{Decision: loader.Decision{Prefix: true, Exclude: []string{"two", "bad"},
		Rules: map[string]plugins.Rule{"one": {Key: "id"}}}}
	d := open(t, dir, opts)
	p := plugin(t, d, "My-Tools.v2")
	if len(p.Tools) != 1 || p.Tools[0].Spec().Name != "my_tools_v2_one" ||
		!slices.Equal(p.Excluded, []string{"two", "bad"}) {
		t.Errorf("%v, without %v", p.Tools, p.Excluded)
	}
	if len(p.Withheld) != 1 || !says(p.Withheld[0], "with the plugin's name before it") {
		t.Errorf("withheld: %v", p.Withheld)
	}
	if p := plugin(t, d, "two"); len(p.Tools) != 0 || len(p.Excluded) != 1 {
		t.Errorf("two offers %v", p.Tools)
	}
	if p := plugin(t, d, "9"); len(p.Tools) != 0 || len(p.Withheld) != 1 {
		t.Errorf("9 offers %v: no name begins with a digit", p.Tools)
	}
	if rule := p.Tools[0].(plugins.Ruler).Rule(); rule.Key != "id" {
		t.Errorf("its rule is %+v", rule)
	}
	out, err := p.Tools[0].Invoke(t.Context(), plugins.Call{Input: json.RawMessage(`{"a":1}`)})
	if err != nil || string(out.Value) != `{"a":1}` {
		t.Errorf("%s, %v", out.Value, err)
	}
}

// What the operator's word refuses is listed with the reason and the tools that it would have.
func TestRefusedByPolicy(t *testing.T) {
	dir, opts := t.TempDir(), options(t)
	write(t, dir, map[string][]byte{"p.wasm": hosttest.Tiny("p")})
	opts.Policies = word{err: errors.New("not under this roof")}
	for range 2 {
		p := plugin(t, open(t, dir, opts), "p")
		if !says(p.Err, "not under this roof") || len(p.Tools) > 0 || len(p.Manifest.Tools) != 1 {
			t.Errorf("%v, %v", p.Err, p.Tools)
		}
	}
	opts.Policies = nil
	if p := plugin(t, open(t, dir, opts), "p"); p.Err != nil {
		t.Errorf("under another policy: %v", p.Err)
	}
}

// That the input was bad is believed only of a guest that has done nothing yet.
func TestBadInputAfterAnEffect(t *testing.T) {
	bad := abi.AppendReply(nil, &abi.Reply{Outcome: abi.OutcomeInvalidInput,
		Failure: &abi.Failure{Message: "no such day", Pointer: "/day"}})
	send := func(k *hosttest.Kit) asm.Instr {
		r := abi.AppendHTTPRequest(nil, &abi.HTTPRequest{Method: "POST", URL: "https://example.org/"})
		return k.Bytes(r) + asm.Call(k.HTTP) + asm.Drop
	}
	for name, c := range map[string]struct {
		call hosttest.Body
		want error
	}{
		"nothing":   {hosttest.Reply(bad), plugins.ErrInvalidInput},
		"a request": {hosttest.Then(send, hosttest.Reply(bad)), plugins.ErrHandler},
	} {
		dir, opts := t.TempDir(), options(t)
		write(t, dir, map[string][]byte{"p.wasm": hosttest.Plugin{Name: "p", Call: c.call,
			Needs: abi.Needs{HTTP: []abi.HTTPNeed{{Host: "example.org"}}}}.Bytes()})
		opts.Policies = word{Decision: decision(host.Grants{HTTP: silent{}}, false, nil)}
		_, err := call(t, open(t, dir, opts), "p", "{}")
		if !errors.Is(err, c.want) || !says(err, "no such day") {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}
