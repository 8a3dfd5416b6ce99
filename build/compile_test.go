package build

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const goMod = "module example.test/plugin\n\ngo 1.26\n"

const source = `package main

//go:wasmexport wasmagent_call
func call() {}

func main() {}
`

// writeModule makes a Go module of the files, by name, in a new directory.
func writeModule(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCompileAll(t *testing.T) {
	dir := writeModule(t, map[string]string{
		"go.mod": goMod, "a/main.go": source, "b/main.go": source,
	})
	targets := []Target{
		{filepath.Join(dir, "a"), filepath.Join(dir, "a.wasm")},
		{filepath.Join(dir, "b"), filepath.Join(dir, "b.wasm")},
	}
	linked := map[string]bool{}
	err := CompileAll(context.Background(), targets, &Options{Progress: func(s Step) {
		if s.Linked {
			linked[s.Name] = s.Total == len(targets)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range targets {
		b, err := os.ReadFile(target.Out)
		if err != nil || !strings.HasPrefix(string(b), "\x00asm") {
			t.Errorf("%s: %.4q, %v: not a module", target.Out, b, err)
		}
		if !linked[target.Dir] {
			t.Errorf("no step told that %s is linked", target.Dir)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

func TestCompileErrors(t *testing.T) {
	ctx := context.Background()
	dir := writeModule(t, map[string]string{"go.mod": goMod, "main.go": source + "var x int = true\n"})
	out := filepath.Join(dir, "x.wasm")
	var wrong *CompileError
	err := Compile(ctx, Target{dir, out}, nil)
	if !errors.As(err, &wrong) || !strings.Contains(wrong.Output, "main.go:7:13") {
		t.Errorf("a type error gives %v, want a CompileError that names main.go:7:13", err)
	}
	if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a failed compile left %s: %v", out, err)
	}
	err = Compile(ctx, Target{dir, out}, &Options{Go: "no-such-go-command"})
	if !errors.Is(err, ErrNoGo) {
		t.Errorf("without a go command: %v, want ErrNoGo", err)
	}
	cause := errors.New("enough")
	cancelled, cancel := context.WithCancelCause(ctx)
	cancel(cause)
	if err := Compile(cancelled, Target{dir, out}, nil); !errors.Is(err, cause) {
		t.Errorf("cancelled: %v, want its cause", err)
	}
}

func TestReadVerbose(t *testing.T) {
	long := strings.Repeat("x: y\n", maxOutput)
	for _, c := range []struct{ name, in, said, seen string }{
		{"paths", "fmt\nexample.test/a\n", "", "fmt example.test/a"},
		{"an error", "fmt\n# example.test/a\nmain.go:1: no\n", "# example.test/a\nmain.go:1: no",
			"fmt"},
		{"no line break at the end", "go: no module", "go: no module", ""},
		{"the last bytes", long, strings.TrimSpace(long[len(long)-maxOutput:]), ""},
	} {
		var seen []string
		said := readVerbose(strings.NewReader(c.in), func(p string) { seen = append(seen, p) })
		if got := strings.Join(seen, " "); said != c.said || got != c.seen {
			t.Errorf("%s: said %.60q, seen %q; want %.60q, %q", c.name, said, got, c.said, c.seen)
		}
	}
}
