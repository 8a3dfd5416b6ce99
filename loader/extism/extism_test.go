package extism_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

// sdk is the module whose plugins the tests load. It is fetched, and nothing of it is kept here.
const sdk = "github.com/extism/go-sdk@v1.7.1"

// sdkDir is where the module's plugins lie. Without it a test is skipped, and in CI it fails.
func sdkDir(tb testing.TB) string {
	tb.Helper()
	dir, err := sdkOnce()
	if err != nil && os.Getenv("CI") == "true" {
		tb.Fatalf("%s cannot be had: %v", sdk, err)
	} else if err != nil {
		tb.Skipf("SKIPPED: %s cannot be had: %v", sdk, err)
	}
	return dir
}

var sdkOnce = sync.OnceValues(func() (string, error) {
	var stdout bytes.Buffer
	cmd := exec.Command("go", "mod", "download", "-json", sdk)
	cmd.Stdout = &stdout
	cmd.Dir = os.TempDir() // outside of any module, so that none of its files change
	err := cmd.Run()
	var answer struct{ Dir string }
	if e := json.Unmarshal(stdout.Bytes(), &answer); err == nil {
		err = e
	}
	return filepath.Join(answer.Dir, "wasm"), err
})

// policies are an operator's words, by plugin.
type policies map[string]loader.Decision

func (p policies) Decide(pl *loader.Plugin) (loader.Decision, error) { return p[pl.Name], nil }

// openFile loads a plugin under a policy.
func openFile(tb testing.TB, path string, kind loader.Kind, d loader.Decision) *loader.Dir {
	tb.Helper()
	return open(tb, loader.OpenFile, path, kind, everybody{d})
}

// everybody has the same policy.
type everybody struct{ loader.Decision }

func (e everybody) Decide(*loader.Plugin) (loader.Decision, error) { return e.Decision, nil }

func open(tb testing.TB,
	how func(context.Context, string, *loader.Options) (*loader.Dir, error),
	path string, kind loader.Kind, p loader.Policies) *loader.Dir {
	tb.Helper()
	d, err := how(tb.Context(), path, &loader.Options{
		Kinds: []loader.Kind{kind}, Policies: p, CacheDir: tb.TempDir(), StateDir: tb.TempDir(),
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := d.Close(); err != nil {
			tb.Error(err)
		}
	})
	return d
}

// only is the one plugin of a directory, which must be good.
func only(tb testing.TB, d *loader.Dir) loader.Plugin {
	tb.Helper()
	p := d.Plugins()[0]
	if p.Err != nil {
		tb.Fatal(p.Err)
	}
	return p
}

// text calls a tool with the one string that its function takes.
func text(tb testing.TB, tool plugins.Tool, input string) (string, error) {
	tb.Helper()
	in, err := json.Marshal(map[string]string{"input": input})
	if err != nil {
		tb.Fatal(err)
	}
	out, err := tool.Invoke(tb.Context(), plugins.Call{Tool: tool.Spec().Name, Input: in,
		Log: func(l abi.Level, s string) { tb.Log(l, s) }})
	return string(out.Value), err
}

// write makes a file in a directory of the test's.
func write(tb testing.TB, dir, name string, content []byte) string {
	tb.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		tb.Fatal(err)
	}
	return path
}
