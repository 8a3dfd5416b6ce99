package host_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
)

// softBody is what a function's body may have to be compiled in the host's process, in bytes.
const softBody = 1 << 20

// withChild is an engine that compiles in a child process what is over the soft limits.
func withChild(t testing.TB, cfg host.Config) *host.Engine {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if cfg.CompileCommand == nil {
		cfg.CompileCommand = []string{self, "__compile"}
	}
	e, err := host.New(t.Context(), &cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e
}

// longBody is a plugin with a function whose body has so many bytes and costs little to compile.
func longBody(size int) []byte {
	const rest = 2 // no locals, end
	return hosttest.Plugin{Name: "t", Change: func(m *asm.Module) {
		m.Func("", "", asm.Repeat(size-rest, asm.Nop))
	}}.Bytes()
}

// bomb is a plugin over the soft limits that no engine compiles in a second.
func bomb() []byte {
	return hosttest.Plugin{Name: "t", Change: func(m *asm.Module) {
		const locals = 2000
		var body asm.Instr
		for i := range uint32(60) {
			var uses asm.Instr
			for l := range uint32(100) {
				uses += asm.Block(asm.LocalGet((i*100+l)%locals), asm.BrIf(0),
					asm.LocalGet(l), asm.LocalSet((i*31+l*7)%locals))
			}
			body = asm.Loop(body, uses, asm.LocalGet(i), asm.BrIf(0))
		}
		m.Func("", strings.Repeat("i32 ", locals), body)
	}}.Bytes()
}

func TestJustOverTheSoftLimits(t *testing.T) {
	at, over := longBody(softBody), longBody(softBody+1)
	hosttest.Compile(t, hosttest.Engine(t), at, host.Policy{})
	load := refuse(t, over, host.Policy{})
	for _, want := range []string{"compile: code section, function ", "1048577",
		"the limit is 1048576", "CompileCommand in wasmagent.Options or host.Config"} {
		if !strings.Contains(load.Error(), want) {
			t.Errorf("%q is not in %q", want, load)
		}
	}
	for name, cfg := range map[string]host.Config{
		"nothing kept": {},
		"kept":         {CacheDir: t.TempDir(), CacheKey: cacheKey},
	} {
		m := hosttest.Compile(t, withChild(t, cfg), over, host.Policy{})
		if reply, err := call(t.Context(), m, "hi", nil); string(reply) != okReply("hi") {
			t.Errorf("%s: %q, %v", name, reply, err)
		}
	}
}

// What a child made is an entry like any other: the next process needs no child, and a damaged one
// is made anew by a child.
func TestChildCodeIsKept(t *testing.T) {
	wasm := longBody(softBody + 1)
	cfg := host.Config{CacheDir: t.TempDir(), CacheKey: cacheKey}
	hosttest.Compile(t, withChild(t, cfg), wasm, host.Policy{})
	idle := cfg
	idle.CompileCommand = []string{"/nowhere"}
	m := hosttest.Compile(t, withChild(t, idle), wasm, host.Policy{})
	if reply, err := call(t.Context(), m, "hi", nil); string(reply) != okReply("hi") {
		t.Errorf("%q, %v", reply, err)
	}
	file := entries(t, cfg.CacheDir)[0]
	b, err := os.ReadFile(file)
	if err == nil {
		b[len(b)-1] ^= 1
		err = os.WriteFile(file, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := withChild(t, idle).Compile(t.Context(), wasm, host.Policy{}); err == nil ||
		!strings.Contains(err.Error(), "/nowhere") {
		t.Errorf("a damaged entry was used: %v", err)
	}
	hosttest.Compile(t, withChild(t, cfg), wasm, host.Policy{})
}

// A module that is too much for the child is refused, and its host lives and works.
func TestCompileBombs(t *testing.T) {
	for _, c := range []struct {
		name         string
		seconds      int
		memory, code int64
		wasm         []byte
		want         string
	}{
		{"time", 1, 1 << 30, 1 << 30, bomb(), "compile: compiling it takes longer than "},
		{"memory", 60, 64 << 20, 1 << 30, bomb(), "compile: compiling it takes more than 64 MiB"},
		{"code", 60, 1 << 30, 1 << 10, longBody(softBody + 1),
			"compile: compiling it takes more than 1 KiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			e := withChild(t, host.Config{CacheDir: dir, CacheKey: cacheKey})
			host.LimitChild(e, c.seconds, c.memory, c.code)
			_, err := e.Compile(t.Context(), c.wasm, host.Policy{})
			load, ok := errors.AsType[*host.LoadError](err)
			if limit, is := errors.AsType[*host.LimitError](err); !ok || !is ||
				limit.Limit != "compile" || !strings.HasPrefix(load.Error(), c.want) {
				t.Errorf("%v", err)
			}
			m := hosttest.Compile(t, e, hosttest.Tiny("t"), host.Policy{})
			if reply, err := call(t.Context(), m, "hi", nil); string(reply) != okReply("hi") {
				t.Errorf("%q, %v", reply, err)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "run-*", "child-*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

// A command that is no compiler is the operator's fault, not the module's.
func TestWrongCompileCommand(t *testing.T) {
	for command, want := range map[string]string{
		"/nowhere": "compiler command /nowhere: ",
		"true":     "not of this program's version",
		"false":    "exit status 1",
	} {
		e := withChild(t, host.Config{CompileCommand: []string{command}})
		_, err := e.Compile(t.Context(), longBody(softBody+1), host.Policy{})
		if _, ok := errors.AsType[*host.LoadError](err); ok || err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", command, err)
		}
	}
}

// A module that the engine refuses is refused in the same words, wherever it is compiled.
func TestChildRefuses(t *testing.T) {
	wasm := hosttest.Plugin{Name: "t", Change: func(m *asm.Module) {
		m.Func("-> i32", "", asm.Repeat(softBody, asm.Nop))
	}}.Bytes()
	_, err := withChild(t, host.Config{}).Compile(t.Context(), wasm, host.Policy{})
	load, ok := errors.AsType[*host.LoadError](err)
	if !ok || load.Stage != "compile" || !strings.Contains(err.Error(), "not enough results") {
		t.Errorf("%v", err)
	}
}

// Close ends a compile that runs in a child.
func TestCloseWhileAChildCompiles(t *testing.T) {
	e := withChild(t, host.Config{})
	failed := make(chan error)
	go func() {
		_, err := e.Compile(context.Background(), bomb(), host.Policy{})
		failed <- err
	}()
	for host.ChildrenRunning(e) == 0 {
		time.Sleep(time.Millisecond)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-failed; !errors.Is(err, host.ErrClosed) {
		t.Errorf("%v", err)
	}
}
