package asm_test

import (
	"context"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wasmagent/wasmagent/host/hosttest/asm"
)

// everything uses each part of the assembler once and is run: an engine that accepts and executes
// it is the judge of the coding.
func everything() *asm.Module {
	m := asm.New()
	host := m.ImportFunc("env", "double", "i32 -> i32")
	mem := m.Memory(1, 3)
	table := m.Table("funcref", 2, 4)
	counter := m.Global("i32", true, asm.I32Const(-70))
	limit := m.Global("i64", false, asm.I64Const(-1<<40))
	m.Data(8, "\x07\x00\x00\x00")
	m.PassiveData("\x09")

	seven := m.Func("-> i32", "", asm.I32Const(8), asm.I32Load(0))
	m.Elem(1, seven)
	m.PassiveElem(seven)
	m.Start(m.Func("", "", asm.GlobalGet(counter), asm.I32Const(170), asm.I32Add,
		asm.GlobalSet(counter)))

	// Sums 1 … n with a loop, then adds double(7) through the table and the counter.
	sum := m.Func("i32 -> i32", "i32 i32",
		asm.Block(asm.Loop(
			asm.LocalGet(0), asm.I32Eqz, asm.BrIf(1),
			asm.LocalGet(0), asm.LocalGet(1), asm.I32Add, asm.LocalSet(1),
			asm.LocalGet(0), asm.I32Const(1), asm.I32Sub, asm.LocalSet(0),
			asm.Br(0))),
		asm.I32Const(1), asm.CallIndirect(m.Type("-> i32"), 0), asm.Call(host),
		asm.LocalGet(1), asm.I32Add,
		asm.GlobalGet(counter), asm.I32Add)
	// Gives 10, 20 or 30 by its argument, which a table of branches takes apart.
	pick := m.Func("i32 -> i32", "",
		asm.Block(asm.Block(asm.LocalGet(0), asm.BrTable(0, 1, 1)), asm.I32Const(10), asm.Return),
		asm.LocalGet(0), asm.I32Const(1), asm.I32Eq,
		asm.IfElse(asm.I32Const(20)+asm.Return, asm.I32Const(30)+asm.Return),
		asm.Unreachable)
	// Grows by a page, fills, copies, initialises; gives the byte that all of it left.
	bulk := m.Func("-> i32", "",
		asm.I32Const(1), asm.MemoryGrow, asm.Drop,
		asm.I32Const(65536), asm.I32Const(5), asm.I32Const(16), asm.MemoryFill,
		asm.I32Const(70000), asm.I32Const(65536), asm.I32Const(16), asm.MemoryCopy,
		asm.I32Const(65536), asm.I32Const(0), asm.I32Const(1), asm.MemoryInit(1), asm.DataDrop(1),
		asm.I32Const(70000), asm.I32Load8U(0), asm.I32Const(65536), asm.I32Load8U(0), asm.I32Mul)

	m.Export("sum", sum)
	m.Export("pick", pick)
	m.Export("bulk", bulk)
	m.ExportMemory("memory", mem)
	m.ExportTable("table", table)
	m.ExportGlobal("limit", limit)
	m.Name("everything")
	m.NameFunc(sum, "sum_up")
	m.Custom("notes", "hello")
	return m
}

func TestEngineRunsWhatWasAssembled(t *testing.T) {
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer rt.Close(ctx)
	_, err := rt.NewHostModuleBuilder("env").NewFunctionBuilder().
		WithFunc(func(v uint32) uint32 { return 2 * v }).Export("double").Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := rt.CompileModule(ctx, everything().Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if compiled.Name() != "everything" {
		t.Errorf("module name %q", compiled.Name())
	}
	if name := compiled.ExportedFunctions()["sum"].DebugName(); name != "everything.sum_up" {
		t.Errorf("function name %q", name)
	}
	mod, err := rt.InstantiateModule(ctx, compiled, wazero.NewModuleConfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		export string
		args   []uint64
		want   uint32
	}{
		{"sum", []uint64{10}, 55 + 14 + 100},
		{"pick", []uint64{0}, 10},
		{"pick", []uint64{1}, 20},
		{"pick", []uint64{9}, 30},
		{"bulk", nil, 45},
	} {
		got, err := mod.ExportedFunction(c.export).Call(ctx, c.args...)
		if err != nil {
			t.Errorf("%s%v: %v", c.export, c.args, err)
		} else if api.DecodeU32(got[0]) != c.want {
			t.Errorf("%s%v = %d, want %d", c.export, c.args, got[0], c.want)
		}
	}
	if got := int64(mod.ExportedGlobal("limit").Get()); got != -1<<40 {
		t.Errorf("limit = %d", got)
	}
}

func TestEscapeHatches(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(*asm.Module)
		want string
	}{
		{"empty", func(*asm.Module) {}, ""},
		{"count", func(m *asm.Module) { m.Count(asm.SectionType, 1<<32-1) },
			"\x01\x05\xff\xff\xff\xff\x0f"},
		{"section", func(m *asm.Module) { m.Section(asm.SectionStart, "abc") }, "\x08\x03abc"},
		{"tail", func(m *asm.Module) { m.Tail("\xff") }, "\xff"},
		{"shared memory", func(m *asm.Module) { m.MemoryFlags(3, 1, 2) }, "\x05\x04\x01\x03\x01\x02"},
	} {
		m := asm.New()
		c.make(m)
		if got := string(m.Bytes()); got != "\x00asm\x01\x00\x00\x00"+c.want {
			t.Errorf("%s: % x", c.name, got)
		}
	}
}

func TestImportAfterDefinitionPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	m := asm.New()
	m.Func("", "")
	m.ImportFunc("env", "late", "")
}
