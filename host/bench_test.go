package host_test

import (
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
)

func BenchmarkCallTiny(b *testing.B) {
	m := hosttest.Compile(b, hosttest.Engine(b), hosttest.Tiny("t"), host.Policy{})
	benchmarkCall(b, m, abi.Request{Tool: "t", Attempt: 1, Input: abi.AppendString(nil, "hello")})
}

func BenchmarkCallGo(b *testing.B) {
	m := goGuest(b, host.Policy{})
	input := abi.AppendString(abi.AppendString(abi.AppendMapHeader(nil, 1), "text"), "hello")
	for _, tool := range []string{"echo", "upper"} {
		b.Run(tool, func(b *testing.B) {
			benchmarkCall(b, m, abi.Request{Tool: tool, Attempt: 1, Input: input})
		})
	}
}

func benchmarkCall(b *testing.B, m *host.Module, req abi.Request) {
	b.ReportAllocs()
	var dst []byte
	for b.Loop() {
		var err error
		if dst, _, err = m.Call(b.Context(), req, nil, dst[:0]); err != nil {
			b.Fatal(err)
		}
	}
}

// Compiling a small plugin, without and with its compiled code on disk.
func BenchmarkCompileTiny(b *testing.B) {
	wasm := hosttest.Tiny("t")
	onDisk, _ := cached(b, b.TempDir(), cacheKey)
	for name, e := range map[string]*host.Engine{"memory": hosttest.Engine(b), "disk": onDisk} {
		b.Run(name, func(b *testing.B) { benchmarkCompile(b, e, wasm) })
	}
}

// Compiling a Go plugin whose compiled code is on disk, to the point where it can be called.
func BenchmarkCompileGoFromDisk(b *testing.B) {
	benchmarkCompile(b, hosttest.CachedEngine(b), hosttest.GoPlugin(b, "testdata/goguest"))
}

func benchmarkCompile(b *testing.B, e *host.Engine, wasm []byte) {
	for b.Loop() {
		m, err := e.Compile(b.Context(), wasm, host.Policy{})
		if err != nil {
			b.Fatal(err)
		}
		if err := m.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
