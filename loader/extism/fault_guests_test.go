package extism_test

import (
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
)

// handmade is a module for Extism that is made by hand.
type handmade struct {
	*asm.Module
	env map[string]asm.FuncIndex
}

func newHandmade(imports ...string) *handmade {
	g := &handmade{asm.New(), map[string]asm.FuncIndex{}}
	for _, name := range imports {
		g.env[name] = g.ImportFunc("extism:host/env", name, kernel[name])
	}
	return g
}

func (g *handmade) call(name string) asm.Instr { return asm.Call(g.env[name]) }

// text makes a block of a text, and leaves its offset in an i64 local.
func (g *handmade) text(local uint32, s string) asm.Instr {
	code := asm.I64Const(int64(len(s))) + g.call("alloc") + asm.LocalSet(local)
	for i := range len(s) {
		code += asm.LocalGet(local) + asm.I64Const(int64(i)) + asm.I64Add +
			asm.I32Const(int32(s[i])) + g.call("store_u8")
	}
	return code
}

// run defines the function run, which has two locals of 64 bits, and gives the module.
func (g *handmade) run(body ...asm.Instr) []byte {
	g.ExportMemory("memory", g.Memory(1))
	g.Export("run", g.Func("-> i32", "i64 i64", body...))
	return g.Bytes()
}

const ok = "\x41\x00" // i32.const 0

var forever = asm.Loop(asm.Br(0))

// spin never returns, in a loop that the engine could interrupt.
func spin() []byte {
	return newHandmade().run(forever, ok)
}

// recurse takes longer than anybody waits, without a loop: it calls itself twice at each depth.
func recurse() []byte {
	g := newHandmade()
	self := g.NextFunc()
	g.Func("i32", "", asm.LocalGet(0), asm.If(
		asm.LocalGet(0), asm.I32Const(1), asm.I32Sub, asm.Call(self),
		asm.LocalGet(0), asm.I32Const(1), asm.I32Sub, asm.Call(self)))
	return g.run(asm.I32Const(64), asm.Call(self), ok)
}

// startSpin never gets through its start section.
func startSpin() []byte {
	g := newHandmade()
	g.Start(g.Func("", "", forever))
	return g.run(ok)
}

// corrupt writes blocks into the SDK's kernel that have no end: each is in use and has no bytes, and
// the last leads back to the first. Then it asks for a setting by a name that lies behind them. With
// a host that keeps its own books it has only changed its own bytes.
func corrupt() []byte {
	const own, key = 0, 1
	const blocks, header = 64, 12 // a block's header is a state, a size and what is used of it
	g := newHandmade("alloc", "store_u8", "store_u64", "config_get", "output_set", "length")
	code := asm.I64Const(blocks*header) + g.call("alloc") + asm.LocalSet(own) +
		asm.LocalGet(own) + asm.I64Const(8) + asm.I64Sub + asm.I64Const(0) + g.call("store_u64")
	for i := range int64(blocks) {
		size := int64(0)
		if i == blocks-1 {
			size = int64(uint32(1<<32 - (blocks+1)*header))
		}
		at := asm.LocalGet(own) + asm.I64Const(i*header) + asm.I64Add
		code += at + asm.I64Const(size<<32|1) + g.call("store_u64")
	}
	return g.run(code, g.text(key, "key"),
		asm.LocalGet(key), g.call("config_get"), asm.LocalSet(own),
		asm.LocalGet(own), asm.LocalGet(own), g.call("length"), g.call("output_set"), ok)
}

// outside says that its output is where there is no memory.
func outside() []byte {
	g := newHandmade("output_set")
	return g.run(asm.I64Const(1<<31), asm.I64Const(8), g.call("output_set"), ok)
}

// silent returns 7, and no text that says why.
func silent() []byte { return newHandmade().run(asm.I32Const(7)) }

// fetch sends the request that is its input, and gives the response's body.
func fetch() []byte {
	g := newHandmade("input_offset", "http_request", "length", "output_set")
	return g.run(
		g.call("input_offset"), asm.I64Const(0), g.call("http_request"), asm.LocalSet(0),
		asm.LocalGet(0), asm.LocalGet(0), g.call("length"), g.call("output_set"), ok)
}

// remember sets a variable to its input, and gives what the variable then is.
func remember() []byte {
	g := newHandmade("alloc", "store_u8", "input_offset", "var_set", "var_get", "length", "output_set")
	return g.run(
		g.text(0, "v"), asm.LocalGet(0), g.call("input_offset"), g.call("var_set"),
		g.text(0, "v"), asm.LocalGet(0), g.call("var_get"), asm.LocalSet(1),
		asm.LocalGet(1), asm.LocalGet(1), g.call("length"), g.call("output_set"), ok)
}

// echoAfter calls a function of its host's, and gives its input.
func echoAfter() []byte {
	g := newHandmade("input_offset", "input_length", "output_set")
	wait := g.ImportFunc("extism:host/user", "wait", "")
	return g.run(asm.Call(wait),
		g.call("input_offset"), g.call("input_length"), g.call("output_set"), ok)
}

// echo gives its input.
func echo() []byte {
	g := newHandmade("input_offset", "input_length", "output_set")
	return g.run(g.call("input_offset"), g.call("input_length"), g.call("output_set"), ok)
}

// spinOrEcho gives its input when there is none, and else never returns.
func spinOrEcho() []byte {
	g := newHandmade("input_length")
	return g.run(g.call("input_length"), asm.I32WrapI64, asm.If(forever), ok)
}
