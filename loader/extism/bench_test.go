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
