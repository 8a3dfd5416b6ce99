package wasmagent_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/wasmagent/wasmagent"
	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
)

// A program embeds a directory of plugins.
func Example() {
	ctx := context.Background()
	dir := examplePlugins()
	defer os.RemoveAll(dir)

	box, err := wasmagent.Open(ctx, dir, exampleOptions(dir))
	if err != nil {
		log.Fatal(err)
	}
	defer box.Close()
	for tool := range box.Tools() {
		fmt.Println(tool.Name, "-", tool.Description)
	}
	result, err := box.Call(ctx, "echo", []byte(`{"hello":"world"}`))
	fmt.Println(string(result.Value), err)
	_, err = box.Call(ctx, "echo", []byte(`{"hello":`))
	fmt.Println(err)
	// Output:
	// echo - Gives its arguments back.
	// {"hello":"world"} <nil>
	// tool "echo": invalid_input (carriage): at byte 9, /hello: not JSON: the text ends where a value should be
}

// A call with a key happens once, in this process and all later ones that use the file.
func ExampleOptions() {
	ctx := context.Background()
	dir := examplePlugins()
	defer os.RemoveAll(dir)

	book, err := ledger.Open(ctx, filepath.Join(dir, ".ledger", "ledger.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer book.Close()
	opts := exampleOptions(dir)
	opts.Ledger = book
	opts.Rules = map[string]plugins.Rule{
		"echo": {Key: "order", Effect: new(abi.EffectWrite)},
	}
	box, err := wasmagent.Open(ctx, dir, opts)
	if err != nil {
		log.Fatal(err)
	}
	defer box.Close()
	for range 2 {
		result, err := box.Call(ctx, "echo", []byte(`{"order":7}`))
		fmt.Println(string(result.Value), result.Key, result.Copied, err)
	}
	_, err = box.Call(ctx, "echo", []byte(`{"order":7,"cents":5}`))
	fmt.Println(plugins.CauseOf(err))
	// Output:
	// {"order":7} echo:7 false <nil>
	// {"order":7} echo:7 true <nil>
	// collision
}

// examplePlugins makes a directory with one plugin that echoes.
func examplePlugins() string {
	dir, err := os.MkdirTemp("", "plugins")
	if err != nil {
		log.Fatal(err)
	}
	file := filepath.Join(dir, "echo.wasm")
	if err := os.WriteFile(file, hosttest.Tiny("echo", "echo"), 0o644); err != nil {
		log.Fatal(err)
	}
	return dir
}

// exampleOptions keeps the example out of the user's own directories; nil is what a program wants.
func exampleOptions(dir string) *wasmagent.Options {
	return &wasmagent.Options{
		CacheDir: filepath.Join(dir, ".cache"), StateDir: filepath.Join(dir, ".state"),
	}
}
