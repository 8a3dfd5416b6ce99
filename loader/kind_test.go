package loader_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/loader/wasicmd"
	"github.com/wasmagent/wasmagent/plugins"
)

// first is an operator who says the same before and after a plugin is read.
type first loader.Decision

func (f first) Decide(*loader.Plugin) (loader.Decision, error) { return loader.Decision(f), nil }

// What a policy says in vain of a plugin that describes itself is an error, stamped or not.
func TestUndeclared(t *testing.T) {
	functions := []loader.Function{{Tool: abi.ToolSpec{Name: "echo"}}}
	for want, d := range map[string]loader.Decision{
		"functions": {Functions: functions, Digest: "sha256:1"},
		"engine":    {Engine: "extism-sdk", Digest: "sha256:2"},
		"":          {Kind: "wasmagent", Digest: "sha256:3"},
	} {
		for _, stamp := range []bool{false, true} {
			dir, opts := t.TempDir(), options(t)
			opts.Policies = first(d)
			write(t, dir, map[string][]byte{
				"echo.wasm": hosttest.Plugin{Name: "echo", Stamp: stamp}.Bytes(),
			})
			for range 2 { // what is kept does not hide it
				err := plugin(t, open(t, dir, opts), "echo").Err
				e, ok := errors.AsType[*loader.UndeclaredError](err)
				if ok != (want != "") || ok && e.Key != want {
					t.Errorf("%s, stamped %v: %v", want, stamp, err)
				}
			}
		}
	}
}

func TestKindNobodyKnows(t *testing.T) {
	dir, opts := t.TempDir(), options(t)
	opts.Kinds, opts.Policies = []loader.Kind{wasicmd.New()}, first{Kind: "wizard"}
	write(t, dir, map[string][]byte{"echo.wasm": hosttest.Tiny("echo")})
	err := plugin(t, open(t, dir, opts), "echo").Err
	e, ok := errors.AsType[*loader.KindError](err)
	if !ok || e.Kind != "wizard" || !slices.Equal(e.Have, []string{"wasmagent", "command"}) {
		t.Error(err)
	}
}

// What is kept of a plugin of a kind says nothing to a program that has no such kind.
func TestKindThatIsGone(t *testing.T) {
	dir, opts := t.TempDir(), settled(t)
	opts.Kinds = []loader.Kind{bundles{}}
	opts.Policies = first{Kind: "bundle", Digest: "sha256:1"}
	write(t, dir, map[string][]byte{"p.wasm": hosttest.Tiny("p")})
	if p := plugin(t, open(t, dir, opts), "p"); p.Err != nil || p.Kind != "bundle" {
		t.Fatalf("of the kind %q: %v", p.Kind, p.Err)
	}
	opts.Kinds, opts.Policies = nil, first{Digest: "sha256:1"}
	if p := plugin(t, open(t, dir, opts), "p"); p.Err != nil || p.Kind != "" {
		t.Errorf("of the kind %q: %v, want this project's own", p.Kind, p.Err)
	}
}

// What a policy says of a tool is cut and cleaned like a plugin's own word, so that a command is the
// same whether it was read or is known from before.
func TestCommandThatIsKnown(t *testing.T) {
	m := asm.New()
	m.ExportMemory("memory", m.Memory(1))
	m.Export("_start", m.Func("", ""))
	dir, opts := t.TempDir(), settled(t)
	opts.Kinds = []loader.Kind{wasicmd.New()}
	opts.Policies = first{Digest: "sha256:1", Functions: []loader.Function{{Tool: abi.ToolSpec{
		Name: "run", Description: "\x1b[1m" + strings.Repeat("x", abi.MaxTextChars) + "\n\n",
	}}}}
	write(t, dir, map[string][]byte{"p.wasm": m.Bytes()})
	for range 2 {
		d := open(t, dir, opts)
		tools := d.Tools()
		if len(tools) != 1 {
			t.Fatal(plugin(t, d, "p").Err)
		}
		if text := tools[0].Spec().Description; abi.CleanText(text, abi.MaxTextChars) != text {
			t.Errorf("described as %.20q…, %d bytes", text, len(text))
		}
		_, err := tools[0].Invoke(t.Context(), plugins.Call{Tool: "run", Input: []byte("{}")})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestOutputOf(t *testing.T) {
	for in, want := range map[string]string{
		"":                        `""`,
		"null":                    `null`,
		" {\"a\": 1.0,\n\"b\":2}": `{"a":1,"b":2}`,
		"<b> & \"x\"\n":           `"<b> & \"x\"\n"`,
		"{\"a\":1,\"a\":2}":       `"{\"a\":1,\"a\":2}"`,
		"1e400":                   `"1e400"`,
		"1 2":                     `"1 2"`,
		"\x00":                    `"\u0000"`,
	} {
		out, err := loader.OutputOf([]byte(in))
		if err != nil || string(out.Value) != want || !json.Valid(out.Value) {
			t.Errorf("%q: %s, %v, want %s", in, out.Value, err, want)
		}
	}
	if _, err := loader.OutputOf([]byte("\xff")); !errors.Is(err, plugins.ErrOutputSerialization) {
		t.Errorf("no text: %v", err)
	}
}
