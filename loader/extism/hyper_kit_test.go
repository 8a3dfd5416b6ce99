package extism_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/loader/extism"
	"github.com/wasmagent/wasmagent/plugins"
)

// hyperGuest is a plugin for Extism in the making, in assembler.
type hyperGuest struct {
	*asm.Module
	alloc, storeU8, storeU64, outputSet, inputLength, inputU8, http, random asm.FuncIndex
	data                                                                    int32
}

func newHyperGuest() *hyperGuest {
	m := asm.New()
	const env = "extism:host/env"
	g := &hyperGuest{
		Module:      m,
		alloc:       m.ImportFunc(env, "alloc", "i64 -> i64"),
		storeU8:     m.ImportFunc(env, "store_u8", "i64 i32"),
		storeU64:    m.ImportFunc(env, "store_u64", "i64 i64"),
		outputSet:   m.ImportFunc(env, "output_set", "i64 i64"),
		inputLength: m.ImportFunc(env, "input_length", "-> i64"),
		inputU8:     m.ImportFunc(env, "input_load_u8", "i64 -> i32"),
		http:        m.ImportFunc(env, "http_request", "i64 i64 -> i64"),
		random:      m.ImportFunc("wasi_snapshot_preview1", "random_get", "i32 i32 -> i32"),
		data:        64,
	}
	m.ExportMemory("memory", m.Memory(32))
	return g
}

// exports gives the guest a function, with locals for says.
func (g *hyperGuest) exports(name string, body ...asm.Instr) *hyperGuest {
	g.Export(name, g.Func("-> i32", "i64 i32 i64", append(body, asm.I32Const(0))...))
	return g
}

// text puts a text into memory.
func (g *hyperGuest) text(s string) (at int32) {
	at = g.data
	g.Data(at, s)
	g.data += int32(len(s))
	return at
}

// Locals: the block, how many bytes of it are written, and bytes of a part.
const (
	block = iota
	written
	part
)

// begin makes a block for the output.
func (g *hyperGuest) begin(size ...asm.Instr) asm.Instr {
	return asm.Seq(append(size, asm.Call(g.alloc), asm.LocalSet(block), asm.I32Const(0),
		asm.LocalSet(written))...)
}

// place is where the next byte is written.
var place = asm.Seq(asm.LocalGet(block), asm.LocalGet(written), asm.I64ExtendI32U, asm.I64Add)

// step goes on in a loop while less than an end is written.
func step(end asm.Instr) asm.Instr {
	return asm.Seq(asm.LocalGet(written), asm.I32Const(1), asm.I32Add, asm.LocalTee(written), end,
		asm.I32LtU, asm.BrIf(0))
}

// put writes a text that is at a place in memory, behind what is written.
func (g *hyperGuest) put(at int32, size int) asm.Instr {
	return asm.Seq(
		asm.LocalGet(written), asm.I64ExtendI32U, asm.LocalSet(part),
		asm.Loop(place,
			asm.LocalGet(written), asm.LocalGet(part), asm.I32WrapI64, asm.I32Sub, asm.I32Load8U(uint32(at)),
			asm.Call(g.storeU8),
			step(asm.Seq(asm.LocalGet(part), asm.I32WrapI64, asm.I32Const(int32(size)), asm.I32Add))))
}

// end sets the output.
func (g *hyperGuest) end() asm.Instr {
	return asm.Seq(asm.LocalGet(block), asm.LocalGet(written), asm.I64ExtendI32U, asm.Call(g.outputSet))
}

// says gives an output.
func (g *hyperGuest) says(text string) asm.Instr {
	if text == "" {
		return asm.Seq(asm.I64Const(0), asm.I64Const(0), asm.Call(g.outputSet))
	}
	return asm.Seq(g.begin(asm.I64Const(int64(len(text)))), g.put(g.text(text), len(text)), g.end())
}

// echoes gives the input as a result's structured content.
func (g *hyperGuest) echoes() asm.Instr {
	const before, after = `{"structuredContent":`, `}`
	return asm.Seq(
		g.begin(asm.Call(g.inputLength), asm.I64Const(int64(len(before+after))), asm.I64Add),
		g.put(g.text(before), len(before)),
		asm.Loop(place,
			asm.LocalGet(written), asm.I32Const(int32(len(before))), asm.I32Sub, asm.I64ExtendI32U,
			asm.Call(g.inputU8), asm.Call(g.storeU8),
			step(asm.Seq(asm.Call(g.inputLength), asm.I32WrapI64, asm.I32Const(int32(len(before))),
				asm.I32Add))),
		g.put(g.text(after), len(after)),
		g.end())
}

// fills writes a byte many times, 8 by 8.
func (g *hyperGuest) fills(c byte, words int32) asm.Instr {
	word := int64(c) * 0x0101010101010101
	return asm.Seq(
		asm.LocalGet(written), asm.I64ExtendI32U, asm.LocalSet(part),
		asm.Loop(place, asm.I64Const(word), asm.Call(g.storeU64),
			asm.LocalGet(written), asm.I32Const(8), asm.I32Add, asm.LocalTee(written),
			asm.LocalGet(part), asm.I32WrapI64, asm.I32Const(8*words), asm.I32Add,
			asm.I32LtU, asm.BrIf(0)))
}

// oneTool lists a tool.
const oneTool = `{"tools":[{"name":"go","inputSchema":{"type":"object"}}]}`

// servlet is a plugin of the first version that lists its tools and answers calls.
func servlet(list, answer string) []byte {
	g := newHyperGuest()
	return g.exports("describe", g.says(list)).exports("call", g.says(answer)).Bytes()
}

// hyperOptions are those of a directory of the test's own.
func hyperOptions(tb testing.TB, d *loader.Decision) *loader.Options {
	opts := &loader.Options{
		Kinds:    []loader.Kind{extism.NewHyper(), extism.New(nil)},
		CacheDir: tb.TempDir(), StateDir: tb.TempDir(),
	}
	if d != nil {
		opts.Policies = hyperPolicy{*d}
	}
	return opts
}

// hyperPolicy is the same for all plugins.
type hyperPolicy struct{ loader.Decision }

func (p hyperPolicy) Decide(*loader.Plugin) (loader.Decision, error) { return p.Decision, nil }

// openHyper opens a plugin's bytes under a policy.
func openHyper(tb testing.TB, wasm []byte, d *loader.Decision) *loader.Dir {
	tb.Helper()
	return openWith(tb, wasm, hyperOptions(tb, d))
}

func openWith(tb testing.TB, wasm []byte, opts *loader.Options) *loader.Dir {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "p.wasm")
	if err := os.WriteFile(path, wasm, 0o600); err != nil {
		tb.Fatal(err)
	}
	dir, err := loader.OpenFile(tb.Context(), path, opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := dir.Close(); err != nil {
			tb.Error(err)
		}
	})
	return dir
}

// good gives a registry of a good plugin's tools.
func good(tb testing.TB, dir *loader.Dir) *plugins.Registry {
	tb.Helper()
	if err := dir.Plugins()[0].Err; err != nil {
		tb.Fatal(err)
	}
	r := plugins.NewRegistry(&plugins.Options{RetryWait: time.Nanosecond})
	if err := r.Add(dir.Tools()...); err != nil {
		tb.Fatal(err)
	}
	return r
}

func callHyper(tb testing.TB, r *plugins.Registry, tool, input string) (plugins.Result, error) {
	tb.Helper()
	return r.Call(tb.Context(), plugins.Call{ID: "c1", Tool: tool, Input: []byte(input)})
}

// listed says what a directory offers and what it does not, a tool a line.
func listed(dir *loader.Dir) string {
	var b strings.Builder
	for _, t := range dir.Tools() {
		fmt.Fprintln(&b, t.Spec().Name)
	}
	for _, err := range dir.Plugins()[0].Withheld {
		if e, ok := errors.AsType[*loader.SpecError](err); ok {
			fmt.Fprintf(&b, "not %s: %s\n", e.Tool, e.Detail)
		}
	}
	return b.String()
}

// goGuest builds a guest with github.com/extism/go-pdk, which is fetched where it is not there.
// Without it a test is skipped, and in CI it fails.
func goGuest(tb testing.TB, name string) []byte {
	tb.Helper()
	if testing.Short() {
		tb.Skip("SKIPPED: compiling a Go guest takes long")
	}
	dir := filepath.Join("testdata", name)
	cmd := exec.Command("go", "mod", "download")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		if os.Getenv("CI") == "true" {
			tb.Fatalf("go-pdk cannot be had: %v\n%s", err, stderr.Bytes())
		}
		tb.Skipf("SKIPPED: go-pdk cannot be had: %v\n%s", err, stderr.Bytes())
	}
	return hosttest.GoPlugin(tb, dir)
}
