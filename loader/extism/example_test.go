package extism_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/wasmagent/wasmagent"
	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/loader/extism"
)

// A program calls a plugin that is written for Extism, and one that is not, from one directory.
func Example() {
	ctx := context.Background()
	dir := examplePlugins()
	defer os.RemoveAll(dir)

	box, err := wasmagent.Open(ctx, dir, &wasmagent.Options{
		Kinds: []loader.Kind{extism.New(nil)},
		// What an operator's file says of plugins, policy.Open reads; here it is said in Go.
		Policies: policies{"counter": {Functions: []loader.Function{{
			Tool: abi.ToolSpec{
				Name: "words", Description: "Counts the words of a text.",
				InputSchema: `{"type":"object","properties":{"text":{"type":"string"}}}`,
			},
		}}}},
		CacheDir: filepath.Join(dir, ".cache"), StateDir: filepath.Join(dir, ".state"),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer box.Close()
	for tool := range box.Tools() {
		fmt.Println(tool.Name, "-", tool.Description)
	}
	result, err := box.Call(ctx, "words", []byte(`{"text":"to be or not"}`))
	fmt.Println(string(result.Value), err)
	result, err = box.Call(ctx, "echo", []byte(`{"hello":"world"}`))
	fmt.Println(string(result.Value), err)
	// Output:
	// echo - Gives its arguments back.
	// words - Counts the words of a text.
	// {"words":4,"least":1} <nil>
	// {"hello":"world"} <nil>
}

// examplePlugins makes a directory with a plugin that is built with Extism's kit for Go, and one of
// this project's own.
func examplePlugins() string {
	dir, err := os.MkdirTemp("", "plugins")
	if err != nil {
		log.Fatal(err)
	}
	build := exec.Command("go", "build", "-C", filepath.Join("testdata", "gopdk"), "-trimpath",
		"-buildmode=c-shared", "-ldflags=-s -w", "-o", filepath.Join(dir, "counter.wasm"))
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if said, err := build.CombinedOutput(); err != nil {
		log.Fatalf("%v\n%s", err, said)
	}
	file := filepath.Join(dir, "echo.wasm")
	if err := os.WriteFile(file, hosttest.Tiny("echo", "echo"), 0o644); err != nil {
		log.Fatal(err)
	}
	return dir
}
