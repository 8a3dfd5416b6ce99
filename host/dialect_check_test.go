package host_test

import (
	"context"
	"errors"
	"testing"

	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
)

// What Check refuses Compile refuses for the same, and the other way round.
func TestCheckIsCompile(t *testing.T) {
	d := &host.Dialect{Name: "test", Check: func(f *host.Facts) []string {
		if len(f.Exports) > 2 {
			return []string{"too much"}
		}
		return nil
	}}
	e, err := host.New(t.Context(), &host.Config{Dialects: []*host.Dialect{d}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(context.Background())
	module := func(change func(m *asm.Module)) []byte {
		m := asm.New()
		if change != nil {
			change(m)
		}
		m.ExportMemory("memory", m.Memory(2))
		m.Export("run", m.Func("", ""))
		return m.Bytes()
	}
	good := module(nil)
	for name, c := range map[string]struct {
		wasm   []byte
		limits host.Limits
		stage  string
	}{
		"good":           {good, host.Limits{}, ""},
		"at its size":    {good, host.Limits{Module: int64(len(good))}, ""},
		"over its size":  {good, host.Limits{Module: int64(len(good)) - 1}, "preflight"},
		"memory":         {good, host.Limits{Memory: 64 << 10}, "contract"},
		"at its memory":  {good, host.Limits{Memory: 128 << 10}, ""},
		"cut":            {good[:len(good)-1], host.Limits{}, "preflight"},
		"unknown import": {module(func(m *asm.Module) { m.ImportFunc("env", "f", "") }), host.Limits{}, "contract"},
		"old WASI": {module(func(m *asm.Module) { m.ImportFunc("wasi_unstable", "proc_exit", "i32") }),
			host.Limits{}, ""},
		"dialect": {module(func(m *asm.Module) { m.Export("more", m.Func("", "")) }), host.Limits{}, "contract"},
	} {
		p := host.Policy{Dialect: d, Limits: c.limits}
		checked := e.Check(c.wasm, p)
		m, compiled := e.Compile(t.Context(), c.wasm, p)
		if compiled == nil {
			if err := m.Close(context.Background()); err != nil {
				t.Error(err)
			}
		}
		for how, err := range map[string]error{"check": checked, "compile": compiled} {
			load, ok := errors.AsType[*host.LoadError](err)
			if ok != (c.stage != "") || ok && load.Stage != c.stage {
				t.Errorf("%s, %s: %v, want %q", name, how, err, c.stage)
			}
		}
	}
}
