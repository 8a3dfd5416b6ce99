package rewrite

import (
	"fmt"
	"strings"
	"testing"
)

func TestFacts(t *testing.T) {
	f, err := Check(rich(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintln(f.Imports, f.Exports, f.Functions, f.Tables, *f.Memory, f.Globals, f.Start,
		f.Features.Names(), f.Blockers(), f.Custom[0].Name, string(f.Custom[0].Data))
	want := "[{env f func (i32) -> i32} {env g global () -> ()}] " +
		"[{f func 2 (i32) -> i32} {memory memory 0 () -> ()}] 3 " +
		"[{1 4 true false false false}] {1 2 true false false false} " +
		"[{i32 false true} {i32 true false}] 1 [exceptions] [] other anything\n"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if f.Maxima.LoopNesting != 1 || f.Maxima.Locals != 2 || f.Maxima.Params != 1 {
		t.Errorf("maxima %+v", f.Maxima)
	}
}

func TestBlockers(t *testing.T) {
	i32 := []byte{opI32Const, 0}
	three := cat(i32, i32, i32)
	tests := []struct {
		name string
		wasm []byte
		want string
	}{
		{"nothing", one(), ""},
		{"memory.init", one(append(three, opMisc, miscMemoryInit, 0, 0)...), ""},
		{"table.get", one(opI32Const, 0, 0x25, 0, 0x1a), ""},
		{"table.set", one(opI32Const, 0, opRefNull, 0x70, opTableSet, 0), "changes tables"},
		{"table.init", one(append(three, opMisc, miscTableInit, 0, 0)...), "changes tables"},
		{"table.copy", one(append(three, opMisc, miscTableCopy, 0, 0)...), "changes tables"},
		{"table.grow", one(opRefNull, 0x70, opI32Const, 0, opMisc, miscTableGrow, 0, 0x1a),
			"changes tables"},
		{"table.fill", one(opI32Const, 0, opRefNull, 0x70, opI32Const, 0, opMisc, miscTableFill, 0),
			"changes tables"},
		{"elem.drop", one(opMisc, miscElemDrop, 0), "drops element segments"},
		{"data.drop", one(opMisc, miscDataDrop, 0), "drops data segments"},
		{"reference global", module(section(secGlobal, vec(
			[]byte{byte(FuncRef), 1, opRefNull, byte(FuncRef), opEnd}))),
			"has mutable globals of reference or vector type"},
		{"immutable reference global", module(section(secGlobal, vec(
			[]byte{byte(FuncRef), 0, opRefNull, byte(FuncRef), opEnd}))), ""},
		{"computed data", module(section(secMemory, vec([]byte{0, 1})), section(secData, vec(
			[]byte{0, opI32Const, 1, opI32Const, 1, opI32Add, opEnd, 0}))),
			"computes where its data goes"},
		{"imported memory", module(section(secImport, vec(
			cat(str("env"), str("m"), []byte{byte(Memory), 0, 1})))), "imports its memory"},
	}
	for _, test := range tests {
		f, err := Check(test.wasm, nil)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		} else if got := strings.Join(f.Blockers(), ", "); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestFeatures(t *testing.T) {
	tests := []struct {
		want string
		wasm []byte
	}{
		{"[]", one()},
		{"[threads]", one(opAtomic, 3, 0)},
		{"[threads]", module(section(secMemory, vec([]byte{3, 1, 1})))},
		{"[exceptions]", module(section(secType, vec(noValues)), section(secTag, vec([]byte{0, 0})))},
		{"[exceptions]", one(0x0a)},
		{"[typed references]", one(opRefNull, 0, 0x1a)},
		{"[typed references]", one(opCallRef, 0)},
		{"[64-bit memory]", module(section(secMemory, vec([]byte{4, 1})))},
		{"[tail calls]", one(opReturnCall, 0)},
		{"[typed references tail calls]", one(opReturnCallRef, 0)},
		{"[extended constants]", module(section(secGlobal, vec(
			[]byte{byte(I32), 0, opI32Const, 1, opI32Const, 1, opI32Mul, opEnd})))},
	}
	for _, test := range tests {
		f, err := Check(test.wasm, nil)
		if err != nil {
			t.Errorf("%s: %v", test.want, err)
		} else if got := fmt.Sprint(f.Features.Names()); got != test.want {
			t.Errorf("%s, want %s", got, test.want)
		}
	}
}
