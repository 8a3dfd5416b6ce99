package extism_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/loader/extism"
	"github.com/wasmagent/wasmagent/plugins"
)

// assemblyScript builds a plugin with what npm fetches. Without that a test is skipped, and in CI
// it fails.
func assemblyScript(t *testing.T, source, out string) {
	t.Helper()
	cmd := exec.Command(filepath.Join("..", "..", ".ci", "js", "extism", "build"), source, out)
	if said, err := cmd.CombinedOutput(); err != nil && os.Getenv("CI") == "true" {
		t.Fatalf("building %s: %v\n%s", source, err, said)
	} else if err != nil {
		t.Skipf("SKIPPED: %s cannot be built: %v\n%s", source, err, said)
	}
}

// TestKits calls plugins made with Extism's kits for Go and AssemblyScript, which lie in one
// directory with a native one.
func TestKits(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long under -race; the full run has it")
	}
	dir := t.TempDir()
	write(t, dir, "counter.wasm", hosttest.GoPlugin(t, "testdata/gopdk"))
	assemblyScript(t, "testdata/shout.ts", filepath.Join(dir, "shout.wasm"))
	write(t, dir, "echo.wasm", hosttest.Tiny("echo"))
	counter := loader.Decision{Functions: []loader.Function{{Tool: abi.ToolSpec{Name: "words"}}}}
	config("least", "4")(t, &counter.Host)
	shout := loader.Decision{Functions: functionsOf("shout")}
	config("mark", "?!")(t, &shout.Host)
	d := open(t, loader.OpenDir, dir, extism.New(nil), policies{"counter": counter, "shout": shout})
	registry := plugins.NewRegistry(nil)
	if err := registry.Add(d.Tools()...); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ tool, input, want string }{
		{"words", `{"text":"one two three four"}`, `{"words":2,"least":4}`},
		{"words", `{"text":5}`, "code_1: json: cannot unmarshal number"},
		{"shout", `{"input":"hello"}`, `"HELLO?!"`},
		{"shout", `{"input":"grüezi"}`, `"GRÜEZI?"`},
		// the kit cuts it: it counts 16-bit units, not bytes
		{"shout", `{"input":"` + strings.Repeat("x", 100_000) + `"}`, strings.Repeat("X", 100_000) +
			"?!"},
		{"shout", `{"any":"x"}`, `at /any: unknown field; there are "input"`},
		{"echo", `{"x":1}`, `{"x":1}`},
	} {
		res, err := registry.Call(t.Context(), plugins.Call{Tool: tt.tool, Input: []byte(tt.input)})
		got := string(res.Value)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s %s: %s, want %s", tt.tool, tt.input, got, tt.want)
		}
	}
}
