package extism_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/loader/extism"
	"github.com/wasmagent/wasmagent/plugins"
)

// BenchmarkVowels is a call of a plugin in Rust, whose kit moves eight bytes a kernel call.
func BenchmarkVowels(b *testing.B) {
	wasm, err := os.ReadFile(filepath.Join(sdkDir(b), "count_vowels.wasm"))
	if err != nil {
		b.Fatal(err)
	}
	benchmark(b, wasm, loader.Function{Tool: abi.ToolSpec{Name: "count_vowels"}, Text: true}, "input")
}

// BenchmarkGo is a call of a plugin made with the kit for Go.
func BenchmarkGo(b *testing.B) {
	wasm := hosttest.GoPlugin(b, "testdata/gopdk")
	benchmark(b, wasm, loader.Function{Tool: abi.ToolSpec{Name: "words"}}, "text")
}

// BenchmarkKernelCall is one kernel call among thousands, and the guest's loop around it.
func BenchmarkKernelCall(b *testing.B) {
	const calls = 10_000
	d := load(b, guest(map[string]body{"run": func(k *kit) asm.Instr {
		return times(calls, k.do("input_load_u64", 0)+drop)
	}}), loader.Decision{}, "run")
	only(b, d)
	for b.Loop() {
		if _, err := invoke(b.Context(), d, "run", "12345678"); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/calls, "ns/kernelcall")
}

// benchmark calls a plugin's function with a text as the argument of a name.
func benchmark(b *testing.B, wasm []byte, f loader.Function, argument string) {
	d := openFile(b, write(b, b.TempDir(), "guest.wasm", wasm), extism.New(nil),
		loader.Decision{Functions: []loader.Function{f}})
	only(b, d)
	tool := d.Tools()[0]
	for _, size := range []struct {
		name  string
		bytes int
	}{{"100B", 100}, {"10KB", 10_000}} {
		b.Run(size.name, func(b *testing.B) {
			input, err := json.Marshal(map[string]string{argument: strings.Repeat("a", size.bytes)})
			if err != nil {
				b.Fatal(err)
			}
			call := plugins.Call{Tool: f.Tool.Name, Input: input}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := tool.Invoke(context.Background(), call); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
