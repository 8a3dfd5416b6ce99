package loader_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

// What a plugin would offer is known although it is refused, whether its manifest or only its
// imports ask; a second start knows it too.
func TestRefusedIsDescribed(t *testing.T) {
	declared := hosttest.Plugin{Name: "declared", Needs: abi.Needs{
		HTTP: []abi.HTTPNeed{{Host: "api.example.org"}},
	}}
	quiet := hosttest.Plugin{Name: "quiet", Needs: abi.Needs{KV: &abi.KVNeed{}},
		Manifest: abi.AppendManifest(nil, &abi.Manifest{
			Name: "quiet", Version: "1", ABI: abi.Version, Tools: []abi.ToolSpec{{Name: "quiet"}},
		}),
	}
	dir, opts := t.TempDir(), options(t)
	write(t, dir, map[string][]byte{"declared.wasm": declared.Bytes(), "quiet.wasm": quiet.Bytes()})
	for range 2 {
		d := open(t, dir, opts)
		for name, need := range map[string]string{"declared": "http api.example.org", "quiet": "kv"} {
			p := plugin(t, d, name)
			var denied *loader.NotAllowedError
			if !errors.As(p.Err, &denied) || !slices.Contains(denied.Needs, need) {
				t.Errorf("%s: %v, want a NotAllowedError that names %q", name, p.Err, need)
			}
			if len(p.Manifest.Tools) != 1 || p.Manifest.Tools[0].Name != name {
				t.Errorf("%s: manifest %+v, want its tool", name, p.Manifest)
			}
		}
	}
}

// What a plugin's own bytes are to blame for stays so: its calls do not compile it over and over.
func TestRefusedForGood(t *testing.T) {
	const version = "ever another version, made of random numbers, 64 bytes of them.."
	manifest := abi.AppendManifest(nil, &abi.Manifest{Name: "p", Version: version, ABI: abi.Version,
		Tools: []abi.ToolSpec{{Name: "p"}}})
	random := func(k *hosttest.Kit) asm.Instr {
		at := asm.I32Const(int32(bytes.Index(manifest, []byte(version))))
		return k.Bytes(manifest) + asm.LocalSet(1) + asm.LocalTee(0) + at + asm.I32Add +
			asm.I32Const(int32(len(version))) + asm.Call(k.Random) + asm.Drop +
			asm.LocalGet(0) + asm.LocalGet(1) + asm.Call(k.Output)
	}
	for _, c := range []struct {
		name, want string
		plugin     hosttest.Plugin
	}{
		{"impure", "describes itself differently", hosttest.Plugin{Describe: random}},
		{"imports more", "is not allowed: it needs kv",
			hosttest.Plugin{Manifest: manifest, Stamp: true, Needs: abi.Needs{KV: &abi.KVNeed{}}}},
		{"traps", "initialize: ", hosttest.Plugin{Manifest: manifest, Stamp: true,
			Initialize: hosttest.Trap}},
	} {
		c.plugin.Name = "p"
		dir, opts := t.TempDir(), options(t)
		write(t, dir, map[string][]byte{"p.wasm": c.plugin.Bytes()})
		reads := loader.CountReads(opts)
		d := open(t, dir, opts)
		for range 2 {
			if _, err := call(t, d, "p", "{}"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", c.name, err, c.want)
			}
		}
		if n := reads(filepath.Join(dir, "p.wasm")); n != 2 {
			t.Errorf("%s: read %d times, want 2: to list it, and for the first call", c.name, n)
		}
	}
}

// Each call of a guest is told with what it took, also one that failed; a refused one is not.
func TestCalled(t *testing.T) {
	dir, opts := t.TempDir(), options(t)
	write(t, dir, map[string][]byte{
		"trap.wasm": hosttest.Plugin{Name: "trap", Call: hosttest.Trap}.Bytes(),
	})
	var told []string
	opts.Called = func(_ context.Context, plugin, tool string, took host.CallStats) {
		told = append(told, plugin+" "+tool)
		if took.Memory != 64<<10 || took.Time <= 0 {
			t.Errorf("%+v, want 64 KiB of memory and a time", took)
		}
	}
	tool := open(t, dir, opts).Tools()[0]
	for _, input := range []string{"{}", "{"} {
		if _, err := tool.Invoke(t.Context(), plugins.Call{Input: json.RawMessage(input)}); err == nil {
			t.Error("no error")
		}
	}
	if want := []string{"trap trap"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// Directories can share an engine, and its code on disk.
func TestNewEngine(t *testing.T) {
	opts := options(t)
	engine, err := loader.NewEngine(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	opts.Engine = engine
	for _, name := range []string{"a", "b"} {
		dir := t.TempDir()
		write(t, dir, map[string][]byte{name + ".wasm": hosttest.Tiny(name)})
		d, err := loader.OpenDir(t.Context(), dir, opts)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Tools()[0].Invoke(t.Context(), plugins.Call{Input: []byte("{}")}); err != nil {
			t.Error(err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A tool with a schema that is not good is withheld, and nothing else; a second start knows it
// without reading the plugin. It takes no name from a good one.
func TestBrokenSchema(t *testing.T) {
	dir, opts := t.TempDir(), settled(t)
	mixed := hosttest.Plugin{Name: "mixed", Stamp: true, Tools: []abi.ToolSpec{
		{Name: "sound", InputSchema: `{"type":"object"}`},
		{Name: "input", InputSchema: `{"type":7}`},
		{Name: "output", OutputSchema: `{"$ref":"https://example.com/s"}`},
	}}
	write(t, dir, map[string][]byte{
		"mixed.wasm": mixed.Bytes(), "other.wasm": hosttest.Tiny("other", "output"),
	})
	reads := loader.CountReads(opts)
	for range 2 {
		d := open(t, dir, opts)
		if got, want := toolNames(d), []string{"sound", "output"}; !slices.Equal(got, want) {
			t.Errorf("tools %v, want %v", got, want)
		}
		p := plugin(t, d, "mixed")
		if p.Err != nil || len(p.Withheld) != 2 || len(p.Tools) != 1 {
			t.Fatalf("%+v, want one tool, and two withheld", p)
		}
		for i, want := range []loader.SpecError{
			{"mixed", p.Path, "input", "input schema: "}, {"mixed", p.Path, "output", "output schema: "},
		} {
			got, ok := errors.AsType[*loader.SpecError](p.Withheld[i])
			if !ok || !strings.HasPrefix(got.Detail, want.Detail) || len(got.Detail) == len(want.Detail) {
				t.Fatalf("%v, want %v", p.Withheld[i], want)
			}
			if want.Detail = got.Detail; *got != want {
				t.Errorf("%v, want %v", got, want)
			}
		}
		if result, err := call(t, d, "sound", "{}"); err != nil {
			t.Errorf("sound: %v, %v", result, err)
		}
	}
	if n := reads(filepath.Join(dir, "mixed.wasm")); n != 3 {
		t.Errorf("mixed was read %d times, want 3: to list it once, and for two calls", n)
	}
}
