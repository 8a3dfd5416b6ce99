package main

import (
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
)

// other is a plugin of another contract.
func other(build func(m *asm.Module)) func(string) hosttest.Plugin {
	return func(name string) hosttest.Plugin {
		return hosttest.Plugin{Name: name, Change: func(m *asm.Module) {
			fresh := asm.New()
			build(fresh)
			*m = *fresh
		}}
	}
}

// catCommand is a WASI command that prints what it reads. Where that is nothing it says so and exits
// with code 3.
func catCommand(wasi string) func(m *asm.Module) {
	return func(m *asm.Module) {
		read := m.ImportFunc(wasi, "fd_read", "i32 i32 i32 i32 -> i32")
		write := m.ImportFunc(wasi, "fd_write", "i32 i32 i32 i32 -> i32")
		exit := m.ImportFunc(wasi, "proc_exit", "i32")
		m.ExportMemory("memory", m.Memory(1))
		m.Data(32, "no input\n")
		m.Export("_start", m.Func("", "",
			vector(1024, 4096), asm.I32Const(0), asm.I32Const(0), asm.I32Const(1), asm.I32Const(16),
			asm.Call(read), asm.Drop,
			asm.I32Const(16), asm.I32Load(0), asm.I32Eqz,
			asm.If(vector(32, 9), asm.I32Const(2), asm.I32Const(0), asm.I32Const(1), asm.I32Const(16),
				asm.Call(write), asm.Drop, asm.I32Const(3), asm.Call(exit)),
			asm.I32Const(4), asm.I32Const(16), asm.I32Load(0), asm.I32Store(0),
			asm.I32Const(1), asm.I32Const(0), asm.I32Const(1), asm.I32Const(16), asm.Call(write), asm.Drop,
		))
	}
}

// vector puts a range of memory at 0.
func vector(ptr, size int32) asm.Instr {
	return asm.Seq(asm.I32Const(0), asm.I32Const(ptr), asm.I32Store(0),
		asm.I32Const(4), asm.I32Const(size), asm.I32Store(0))
}

// extismEcho is an Extism plugin that gives its input back, and has a function that fails.
func extismEcho(m *asm.Module) {
	at := m.ImportFunc("extism:host/env", "input_offset", "-> i64")
	size := m.ImportFunc("extism:host/env", "input_length", "-> i64")
	set := m.ImportFunc("extism:host/env", "output_set", "i64 i64")
	m.ExportMemory("memory", m.Memory(1))
	m.Export("echo", m.Func("-> i32", "", asm.Call(at), asm.Call(size), asm.Call(set), asm.I32Const(0)))
	m.Export("breakIt", m.Func("-> i32", "", asm.I32Const(7)))
	m.Export("helper", m.Func("i32 -> i32", "", asm.LocalGet(0)))
}

// extismProgram has a start of its own beside the functions.
func extismProgram(m *asm.Module) {
	extismEcho(m)
	m.Export("_start", m.Func("", ""))
}

// socketCommand wants sockets that WASI does not have.
func socketCommand(m *asm.Module) {
	m.ImportFunc("wasi_snapshot_preview1", "sock_open", "i32 i32 i32 -> i32")
	m.ImportFunc("wasi_snapshot_preview1", "sock_connect", "i32 i32 i32 -> i32")
	m.ExportMemory("memory", m.Memory(1))
	m.Export("_start", m.Func("", ""))
}

// reactor is written to a contract that nobody knows.
func reactor(m *asm.Module) {
	m.ExportMemory("memory", m.Memory(1))
	m.Export("format", m.Func("i32 i32 -> i32", "", asm.I32Const(0)))
}
