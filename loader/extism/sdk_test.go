package extism_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/loader/extism"
	"github.com/wasmagent/wasmagent/loader/extism/sdkchild"
	"github.com/wasmagent/wasmagent/plugins"
)

// sdkVerb makes the test program the process that runs the SDK.
const sdkVerb = "__extism_sdk"

func init() {
	if len(os.Args) == 2 && os.Args[1] == sdkVerb {
		os.Exit(sdkchild.Serve(os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) == 3 && os.Args[1] == bareVerb {
		os.Exit(bare(os.Args[2]))
	}
}

func sdkCommand() []string { return []string{os.Args[0], sdkVerb} }

// engines are what a policy can choose.
var engines = []string{"native", "extism-sdk"}

// word is an operator's for one plugin.
type word struct{ loader.Decision }

func (w word) Decide(*loader.Plugin) (loader.Decision, error) { return w.Decision, nil }

// openIn loads a module under an engine, with a tool for each function: that takes one string.
func openIn(t *testing.T, wasm []byte, d loader.Decision, functions ...string) *loader.Dir {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plugin.wasm")
	if err := os.WriteFile(path, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	d.Kind = "extism"
	for _, name := range functions {
		d.Functions = append(d.Functions, loader.Function{
			Tool: abi.ToolSpec{Name: "call_" + strings.Trim(name, "_")}, Export: name, Text: true})
	}
	dir, err := loader.OpenFile(t.Context(), path, &loader.Options{
		Kinds:    []loader.Kind{extism.New(&extism.Options{SDKCommand: sdkCommand()})},
		CacheDir: t.TempDir(), StateDir: t.TempDir(), Policies: word{d},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return dir
}

// ask calls a tool with a text.
func ask(ctx context.Context, dir *loader.Dir, function, text string) (string, error) {
	in, _ := json.Marshal(map[string]string{"input": text})
	for _, tool := range dir.Tools() {
		if tool.Spec().Name != "call_"+strings.Trim(function, "_") {
			continue
		}
		out, err := tool.Invoke(ctx, plugins.Call{Tool: tool.Spec().Name, Input: in})
		return string(out.Value), err
	}
	for _, p := range dir.Plugins() {
		if p.Err != nil {
			return "", p.Err
		}
	}
	return "", os.ErrNotExist
}

// sdkWasm is one of the modules that come with the SDK.
func sdkWasm(t *testing.T, name string) []byte {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join(sdkDir(t), name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

func TestSDKEngineCalls(t *testing.T) {
	dir := openIn(t, sdkWasm(t, "count_vowels"), loader.Decision{Engine: "extism-sdk"}, "count_vowels")
	for range 3 {
		out, err := ask(t.Context(), dir, "count_vowels", "hello")
		if want := `{"count":2,"total":2,"vowels":"aeiouAEIOU"}`; err != nil || out != want {
			t.Fatalf("%s, %v; want %s", out, err, want)
		}
	}
}
