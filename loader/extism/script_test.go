package extism_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	gosdk "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
	"pgregory.net/rapid"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/loader/extism"
)

// TestDifferentialScripts has guests carry out random scripts of kernel functions, in the SDK as it
// is and in the native engine. What a guest can see has to be the same, but for these:
//
//   - where blocks lie, and what lies between them: scripts look at neither;
//   - a block that is used again begins with zeros here, and with what was there in the SDK: scripts
//     read what they wrote;
//   - ranges that are not in memory, errors that are no block, and input past its end, which the SDK
//     reads as zeros or as nothing: they end the guest here;
//   - a number other than 0 that is returned without an error is a failure here.
func TestDifferentialScripts(t *testing.T) {
	engine, kind := scriptEngine(t)
	cache := wazero.NewCompilationCache()
	t.Cleanup(func() { cache.Close(t.Context()) })
	rapid.Check(t, func(t *rapid.T) {
		s := drawScript(t)
		want := s.inSDK(t, cache)
		if got := s.native(t, engine, kind); got != want {
			t.Fatalf("input %q: the SDK gives %s, the native engine %s", s.input, want, got)
		}
	})
}

// scriptEngine is an engine for many guests.
func scriptEngine(t *testing.T) (*host.Engine, loader.Kind) {
	t.Helper()
	kind := extism.New(nil)
	engine, err := host.New(t.Context(), &host.Config{Dialects: kind.Dialects()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close(t.Context()) })
	return engine, kind
}

// script is a guest's program. Each of its registers, which are locals, is a block or nothing.
type script struct {
	*handmade
	code   asm.Instr
	input  string
	traced int     // words that were noted
	blocks []*area // by register
	wasm   []byte
}

// area is a block, as far as it was written.
type area struct {
	size  int
	bytes map[int]bool // that were written
	freed bool
}

const (
	registers = 6
	traceAt   = 1024 // where words are noted, in the guest's own memory
	maxSteps  = 24
)

func drawScript(t *rapid.T) *script {
	names := []string{"alloc", "free", "length", "store_u8", "store_u64", "load_u8", "load_u64",
		"input_offset", "input_length", "input_load_u8", "output_set", "output_length", "error_set",
		"error_get", "config_get", "var_get", "var_set"}
	s := &script{handmade: newHandmade(names...), blocks: make([]*area, registers)}
	s.input = rapid.StringMatching(`[a-z]{0,20}`).Draw(t, "input")
	steps := []func(*rapid.T){s.alloc, s.alloc, s.free, s.length, s.storeByte, s.storeWord, s.loadByte,
		s.loadWord, s.inputs, s.config, s.setVar, s.getVar, s.failure, s.outputLength}
	for range rapid.IntRange(1, maxSteps).Draw(t, "steps") {
		steps[rapid.IntRange(0, len(steps)-1).Draw(t, "step")](t)
	}
	s.end(t)
	s.assemble()
	return s
}

// note keeps the 64 bits that code leaves on the stack.
func (s *script) note(code asm.Instr) {
	s.code += asm.I32Const(int32(traceAt+8*s.traced)) + code + asm.I64Store(0)
	s.traced++
}

// exists notes whether a register is something.
func (s *script) exists(r int) { s.note(asm.LocalGet(uint32(r)) + asm.I64Eqz + asm.I64ExtendI32U) }

func (s *script) register(t *rapid.T) int { return rapid.IntRange(0, registers-1).Draw(t, "register") }

// block draws a register with a block that is in use, of least bytes.
func (s *script) block(t *rapid.T, least int) (int, *area, bool) {
	r := s.register(t)
	b := s.blocks[r]
	return r, b, b != nil && !b.freed && b.size >= least
}

func (s *script) at(r, i int) asm.Instr {
	return asm.LocalGet(uint32(r)) + asm.I64Const(int64(i)) + asm.I64Add
}

func (s *script) alloc(t *rapid.T) {
	r, size := s.register(t), rapid.IntRange(0, 300).Draw(t, "size")
	s.code += asm.I64Const(int64(size)) + s.call("alloc") + asm.LocalSet(uint32(r))
	s.exists(r)
	if s.blocks[r] = nil; size > 0 {
		s.blocks[r] = &area{size: size, bytes: map[int]bool{}}
	}
}

// free frees what is in a register, be it freed already or nothing. No other register has the same
// block, unless it was freed: then its next owner would lose it, so the register is cleared.
func (s *script) free(t *rapid.T) {
	r := s.register(t)
	s.code += asm.LocalGet(uint32(r)) + s.call("free")
	s.note(asm.LocalGet(uint32(r)) + s.call("length"))
	s.clear(r)
}

func (s *script) clear(r int) {
	s.code += asm.I64Const(0) + asm.LocalSet(uint32(r))
	s.blocks[r] = nil
}

func (s *script) length(t *rapid.T) {
	s.note(asm.LocalGet(uint32(s.register(t))) + s.call("length"))
}

func (s *script) storeByte(t *rapid.T) {
	if r, b, ok := s.block(t, 1); ok {
		i := rapid.IntRange(0, b.size-1).Draw(t, "at")
		s.code += s.at(r, i) + asm.I32Const(rapid.Int32Range(0, 255).Draw(t, "byte")) +
			s.call("store_u8")
		b.bytes[i] = true
	}
}

func (s *script) storeWord(t *rapid.T) {
	if r, b, ok := s.block(t, 8); ok {
		i := rapid.IntRange(0, b.size-8).Draw(t, "at")
		s.code += s.at(r, i) + asm.I64Const(rapid.Int64().Draw(t, "word")) + s.call("store_u64")
		for j := range 8 {
			b.bytes[i+j] = true
		}
	}
}

func (b *area) has(i, n int) bool {
	for j := range n {
		if !b.bytes[i+j] {
			return false
		}
	}
	return true
}

func (s *script) loadByte(t *rapid.T) {
	if r, b, ok := s.block(t, 1); ok {
		if i := rapid.IntRange(0, b.size-1).Draw(t, "at"); b.has(i, 1) {
			s.note(s.at(r, i) + s.call("load_u8") + asm.I64ExtendI32U)
		}
	}
}

func (s *script) loadWord(t *rapid.T) {
	if r, b, ok := s.block(t, 8); ok {
		if i := rapid.IntRange(0, b.size-8).Draw(t, "at"); b.has(i, 8) {
			s.note(s.at(r, i) + s.call("load_u64"))
		}
	}
}

func (s *script) inputs(t *rapid.T) {
	s.note(s.call("input_length"))
	s.note(s.call("input_offset") + s.call("length"))
	if n := len(s.input); n > 0 {
		i := rapid.IntRange(0, n-1).Draw(t, "at")
		s.note(asm.I64Const(int64(i)) + s.call("input_load_u8") + asm.I64ExtendI32U)
	}
}

// Settings that all scripts have, and the names that they ask for.
var (
	scriptConfig = map[string]string{"a": "1", "long": strings.Repeat("x", 100), "empty": ""}
	scriptNames  = []string{"a", "long", "empty", "none", "v"}
)

// named puts a name into a register.
func (s *script) named(t *rapid.T) int {
	r := s.register(t)
	name := rapid.SampledFrom(scriptNames).Draw(t, "name")
	s.code += s.text(uint32(r), name)
	s.blocks[r] = &area{size: len(name), bytes: map[int]bool{}}
	for i := range len(name) {
		s.blocks[r].bytes[i] = true
	}
	return r
}

// got is a value that the host gave, of which the first byte is looked at, if there is one.
func (s *script) got(r int) {
	s.blocks[r] = nil
	s.exists(r)
	s.note(asm.LocalGet(uint32(r)) + s.call("length"))
	s.code += asm.LocalGet(uint32(r)) + asm.I64Eqz + asm.I32Eqz + asm.If(
		asm.I32Const(int32(traceAt+8*s.traced)), asm.LocalGet(uint32(r)), s.call("load_u8"),
		asm.I64ExtendI32U, asm.I64Store(0))
	s.traced++
	s.clear(r)
}

func (s *script) config(t *rapid.T) {
	r := s.named(t)
	s.code += asm.LocalGet(uint32(r)) + s.call("config_get") + asm.LocalSet(uint32(r))
	s.got(r)
}

// setVar sets a variable to a block's bytes, all of which were written, or removes it. Both blocks
// are freed by that.
func (s *script) setVar(t *rapid.T) {
	name := s.named(t)
	r := s.register(t)
	if b := s.blocks[r]; r == name || b != nil && !b.has(0, b.size) {
		return
	}
	s.code += asm.LocalGet(uint32(name)) + asm.LocalGet(uint32(r)) + s.call("var_set")
	s.note(asm.LocalGet(uint32(name)) + s.call("length"))
	s.clear(name)
	s.clear(r)
}

func (s *script) getVar(t *rapid.T) {
	r := s.named(t)
	s.code += asm.LocalGet(uint32(r)) + s.call("var_get") + asm.LocalSet(uint32(r))
	s.got(r)
}

// failure sets an error, or takes it back. It is asked whether it is the same.
func (s *script) failure(t *rapid.T) {
	r := s.register(t)
	if b := s.blocks[r]; b != nil && !b.has(0, b.size) {
		return
	}
	s.code += asm.LocalGet(uint32(r)) + s.call("error_set")
	s.note(s.call("error_get") + asm.LocalGet(uint32(r)) + asm.Op(0x51) + asm.I64ExtendI32U)
	s.code += asm.I64Const(0) + s.call("error_set")
}

func (s *script) outputLength(*rapid.T) { s.note(s.call("output_length")) }

// end gives what was noted, or ends in another way.
func (s *script) end(t *rapid.T) {
	switch rapid.IntRange(0, 5).Draw(t, "end") {
	case 0:
		s.code += s.text(0, "what went wrong") + asm.LocalGet(0) + s.call("error_set") +
			asm.I32Const(rapid.Int32Range(0, 3).Draw(t, "code"))
		return
	case 1:
		s.code += asm.Unreachable
		return
	case 2: // the input, and no output at all
		s.code += asm.I32Const(0)
		return
	}
	s.code += asm.I64Const(int64(8*s.traced)) + s.call("alloc") + asm.LocalSet(0)
	for i := range s.traced {
		s.code += s.at(0, 8*i) + asm.I32Const(int32(traceAt+8*i)) + asm.I64Load(0) + s.call("store_u64")
	}
	s.code += asm.LocalGet(0) + asm.I64Const(int64(8*s.traced)) + s.call("output_set") + asm.I32Const(0)
}

// assemble makes the script's guest.
func (s *script) assemble() {
	s.ExportMemory("memory", s.Memory(1))
	s.Export("run", s.Func("-> i32", "i64 i64 i64 i64 i64 i64", s.code))
	s.wasm = s.Bytes()
}

// inSDK is what comes of the script in the SDK as it is.
func (s *script) inSDK(t *rapid.T, cache wazero.CompilationCache) string {
	ctx := t.Context()
	p, err := gosdk.NewPlugin(ctx, gosdk.Manifest{Config: scriptConfig,
		Wasm: []gosdk.Wasm{gosdk.WasmData{Data: s.wasm}}}, gosdk.PluginConfig{
		RuntimeConfig: wazero.NewRuntimeConfig().WithCompilationCache(cache)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(ctx)
	code, out, err := p.Call("run", []byte(s.input))
	if text := p.GetError(); err != nil && err.Error() == text {
		return fmt.Sprintf("failure %d: %s", code, text)
	}
	if trap, ok := host.EngineFault(errOr(err)).(*host.TrapError); ok {
		return "trap " + trap.Trap
	}
	if err != nil {
		return "error " + err.Error()
	}
	return hex.EncodeToString(out)
}

// errOr is err, or an error that is nothing.
func errOr(err error) error {
	if err == nil {
		return errors.New("none")
	}
	return err
}

// native is what comes of it in the native engine.
func (s *script) native(t *rapid.T, engine *host.Engine, kind loader.Kind) string {
	ctx := t.Context()
	d := &loader.Decision{Functions: []loader.Function{
		{Tool: abi.ToolSpec{Name: "run"}, Export: "run", Text: true}}}
	d.Host.Config = map[string]abi.Raw{}
	for key, value := range scriptConfig {
		d.Host.Config[key] = abi.AppendString(nil, value)
	}
	m, err := kind.Compile(ctx, engine, s.wasm, &loader.Plugin{Name: "script"}, d)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close(ctx)
	out, err := extism.Raw(ctx, m, "run", []byte(s.input))
	if f, ok := errors.AsType[*abi.Failure](err); ok {
		code := 0
		fmt.Sscanf(f.Code, "code_%d", &code)
		return fmt.Sprintf("failure %d: %s", code, f.Message)
	}
	if trap, ok := errors.AsType[*host.TrapError](err); ok {
		return "trap " + trap.Trap
	}
	if err != nil {
		return "error " + err.Error()
	}
	return hex.EncodeToString(out)
}
