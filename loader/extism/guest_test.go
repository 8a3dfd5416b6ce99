package extism_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/loader/extism"
	"github.com/wasmagent/wasmagent/plugins"
)

// kernel are the functions that a guest of the tests imports from extism:host/env.
var kernel = map[string]string{
	"alloc": "i64 -> i64", "free": "i64", "length": "i64 -> i64", "length_unsafe": "i64 -> i64",
	"load_u8": "i64 -> i32", "load_u64": "i64 -> i64", "store_u8": "i64 i32",
	"store_u64": "i64 i64", "input_offset": "-> i64", "input_length": "-> i64",
	"input_load_u8": "i64 -> i32", "input_load_u64": "i64 -> i64", "output_set": "i64 i64",
	"output_offset": "-> i64", "output_length": "-> i64", "error_set": "i64", "error_get": "-> i64",
	"config_get": "i64 -> i64", "var_get": "i64 -> i64", "var_set": "i64 i64",
	"http_request": "i64 i64 -> i64", "http_status_code": "-> i32", "http_headers": "-> i64",
	"get_log_level": "-> i32", "log_trace": "i64", "log_debug": "i64", "log_info": "i64",
	"log_warn": "i64", "log_error": "i64",
}

// kit assembles a guest. Of the locals of its functions, 0 to 3 are of 64 bits.
type kit struct {
	*asm.Module
	fns map[string]asm.FuncIndex
}

// body is code of a guest.
type body func(k *kit) asm.Instr

// guest assembles a plugin with the functions of a name each, and ok, which answers with "fine".
func guest(functions map[string]body) []byte {
	k := &kit{asm.New(), map[string]asm.FuncIndex{}}
	for _, name := range slices.Sorted(maps.Keys(kernel)) {
		k.fns[name] = k.ImportFunc("extism:host/env", name, kernel[name])
	}
	exit := k.ImportFunc("wasi_snapshot_preview1", "proc_exit", "i32")
	k.fns["proc_exit"] = exit
	k.ExportMemory("memory", k.Memory(1))
	add := func(name string, b body) {
		k.Export(name, k.Func("-> i32", "i64 i64 i64 i64", b(k), asm.I32Const(0)))
	}
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		add(name, functions[name])
	}
	add("ok", answer("fine"))
	return k.Bytes()
}

// do calls a kernel function with constants of 64 bits.
func (k *kit) do(name string, args ...int64) asm.Instr {
	code := asm.Seq()
	for _, arg := range args {
		code += asm.I64Const(arg)
	}
	return code + asm.Call(k.fns[name])
}

// with calls a kernel function with what code leaves on the stack.
func (k *kit) with(name string, code ...asm.Instr) asm.Instr {
	return asm.Seq(code...) + asm.Call(k.fns[name])
}

// put makes a block of a text, and leaves its offset in a local.
func (k *kit) put(local uint32, text string) asm.Instr {
	code := k.do("alloc", int64(len(text))) + asm.LocalSet(local)
	for i := range len(text) {
		code += k.with("store_u8", asm.LocalGet(local), asm.I64Const(int64(i)), add64,
			asm.I32Const(int32(text[i])))
	}
	return code
}

// Instructions that the assembler has no name for.
var (
	add64  = asm.Op(0x7c)
	sub64  = asm.Op(0x7d)
	tee64  = asm.Op(0x50) // i64.eqz
	drop   = asm.Op(0x1a)
	wrap   = asm.Op(0xa7) // to 32 bits
	widen  = asm.Op(0xad) // to 64 bits
	ret    = asm.Op(0x0f)
	notNil = tee64 + asm.Op(0x45) // != 0
)

// times repeats code; local 3 counts.
func times(n int64, code asm.Instr) asm.Instr {
	return asm.I64Const(n) + asm.LocalSet(3) + asm.Loop(code, asm.LocalGet(3), asm.I64Const(1), sub64,
		asm.LocalTee(3), notNil, asm.BrIf(0))
}

// answer gives a text.
func answer(text string) body {
	return func(k *kit) asm.Instr {
		return k.put(0, text) + k.with("output_set", asm.LocalGet(0), asm.I64Const(int64(len(text))))
	}
}

// show answers with the lower 32 bits of what code leaves on the stack, as 8 letters from "a" of 4
// bits each.
func (k *kit) show(code asm.Instr) asm.Instr {
	out := code + asm.LocalSet(0) + k.do("alloc", 8) + asm.LocalSet(1)
	for i := range int64(8) {
		out += k.with("store_u8", asm.LocalGet(1), asm.I64Const(7-i), add64,
			asm.LocalGet(0), asm.I64Const(4*i), asm.Op(0x88), asm.I64Const(15), asm.Op(0x83), wrap,
			asm.I32Const('a'), asm.Op(0x6a))
	}
	return out + k.with("output_set", asm.LocalGet(1), asm.I64Const(8))
}

// shown is what show shows of a number.
func shown(n uint32) string {
	var b [8]byte
	for i := range b {
		b[7-i] = 'a' + byte(n>>(4*i)&15)
	}
	return string(b[:])
}

// load makes a plugin of a guest. Every function is a tool that takes a string.
func load(tb testing.TB, wasm []byte, d loader.Decision, names ...string) *loader.Dir {
	tb.Helper()
	for _, name := range append(names, "ok") {
		d.Functions = append(d.Functions, loader.Function{Tool: abi.ToolSpec{Name: name}, Text: true})
	}
	return openFile(tb, write(tb, tb.TempDir(), "guest.wasm", wasm), extism.New(nil), d)
}

// invoke calls a tool of a directory's with a string.
func invoke(ctx context.Context, d *loader.Dir, name, input string) (string, error) {
	in, err := json.Marshal(map[string]string{"input": input})
	if err != nil {
		return "", err
	}
	for _, tool := range d.Tools() {
		if tool.Spec().Name == name {
			out, err := tool.Invoke(ctx, plugins.Call{Tool: name, Input: in})
			var said string
			if json.Unmarshal(out.Value, &said) != nil {
				said = string(out.Value)
			}
			return said, err
		}
	}
	return "", &loader.KindError{Kind: name}
}

// contains tells whether an error, or a text without one, has a part.
func contains(got string, err error, part string) bool {
	if err != nil {
		got = err.Error()
	}
	return strings.Contains(got, part)
}
