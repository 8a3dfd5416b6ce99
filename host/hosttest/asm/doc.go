// Package asm assembles WebAssembly modules from Go, for tests: the good ones, and above all the
// hostile ones that no compiler would emit. It checks nothing it does not have to.
//
//	m := asm.New()
//	output := m.ImportFunc("wasmagent_v1", "output", "i32 i32")
//	m.ExportMemory("memory", m.Memory(1))
//	m.Data(16, "\x81\xa2ok\x2a")
//	m.Export("wasmagent_call", m.Func("", "",
//		asm.I32Const(16), asm.I32Const(5), asm.Call(output)))
//	wasm := m.Bytes()
//
// Signatures and lists of locals are words: "i32 i64 -> i32", "i32 i32", "". An [Instr] is the
// coded instruction; blocks take their body as arguments.
//
// What a compiler would never write goes through the escape hatches: [Module.Section] replaces a
// section's bytes, [Module.Count] lies about a vector's length, [Op] is any byte, and indices are
// plain numbers that need not exist. A misuse of the assembler itself panics.
package asm
