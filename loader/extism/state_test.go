package extism_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/egress"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/loader/extism"
	"github.com/wasmagent/wasmagent/plugins"
)

// What loading left behind is where every call begins, whatever the call before did to it.
func TestLoadedStateIsEveryCallsOwn(t *testing.T) {
	// Blocks lie at the same places each time: the first at 8, the name of the variable at 16.
	wasm := guest(map[string]body{
		"_initialize": func(k *kit) asm.Instr {
			return k.put(0, "loaded") + k.put(1, "v") + k.put(2, "loaded") +
				k.with("var_set", asm.LocalGet(1), asm.LocalGet(2)) + k.put(1, "an error") +
				k.with("error_set", asm.LocalGet(1)) + k.do("output_set", 8, 6)
		},
		"read": func(k *kit) asm.Instr { return k.do("output_set", 8, 6) },
		"spoil": func(k *kit) asm.Instr {
			return k.with("store_u8", asm.I64Const(8), asm.I32Const('X')) + k.put(1, "v") +
				k.with("var_set", asm.LocalGet(1), asm.I64Const(0)) + k.do("free", 8) +
				k.do("output_set", 8, 6)
		},
		"variable": func(k *kit) asm.Instr {
			return k.put(1, "v") + k.with("var_get", asm.LocalGet(1)) + asm.LocalSet(0) +
				k.with("output_set", asm.LocalGet(0), k.with("length", asm.LocalGet(0)))
		},
		"silent": func(*kit) asm.Instr { return "" },
	})
	for _, isolation := range []host.Isolation{host.Snapshot, host.Instantiate} {
		d := loader.Decision{Host: host.Policy{Isolation: isolation}}
		dir := load(t, wasm, d, "read", "spoil", "variable", "silent")
		only(t, dir)
		for _, call := range []struct{ tool, want string }{
			{"read", "loaded"}, {"spoil", "Xoaded"}, {"read", "loaded"}, {"variable", "loaded"},
			{"silent", ""},
		} {
			got, err := invoke(t.Context(), dir, call.tool, "")
			if got != call.want || err != nil {
				t.Errorf("%v: %s: %q %v, want %q", isolation, call.tool, got, err, call.want)
			}
		}
	}
}

// Logs are cut and counted like any guest's, and an empty or wild block is an empty line.
func TestLogFlood(t *testing.T) {
	wasm := guest(map[string]body{"run": func(k *kit) asm.Instr {
		return k.do("log_info", 12345) + times(10_000, k.put(0, "again")+k.with("log_warn",
			asm.LocalGet(0)))
	}})
	dir := load(t, wasm, loader.Decision{}, "run")
	lines := 0
	for _, tool := range dir.Tools() {
		if tool.Spec().Name != "run" {
			continue
		}
		_, err := tool.Invoke(t.Context(), plugins.Call{Tool: "run", Input: []byte(`{"input":""}`),
			Log: func(abi.Level, string) { lines++ }})
		if err != nil {
			t.Fatal(err)
		}
	}
	if lines == 0 || lines > 3*host.DefaultLogRate {
		t.Errorf("%d lines were handed on, want at most some %d", lines, host.DefaultLogRate)
	}
}

// The caller's end is the caller's, not a failure of the guest's.
func TestCallerGivesUp(t *testing.T) {
	wasm := guest(map[string]body{
		"loop": func(*kit) asm.Instr { return asm.Loop(asm.Br(0)) },
		"ask": func(k *kit) asm.Instr {
			return k.with("http_request", k.put(0, `{"url":"https://a.test"}`)+asm.LocalGet(0),
				asm.I64Const(0)) + drop
		},
	})
	d := loader.Decision{}
	ctx, cancel := context.WithCancel(t.Context())
	d.Host.Grants.HTTP = gone{cancel}
	dir := load(t, wasm, d, "loop", "ask")
	only(t, dir)
	if _, err := invoke(ctx, dir, "ask", ""); err == nil ||
		plugins.FaultOf(err) != plugins.FaultHost ||
		!strings.Contains(err.Error(), "the caller gave up") {
		t.Errorf("%v (%v), want the caller's own end", err, plugins.FaultOf(err))
	}
	if _, err := invoke(ctx, dir, "loop", ""); err == nil || !strings.Contains(err.Error(),
		"the caller gave up") {
		t.Errorf("%v, want the caller's own end", err)
	}
}

// gone is an HTTP whose caller gives up while it waits.
type gone struct{ cancel context.CancelFunc }

func (g gone) Do(context.Context, *egress.Request) (*egress.Response, error) {
	g.cancel()
	return nil, context.Canceled
}

// Blocks count among what all guests may have together, and are given back with the call.
func TestBlocksOfAllGuests(t *testing.T) {
	kind := extism.New(nil)
	e, err := host.New(t.Context(), &host.Config{Memory: 8 << 20, Dialects: kind.Dialects()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(context.Background())
	wasm := guest(map[string]body{
		"some": func(k *kit) asm.Instr { return k.do("alloc", 4<<20) + drop },
		"more": func(k *kit) asm.Instr { return k.do("alloc", 8<<20) + drop },
	})
	d, err := loader.OpenFile(t.Context(), write(t, t.TempDir(), "p.wasm", wasm), &loader.Options{
		Engine: e, Kinds: []loader.Kind{kind}, CacheDir: t.TempDir(), StateDir: t.TempDir(),
		Policies: everybody{loader.Decision{Functions: functionsOf("some", "more")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	only(t, d)
	for range 5 {
		if _, err := invoke(t.Context(), d, "some", ""); err != nil {
			t.Error(err)
		}
		_, err := invoke(t.Context(), d, "more", "")
		limit, ok := errors.AsType[*host.LimitError](err)
		if !ok || limit.Limit != "total" || plugins.FaultOf(err) != plugins.FaultHost {
			t.Errorf("%v, want the limit of all guests", err)
		}
	}
}
