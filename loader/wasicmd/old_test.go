package wasicmd_test

import (
	"testing"

	"github.com/wasmagent/wasmagent/host/hosttest/asm"
	"github.com/wasmagent/wasmagent/loader"
)

// A command that was made for the predecessor of today's WASI runs, too.
func TestUnstable(t *testing.T) {
	wasm := small("wasi_unstable", func(m *asm.Module, write, _ asm.FuncIndex) asm.Instr {
		return print(m, write, "old")
	})
	s := open(t, "tool", wasm, loader.Decision{})
	s.want("tool", `{}`, `"old"`)
}

// What came later is not there.
func TestUnstableLacks(t *testing.T) {
	m := asm.New()
	m.ImportFunc("wasi_unstable", "sock_accept", "i32 i32 i32 -> i32")
	m.ExportMemory("memory", m.Memory(1))
	m.Export("_start", m.Func("", ""))
	s := tryOpen(t, "tool", m.Bytes(), loader.Decision{})
	if s.plugin.Err == nil {
		t.Error("a function that was not there then is linked")
	}
}
