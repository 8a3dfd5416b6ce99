package rewrite

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/wasmagent/wasmagent/host/hosttest/asm"
)

// rewritten checks and rewrites a module, and reads the result back.
func rewritten(t *testing.T, wasm []byte, opts *Options) (plan Plan, before, after *Facts) {
	t.Helper()
	before, err := Check(wasm, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, plan, err := Rewrite(wasm, before, opts)
	if err != nil {
		t.Fatal(err)
	}
	c := newChecker(out, nil)
	c.trusted = true
	if after, err = c.check(); err != nil {
		t.Fatalf("the result is refused: %v", err)
	}
	return plan, before, after
}

func exportNames(f *Facts) string {
	var names []string
	for _, e := range f.Exports {
		names = append(names, fmt.Sprintf("%s=%d", e.Name, e.Index))
	}
	return strings.Join(names, " ")
}

func TestNothingToRewrite(t *testing.T) {
	plan, _, after := rewritten(t, module(), &Options{Unmetered: true})
	if after.Size != len(module()) || len(plan.Data)+len(plan.Globals) > 0 || plan.Start != "" {
		t.Errorf("%+v, %d bytes", plan, after.Size)
	}
	_, _, after = rewritten(t, module(), nil)
	if got, want := exportNames(after), FuelName+"=0"; got != want {
		t.Errorf("exports %q, want %q", got, want)
	}
	want := "[{wasmagent_internal tick func () -> ()}]"
	if got := fmt.Sprint(after.Imports); got != want {
		t.Errorf("imports %s, want %s", got, want)
	}
}

// Everything that names a function names the same one after tick was put before it.
func TestNewIndices(t *testing.T) {
	m := asm.New()
	one := m.ImportFunc("env", "one", "-> i32")
	m.ImportGlobal("env", "g", "i32", false)
	m.Table("funcref", 4)
	typ := m.Type("-> i32")
	constant := func(v int32) asm.FuncIndex { return m.Func("-> i32", "", asm.I32Const(v)) }
	two, three := constant(2), constant(3)
	held := m.Global("funcref", false, asm.RefFunc(three))
	m.Elem(0, one, two)
	m.Elem(2, three)
	m.ExportMemory("memory", m.Memory(1))
	add, times10 := asm.Op(opI32Add), asm.Seq(asm.I32Const(10), asm.Op(opI32Mul))
	m.Export("calls", m.Func("-> i32", "", asm.Call(one), times10, asm.Call(two), add, times10,
		asm.Call(three), add))
	m.Export("tail", m.Func("-> i32", "", asm.ReturnCall(two)))
	m.Export("indirect", m.Func("i32 -> i32", "", asm.LocalGet(0), asm.CallIndirect(typ, 0)))
	m.Export("held", m.Func("-> i32", "",
		asm.I32Const(3), asm.GlobalGet(held), asm.TableSet(0), asm.I32Const(3), asm.CallIndirect(typ, 0)))
	m.Export("reference", m.Func("-> i32", "",
		asm.I32Const(3), asm.RefFunc(two), asm.TableSet(0), asm.I32Const(3), asm.CallIndirect(typ, 0)))
	m.Export("again", one)
	m.Start(m.Func("", "", asm.I32Const(0), asm.I32Const(77), asm.I32Store(0)))

	want := map[string]uint64{"calls": 123, "tail": 2, "indirect 0": 1, "indirect 1": 2,
		"indirect 2": 3, "held": 3, "reference": 2, "again": 1}
	for _, engine := range engines {
		h := newMachine(t, engine.config, tickOften)
		env := asm.New()
		env.Export("one", env.Func("-> i32", "", asm.I32Const(1)))
		env.ExportGlobal("g", env.Global("i32", false, asm.I32Const(5)))
		if _, err := h.InstantiateWithConfig(h.ctx, env.Bytes(),
			wazero.NewModuleConfig().WithName("env")); err != nil {
			t.Fatal(err)
		}
		mod, err := h.load(m.Bytes(), nil, wazero.NewModuleConfig().WithName(""))
		if err != nil {
			t.Fatal(err)
		}
		for call, result := range want {
			name, arg, _ := strings.Cut(call, " ")
			var args []uint64
			if arg != "" {
				args = []uint64{uint64(arg[0] - '0')}
			}
			got, err := mod.ExportedFunction(name).Call(h.ctx, args...)
			if err != nil || got[0] != result {
				t.Errorf("%s, %s: %v, %v, want %d", engine.name, call, got, err, result)
			}
		}
		if v, _ := mod.Memory().ReadUint32Le(0); v != 77 {
			t.Errorf("%s: the start function wrote %d", engine.name, v)
		}
	}
}

func TestGlobalsGetNames(t *testing.T) {
	wasm := module(
		section(secImport, vec(cat(str("env"), str("g"), []byte{byte(Global), byte(I32), 1}))),
		section(secGlobal, vec(
			[]byte{byte(I32), 0, opI32Const, 1, opEnd},
			[]byte{byte(I32), 1, opI32Const, 2, opEnd},
			[]byte{byte(FuncRef), 1, opRefNull, byte(FuncRef), opEnd},
			cat([]byte{byte(F64), 1, 0x44}, make([]byte, 8), []byte{opEnd}),
			cat([]byte{byte(V128), 1, opVector, vectorConst}, make([]byte, 16), []byte{opEnd}))),
		section(secExport, vec(cat(str("mine"), []byte{byte(Global), 2}))))
	plan, _, after := rewritten(t, wasm, nil)
	want := "[{wasmagent_internal_g2 2 i32} {wasmagent_internal_g4 4 f64}]"
	if got := fmt.Sprint(plan.Globals); got != want {
		t.Errorf("globals %s, want %s", got, want)
	}
	want = "mine=2 wasmagent_internal_g2=2 wasmagent_internal_g4=4 wasmagent_internal_fuel=6"
	if got := exportNames(after); got != want {
		t.Errorf("exports %s, want %s", got, want)
	}
}

func TestMaxima(t *testing.T) {
	tests := []struct {
		name             string
		memory           []byte
		planMin, planMax uint64
		min, max         uint64
	}{
		{"unbounded", []byte{0, 1}, 1, 65_536, 1, 65_535},
		{"bounded", []byte{1, 1, 2}, 1, 2, 1, 65_535},
		{"all", cat([]byte{0}, uleb(65_536)), 65_536, 65_536, 65_536, 65_536},
		{"shared", []byte{3, 1, 2}, 0, 0, 1, 2},
		{"64 bit", []byte{5, 1, 2}, 0, 0, 1, 2},
	}
	for _, test := range tests {
		plan, _, after := rewritten(t, module(section(secMemory, vec(test.memory))), nil)
		if plan.MemoryMin != test.planMin || plan.MemoryMax != test.planMax {
			t.Errorf("%s: plan %d to %d", test.name, plan.MemoryMin, plan.MemoryMax)
		}
		if m := after.Memory; m.Min != test.min || m.Max != test.max || !m.Bounded {
			t.Errorf("%s: %+v", test.name, *m)
		}
	}
	_, _, after := rewritten(t, module(section(secTable, vec(
		[]byte{byte(FuncRef), 0, 1}, []byte{byte(ExternRef), 1, 2, 3},
		cat([]byte{byte(FuncRef), 1, 4}, uleb(1<<32-1)),
		[]byte{tableWithValue, 0, byte(FuncRef), 0, 5, opRefNull, byte(FuncRef), opEnd}))), nil)
	want := "[{1 16384 true false false false} {2 3 true false false false} " +
		"{4 16384 true false false false} {5 16384 true false false false}]"
	if got := fmt.Sprint(after.Tables); got != want {
		t.Errorf("tables %s, want %s", got, want)
	}
}

// Active data moves into the plan. Where code names segments, an active one behaves as it does
// after instantiating: as if dropped.
func TestData(t *testing.T) {
	m := asm.New()
	m.ExportMemory("memory", m.Memory(1))
	m.Data(16, "active")
	m.PassiveData("passive")
	m.Data(18, "XY")
	initialise := func(segment uint32) asm.FuncIndex { // (offset in the segment, length)
		return m.Func("i32 i32", "", asm.I32Const(0), asm.LocalGet(0), asm.LocalGet(1),
			asm.MemoryInit(segment))
	}
	m.Export("active", initialise(0))
	m.Export("passive", initialise(1))
	plan, before, after := rewritten(t, m.Bytes(), nil)
	want := []Data{{16, []byte("active")}, {18, []byte("XY")}}
	if !reflect.DeepEqual(plan.Data, want) {
		t.Errorf("data %v, want %v", plan.Data, want)
	}
	left := after.data
	if len(left) != 3 || !left[0].passive || !left[0].empty() || left[1].empty() {
		t.Errorf("segments %+v of %+v", after.data, before.data)
	}
	for _, engine := range engines {
		h := newMachine(t, engine.config, tickOften)
		mod, err := h.load(m.Bytes(), nil, wazero.NewModuleConfig().WithName(""))
		if err != nil {
			t.Fatal(err)
		}
		if b, _ := mod.Memory().Read(16, 6); string(b) != "acXYve" {
			t.Errorf("%s: memory %q", engine.name, b)
		}
		if _, err := mod.ExportedFunction("passive").Call(h.ctx, 1, 4); err != nil {
			t.Errorf("%s: %v", engine.name, err)
		}
		if b, _ := mod.Memory().Read(0, 4); string(b) != "assi" {
			t.Errorf("%s: memory %q", engine.name, b)
		}
		if _, err := mod.ExportedFunction("active").Call(h.ctx, 0, 0); err != nil {
			t.Errorf("%s: nothing of a dropped segment: %v", engine.name, err)
		}
		if _, err := mod.ExportedFunction("active").Call(h.ctx, 0, 1); err == nil {
			t.Errorf("%s: a byte of a dropped segment: no trap", engine.name)
		}
	}
}

func TestDataThatNobodyNames(t *testing.T) {
	m := asm.New()
	m.Memory(1)
	m.Data(-8, "at 4 GiB")
	m.PassiveData("unused")
	plan, _, after := rewritten(t, m.Bytes(), nil)
	if len(after.data) != 0 || after.sections[secDataCount] != (span{}) {
		t.Errorf("segments %+v are left", after.data)
	}
	if len(plan.Data) != 1 || plan.Data[0].Offset != 1<<32-8 {
		t.Errorf("data %+v", plan.Data)
	}
}

func TestComputedDataStays(t *testing.T) {
	wasm := module(section(secMemory, vec([]byte{0, 1})), section(secData, vec(
		cat([]byte{0, opI32Const, 8, opEnd}, str("plain")),
		cat([]byte{0, opI32Const, 1, opI32Const, 1, opI32Add, opEnd}, str("computed")))))
	plan, _, after := rewritten(t, wasm, nil)
	if len(plan.Data) != 0 || len(after.data) != 2 {
		t.Errorf("plan %+v, left %+v", plan.Data, after.data)
	}
}

// Traps and stack traces show names, so they must be those of the functions that they were of.
func TestNameSection(t *testing.T) {
	names := func(pairs ...any) []byte { // index, name, ...
		var items [][]byte
		for i := 0; i < len(pairs); i += 2 {
			items = append(items, cat(uleb(uint64(pairs[i].(int))), str(pairs[i+1].(string))))
		}
		return vec(items...)
	}
	wasm := module(
		section(secType, vec(noValues)),
		section(secImport, vec(cat(str("env"), str("f"), []byte{byte(Func), 0}))),
		section(secFunction, vec(zeroIndex, zeroIndex)),
		section(secMemory, vec([]byte{0, 1})),
		section(secCode, vec(
			fn(opCall, 2),
			// Labels: 0 loop, 1 block, 2 loop, 3 block. The function's check stands before all.
			sized([]byte{1, 1, byte(I64)}, []byte{opI32Const, 0, opIf, 0x40, opEnd,
				opLoop, 0x40, opBlock, 0x40, opEnd, opLoop, 0x40, opBlock, 0x40, opEnd, opEnd, opEnd, opEnd}))),
		section(secData, vec(cat([]byte{0, opI32Const, 0, opEnd}, str("x")))),
		custom("name", cat(
			[]byte{namesModule}, sized(str("mod")),
			[]byte{namesFunctions}, sized(names(0, "imported", 1, "first", 2, "second")),
			[]byte{namesLocals}, sized(vec(cat([]byte{2}, names(0, "local")))),
			[]byte{namesLabels}, sized(vec(cat([]byte{2},
				names(0, "if", 1, "outer", 2, "block", 3, "inner", 4, "last")))),
			[]byte{namesData}, sized(names(0, "segment")),
			[]byte{7}, sized(names(0, "global")))))
	_, before, _ := rewritten(t, wasm, nil)
	out, _, err := Rewrite(wasm, before, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(out), "\x04name")
	want := string(cat(
		[]byte{namesModule}, sized(str("mod")),
		[]byte{namesFunctions}, sized(names(0, "imported", 2, "first", 3, "second")),
		[]byte{namesLocals}, sized(vec(cat([]byte{3}, names(0, "local")))),
		// One more block before each label for the function's check, and one after each loop.
		[]byte{namesLabels}, sized(vec(cat([]byte{3},
			names(1, "if", 2, "outer", 4, "block", 5, "inner", 7, "last")))),
		[]byte{7}, sized(names(0, "global"))))
	if section != want {
		t.Errorf("got  %q\nwant %q", section, want)
	}
}

func TestTrapsNameFunctions(t *testing.T) {
	m := asm.New()
	m.ImportFunc("env", "f", "")
	f := m.Func("", "", asm.Unreachable)
	m.NameFunc(f, "falls_over")
	m.Export("run", f)
	m.Custom(".debug_info", "offsets that would be wrong")
	mod, h := loadWithEnv(t, engines[0].config, m.Bytes(), tickOften)
	_, err := mod.ExportedFunction("run").Call(h.ctx)
	if err == nil || !strings.Contains(err.Error(), "falls_over") {
		t.Errorf("the trap does not name its function: %v", err)
	}
}

func TestFactsOfAnotherModule(t *testing.T) {
	facts, err := Check(rich(), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = Rewrite(one(), facts, nil)
	if e := (*Error)(nil); !errors.As(err, &e) {
		t.Errorf("%v, want an *Error", err)
	}
	other := []byte(rich())
	for i := 8; i < len(other); i++ {
		other[i] = 0xff
	}
	if _, _, err = Rewrite(other, facts, nil); err == nil {
		t.Error("bytes of the same length: accepted")
	}
}

// The guest cannot reach the fuel: the index past its globals is refused, and its own exports
// cannot have the name.
func TestFuelIsOutOfReach(t *testing.T) {
	wasm := one(opI64Const, 0, opGlobalSet, 2)
	if _, err := Check(wasm, nil); err == nil {
		t.Error("a module that sets its fuel passes")
	}
	plan, _, after := rewritten(t, one(opI64Const, 0, opGlobalSet, 1), nil)
	if after.Globals[2] != (GlobalType{Type: I64, Mutable: true}) || len(plan.Globals) != 1 {
		t.Errorf("fuel %+v, globals %+v", after.Globals, plan.Globals)
	}
}
