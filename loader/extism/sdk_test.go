package extism_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
	"github.com/wasmagent/wasmagent/host/kv"
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

// counts is a plugin's answer to "hello".
const counts = `{"count":2,"total":2,"vowels":"aeiouAEIOU"}`

// A call's instance is its own: the plugin's variables count from nothing each time.
func TestSDKEngineFreshState(t *testing.T) {
	dir := openIn(t, sdkWasm(t, "count_vowels"), loader.Decision{Engine: "extism-sdk"}, "count_vowels")
	for range 3 {
		if out, err := ask(t.Context(), dir, "count_vowels", "hello"); err != nil || out != counts {
			t.Fatalf("%s, %v; want %s", out, err, counts)
		}
	}
}

// What a policy says and the engine cannot keep, it says before anything runs.
func TestSDKEngineRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		engine string
		give   func(*host.Policy)
		bare   bool // without a command
		want   string
	}{
		"engine":  {engine: "v8", want: `there is no such engine: want "native" or "extism-sdk"`},
		"command": {bare: true, want: "extism.Options.SDKCommand"},
		"kv":      {give: func(p *host.Policy) { p.Grants.KV = kv.Memory() }, want: "take kv out"},
		"fuel":    {give: func(p *host.Policy) { p.Limits.Fuel = 1 }, want: "take limits.fuel out"},
		"fixed":   {give: func(p *host.Policy) { p.Fixed = &host.Fixed{} }, want: "take fixed out"},
		"files": {want: "take files out", give: func(p *host.Policy) {
			p.Grants.Files = []host.Mount{{Scratch: true, Guest: "/tmp"}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d := loader.Decision{Kind: "extism", Engine: cmp.Or(tt.engine, "extism-sdk"),
				Functions: []loader.Function{{Tool: abi.ToolSpec{Name: "run"}}}}
			if tt.give != nil {
				tt.give(&d.Host)
			}
			command := sdkCommand()
			if tt.bare {
				command = nil
			}
			dir := openFile(t, write(t, t.TempDir(), "echo.wasm", echo()),
				extism.New(&extism.Options{SDKCommand: command}), d)
			e, ok := errors.AsType[*extism.EngineError](dir.Plugins()[0].Err)
			if !ok || e.Engine != d.Engine || !strings.Contains(e.Error(), tt.want) {
				t.Errorf("got %v, want an EngineError with %q", dir.Plugins()[0].Err, tt.want)
			}
		})
	}
}

// What is wrong with a module is found before the SDK sees it, or is the SDK's own word.
func TestSDKEngineModules(t *testing.T) {
	unknown := newHandmade()
	unknown.ImportFunc("extism:host/env", "launch", "")
	unknown.ImportFunc("env", "memory_of", "i32 -> i32")
	large := newHandmade("alloc")
	large.ExportMemory("memory", large.Memory(65))
	large.Export("run", large.Func("-> i32", "", asm.I32Const(0)))
	mistyped := newHandmade()
	mistyped.ImportFunc("extism:host/env", "alloc", "i32 -> i32")
	for name, tt := range map[string]struct {
		wasm        []byte
		stage, want string
	}{
		"imports": {unknown.run(ok), "contract", "import env.memory_of(i32) -> i32: the engine " +
			"extism-sdk has no such func"},
		"memory": {large.Bytes(), "contract",
			"its memory begins with 4.0625 MiB, past the limit of 4 MiB (limits.memory)"},
		"signature": {mistyped.run(ok), "instantiate", "signature mismatch"},
	} {
		t.Run(name, func(t *testing.T) {
			d := loader.Decision{Engine: "extism-sdk"}
			d.Host.Limits.Memory = 64 * 64 << 10
			_, err := ask(t.Context(), openIn(t, tt.wasm, d, "run"), "run", "")
			e, ok := errors.AsType[*host.LoadError](err)
			if !ok || e.Stage != tt.stage || !strings.Contains(e.Error(), tt.want) {
				t.Errorf("got %v, want a LoadError at %s with %q", err, tt.stage, tt.want)
			}
		})
	}
}

// Several modules are linked as the SDK links them.
func TestSDKEngineLinked(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"lib", "main"} {
		write(t, dir, filepath.Join("greet", name+".wasm"), sdkWasm(t, name))
	}
	write(t, dir, filepath.Join("greet", "manifest.json"), []byte(
		`{"wasm":[{"path":"lib.wasm","name":"lib"},{"path":"main.wasm","name":"main"}]}`))
	opened := open(t, loader.OpenDir, dir, extism.New(&extism.Options{SDKCommand: sdkCommand()}),
		everybody{loader.Decision{Engine: "extism-sdk", Functions: []loader.Function{
			{Tool: abi.ToolSpec{Name: "call_run_test"}, Export: "run_test", Text: true}}}})
	if out, err := ask(t.Context(), opened, "run_test", "benjamin"); err != nil ||
		out != `"Hello, BENJAMIN"` {
		t.Errorf("%s, %v", out, err)
	}
}

// hungry takes pages of memory until it gets none, and then gives up.
func hungry() []byte {
	g := newHandmade()
	return g.run(asm.Loop(asm.I32Const(16), asm.MemoryGrow, asm.I32Const(-1), asm.I32Ne, asm.BrIf(0)),
		asm.Unreachable)
}

// The same limits end the same guests in both engines.
func TestEnginesLimits(t *testing.T) {
	each(t, func(t *testing.T, d loader.Decision) {
		limited := d
		limited.Host.Limits.Memory = 4 << 20
		_, err := ask(t.Context(), openIn(t, hungry(), limited, "run"), "run", "")
		wantLimit(t, err, "memory")

		limited = d
		limited.Host.Limits.Output, limited.Host.Limits.Request = 100, 120
		dir := openIn(t, echo(), limited, "run")
		for _, size := range []int{100, 101, 120, 121} {
			out, err := ask(t.Context(), dir, "run", strings.Repeat("x", size))
			switch {
			case size <= 100 && (err != nil || len(out) != size+2):
				t.Errorf("%d bytes: %s, %v", size, out, err)
			case size > 120:
				wantLimit(t, err, "request")
			case size > 100:
				wantLimit(t, err, "output")
			}
		}
	})
}

// A trap says which, a panic of the guest's language what, and the next call is answered.
func TestEnginesTraps(t *testing.T) {
	g := newHandmade("input_length")
	wasm := g.run(g.call("input_length"), asm.I32WrapI64, asm.If(asm.Unreachable), ok)
	each(t, func(t *testing.T, d loader.Decision) {
		dir := openIn(t, wasm, d, "run")
		for _, in := range []string{"x", "", "x", ""} {
			out, err := ask(t.Context(), dir, "run", in)
			trap, trapped := errors.AsType[*host.TrapError](err)
			if in == "" && (err != nil || out != `""`) ||
				in != "" && (!trapped || trap.Trap != "unreachable") {
				t.Errorf("with %q: %s, %v", in, out, err)
			}
		}
	})
}

// A guest's log lines reach the caller.
func TestEnginesLog(t *testing.T) {
	g := newHandmade("log_info", "input_offset")
	wasm := g.run(g.call("input_offset"), g.call("log_info"), ok)
	each(t, func(t *testing.T, d loader.Decision) {
		dir := openIn(t, wasm, d, "run")
		var lines []string
		_, err := dir.Tools()[0].Invoke(t.Context(), plugins.Call{Tool: "call_run",
			Input: []byte(`{"input":"a line\u0007"}`),
			Log:   func(_ abi.Level, text string) { lines = append(lines, text) }})
		if err != nil || len(lines) != 1 || !strings.Contains(lines[0], "a line") ||
			strings.Contains(lines[0], "\a") {
			t.Errorf("%q, %v", lines, err)
		}
	})
}

// Closing a directory ends no call before its time, and leaves no process.
func TestSDKEngineClose(t *testing.T) {
	d := loader.Decision{Engine: "extism-sdk"}
	d.Host.Limits.Time = 300 * time.Millisecond
	idle := openIn(t, echo(), d, "run")
	if out, err := ask(t.Context(), idle, "run", "x"); err != nil || out != `"x"` {
		t.Fatalf("%s, %v", out, err)
	}
	if _, err := os.Stat("/proc/thread-self/children"); err == nil && len(sdkProcesses(t)) != 1 {
		t.Errorf("processes %v, want the one that idles", sdkProcesses(t))
	}
	if err := idle.Close(); err != nil {
		t.Error(err)
	}
	dir := openIn(t, spin(), d, "run")
	if _, err := ask(t.Context(), dir, "run", ""); err == nil {
		t.Fatal("a loop ended")
	}
	ended := make(chan error)
	go func() {
		_, err := ask(t.Context(), dir, "run", "")
		ended <- err
	}()
	err := dir.Close()
	if e := <-ended; e == nil || err != nil {
		t.Errorf("closed with %v, the call with %v", err, e)
	}
	if _, err := ask(t.Context(), dir, "run", ""); !errors.Is(err, host.ErrClosed) {
		t.Errorf("after closing: %v", err)
	}
	if left := sdkProcesses(t); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}

// sdkProcesses are this program's that run the SDK, where the system shows them.
func sdkProcesses(t *testing.T) (pids []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range all {
		text, _ := os.ReadFile(list) // a thread may be gone
		for _, pid := range strings.Fields(string(text)) {
			line, _ := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
			if strings.Contains(string(line), sdkVerb) {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// A command that is none, or ends at once, is told of as such.
func TestSDKEngineCommand(t *testing.T) {
	for _, command := range []string{filepath.Join(t.TempDir(), "nothing"), "/bin/true"} {
		d := loader.Decision{Kind: "extism", Engine: "extism-sdk",
			Functions: []loader.Function{{Tool: abi.ToolSpec{Name: "run"}}}}
		dir := openFile(t, write(t, t.TempDir(), "echo.wasm", echo()),
			extism.New(&extism.Options{SDKCommand: []string{command}}), d)
		if err := dir.Plugins()[0].Err; err == nil || !strings.Contains(err.Error(), "extism-sdk") {
			t.Errorf("got %v, want a word on the command of the engine", err)
		}
	}
}

// Where nothing is granted, a request is refused with the rule that would allow it, and no failure of
// a guest is tried again: it has no word for one that may pass.
func TestFailuresLast(t *testing.T) {
	code := newHandmade()
	for name, tt := range map[string]struct {
		wasm     []byte
		in, want string
	}{
		"code": {code.run(asm.I32Const(7)), "x", "code_7"},
		"request": {fetch(), `{"url":"https://a.test/x","method":"POST"}`, "POST https://a.test/x: no rule " +
			"allows the host a.test; to allow it: "},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, d loader.Decision) {
				_, err := ask(t.Context(), openIn(t, tt.wasm, d, "run"), "run", tt.in)
				failure, ok := errors.AsType[*abi.Failure](err)
				if !ok || !failure.Permanent || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%v, want %s", err, tt.want)
				}
			})
		})
	}
}
