package wasicmd_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/loader/wasicmd"
	"github.com/wasmagent/wasmagent/plugins"
)

var kinds = sync.OnceValue(func() []loader.Kind { return []loader.Kind{wasicmd.New()} })

// engine is one for all tests, so that each command is compiled once.
var engine = sync.OnceValue(func() *host.Engine {
	dir, err := os.MkdirTemp("", "wasicmd-*")
	if err != nil {
		panic(err)
	}
	e, err := loader.NewEngine(context.Background(), &loader.Options{
		CacheDir: dir, StateDir: dir, Kinds: kinds(),
		CompileCommand: []string{os.Args[0], compileVerb},
	})
	if err != nil {
		panic(err)
	}
	atEnd = func() error {
		return errors.Join(e.Close(context.Background()), os.RemoveAll(dir))
	}
	return e
})

var atEnd = func() error { return nil }

// compileVerb makes the test program serve as the compiler of what is too much for one process.
const compileVerb = "compile-a-module"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == compileVerb {
		os.Exit(host.CompileChild(os.Stdin, os.Stdout, os.Stderr))
	}
	code := m.Run()
	if err := atEnd(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// decided is one decision for all plugins.
type decided loader.Decision

func (d decided) Decide(*loader.Plugin) (loader.Decision, error) { return loader.Decision(d), nil }

// site is one command, opened under a decision.
type site struct {
	t        testing.TB
	plugin   loader.Plugin
	registry *plugins.Registry
}

// open makes a directory with the one command and opens it, which must go well.
func open(t testing.TB, name string, wasm []byte, d loader.Decision) *site {
	t.Helper()
	s := tryOpen(t, name, wasm, d)
	if s.plugin.Err != nil {
		t.Fatal(s.plugin.Err)
	}
	return s
}

func tryOpen(t testing.TB, name string, wasm []byte, d loader.Decision) *site {
	t.Helper()
	path := filepath.Join(t.TempDir(), name+".wasm")
	if err := os.WriteFile(path, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	dir, err := loader.OpenFile(context.Background(), path, &loader.Options{
		Engine: engine(), Kinds: kinds(), Policies: decided(d),
		CacheDir: t.TempDir(), StateDir: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	})
	r := plugins.NewRegistry(nil)
	if err := r.Replace(nil, dir.Tools()); err != nil {
		t.Fatal(err)
	}
	return &site{t, dir.Plugins()[0], r}
}

// call calls a tool and gives its JSON.
func (s *site) call(tool, input string) (string, error) {
	s.t.Helper()
	call := plugins.Call{Tool: tool, Input: json.RawMessage(input)}
	out, err := s.registry.Call(context.Background(), call)
	return string(out.Value), err
}

// mustCall calls a tool, which must go well.
func (s *site) mustCall(tool, input string) string {
	s.t.Helper()
	out, err := s.call(tool, input)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// want calls a tool and holds its JSON against another.
func (s *site) want(tool, input, want string) {
	s.t.Helper()
	have, err := s.call(tool, input)
	if err != nil || have != want {
		s.t.Errorf("%s %s: %s, %v\nwant %s", tool, input, have, err, want)
	}
}

// fails calls a tool and holds what went wrong against its kind and the name of its cause.
func (s *site) fails(tool, input string, kind plugins.Kind, cause string) error {
	s.t.Helper()
	have, err := s.call(tool, input)
	if !errors.Is(err, kind) || plugins.CauseOf(err) != cause {
		s.t.Errorf("%s %s: %s, cause %q, %v\nwant %v, cause %q", tool, input, have,
			plugins.CauseOf(err), err, kind, cause)
	}
	return err
}

// goCommand is testdata/command, built with the project's own Go.
var goCommand = sync.OnceValues(func() ([]byte, error) {
	file, err := os.CreateTemp("", "command-*.wasm")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	if err := file.Close(); err != nil {
		return nil, err
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", file.Name(),
		"./testdata/command")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, err
	}
	return os.ReadFile(file.Name())
})

func command(t testing.TB) []byte {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a command")
	}
	wasm, err := goCommand()
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// small makes a command of instructions, which may write: to a descriptor, a list of ranges, their
// number, and where to put how much was written.
func small(wasi string, body func(m *asm.Module, write, exit asm.FuncIndex) asm.Instr) []byte {
	m := asm.New()
	write := m.ImportFunc(wasi, "fd_write", "i32 i32 i32 i32 -> i32")
	exit := m.ImportFunc(wasi, "proc_exit", "i32")
	m.ExportMemory("memory", m.Memory(1))
	m.Export("_start", m.Func("", "i32", body(m, write, exit)))
	return m.Bytes()
}

// prints is a command that prints a text once.
func prints(text string) []byte {
	return small("wasi_snapshot_preview1", func(m *asm.Module, write, _ asm.FuncIndex) asm.Instr {
		return print(m, write, text)
	})
}

func print(m *asm.Module, write asm.FuncIndex, text string) asm.Instr {
	m.Data(64, text)
	return asm.Seq(
		asm.I32Const(0), asm.I32Const(64), asm.I32Store(0),
		asm.I32Const(0), asm.I32Const(int32(len(text))), asm.I32Store(4),
		asm.I32Const(1), asm.I32Const(0), asm.I32Const(1), asm.I32Const(8), asm.Call(write), asm.Drop,
	)
}
