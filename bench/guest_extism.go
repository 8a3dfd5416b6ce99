package main

import "github.com/wasmagent/wasmagent/host/hosttest/asm"

// extismSmall is the small guest for extism: it takes the payload's JSON, has input and output made of
// extism's functions as its kits make them, eight bytes a host call, and does the same work on the
// text between them.
func extismSmall() []byte {
	m := asm.New()
	env := func(name, sig string) asm.FuncIndex {
		return m.ImportFunc("extism:host/env", name, sig)
	}
	length, load, load8 := env("input_length", "-> i64"), env("input_load_u64", "i64 -> i64"),
		env("input_load_u8", "i64 -> i32")
	alloc, store, store8 := env("alloc", "i64 -> i64"), env("store_u64", "i64 i64"),
		env("store_u8", "i64 i32")
	set := env("output_set", "i64 i64")
	m.ExportMemory("memory", m.Memory(guestPages))

	const ptr, size, i, n = 0, 1, 2, 3 // parameters and locals of both
	wide := asm.LocalGet(i) + asm.I64ExtendI32U
	here := asm.LocalGet(ptr) + asm.LocalGet(i) + asm.I32Add
	input := m.Func("i32 i32 -> i32", "i32 i32",
		asm.Call(length), asm.I32WrapI64, asm.LocalSet(n),
		eachWord(i, n, here+wide+asm.Call(load)+asm.I64Store(0),
			here+wide+asm.Call(load8)+asm.I32Store8(0)),
		asm.LocalGet(n))

	const block = 4 // where extism keeps the reply, an i64
	there := asm.LocalGet(block) + wide + asm.I64Add
	output := m.Func("i32 i32", "i32 i32 i64",
		asm.LocalGet(size), asm.LocalSet(n),
		asm.LocalGet(n), asm.I64ExtendI32U, asm.Call(alloc), asm.LocalSet(block),
		eachWord(i, n, there+here+asm.I64Load(0)+asm.Call(store),
			there+here+asm.I32Load8U(0)+asm.Call(store8)),
		asm.LocalGet(block), asm.LocalGet(n), asm.I64ExtendI32U, asm.Call(set))

	tool := func(work asm.Instr) asm.FuncIndex {
		return m.Func("-> i32", "i32 i32 i32 i32",
			asm.I32Const(requestAt), asm.I32Const(requestRoom), asm.Call(input), asm.LocalSet(size),
			work,
			asm.I32Const(requestAt), asm.LocalGet(size), asm.Call(output), asm.I32Const(0))
	}
	m.Export("echo", tool(""))
	m.Export("upper", tool(upperText(size, i, n)))
	return m.Bytes()
}

// upperText turns the letters of {"text":"…"} at requestAt, of so many bytes, into capitals.
func upperText(size, next, char uint32) asm.Instr {
	const before, behind = 9, 2 // bytes around the text
	return asm.I32Const(requestAt+before) + asm.LocalSet(next) + asm.Block(asm.Loop(
		asm.LocalGet(next), asm.LocalGet(size), asm.I32Const(requestAt-behind), asm.I32Add, asm.I32GeU,
		asm.BrIf(1),
		asm.LocalGet(next), asm.I32Load8U(0), asm.I32Const('a'), asm.I32Sub, asm.LocalTee(char),
		asm.I32Const(26), asm.I32LtU,
		asm.If(asm.LocalGet(next), asm.LocalGet(char), asm.I32Const('A'), asm.I32Add, asm.I32Store8(0)),
		asm.LocalGet(next), asm.I32Const(1), asm.I32Add, asm.LocalSet(next), asm.Br(0)))
}

// eachWord does word for i = 0, 8, … and one for each of the last bytes before n.
func eachWord(i, n uint32, word, one asm.Instr) asm.Instr {
	loop := func(step int32, body asm.Instr) asm.Instr {
		return asm.Block(asm.Loop(
			asm.LocalGet(i), asm.I32Const(step), asm.I32Add, asm.LocalGet(n), asm.I32GtU, asm.BrIf(1),
			body,
			asm.LocalGet(i), asm.I32Const(step), asm.I32Add, asm.LocalSet(i), asm.Br(0)))
	}
	return loop(8, word) + loop(1, one)
}
