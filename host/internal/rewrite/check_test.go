package rewrite

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// rich is a valid module with every section, to be cut and changed.
func rich() []byte {
	return module(
		section(secType, vec(noValues, i32ToI32)),
		section(secImport, vec(
			cat(str("env"), str("f"), []byte{byte(Func), 1}),
			cat(str("env"), str("g"), []byte{byte(Global), byte(I32), 0}))),
		section(secFunction, vec(zeroIndex, []byte{1})),
		section(secTable, vec([]byte{byte(FuncRef), 1, 1, 4})),
		section(secMemory, vec([]byte{1, 1, 2})),
		section(secTag, vec([]byte{0, 0})),
		section(secGlobal, vec([]byte{byte(I32), 1, opGlobalGet, 0, opEnd})),
		section(secExport, vec(
			cat(str("f"), []byte{byte(Func), 2}), cat(str("memory"), []byte{byte(Memory), 0}))),
		section(secStart, []byte{1}),
		section(secElement, vec([]byte{0, opI32Const, 0, opEnd, 1, 2})),
		section(secDataCount, []byte{1}),
		section(secCode, vec(
			fn(opLoop, 0x40, opI32Const, 0, 0x0d, 0, opEnd, opI32Const, 1, opCall, 2, 0x1a),
			sized([]byte{1, 1, byte(I64)}, []byte{opLocalGet, 0, opCall, 0, opEnd}))),
		section(secData, vec(cat([]byte{0, opI32Const, 8, opEnd}, str("hello")))),
		custom("name", cat([]byte{namesFunctions}, sized(vec(cat([]byte{1}, str("start")))))),
		custom("other", []byte("anything")),
	)
}

// A cut module is refused, but for cuts between sections that happen to leave a whole module.
func TestCutAtEveryOffset(t *testing.T) {
	wasm := rich()
	whole := map[int]bool{} // ends of sections
	for pos := 8; pos < len(wasm); {
		whole[pos] = true
		pos += 2 + int(wasm[pos+1]) // every section here is shorter than 128 bytes
	}
	for n := range wasm {
		_, err := Check(wasm[:n], nil)
		if err == nil && !whole[n] {
			t.Errorf("cut to %d bytes: accepted", n)
		}
		if e := (*Error)(nil); err != nil && !errors.As(err, &e) {
			t.Errorf("cut to %d bytes: %v is no *Error", n, err)
		}
	}
}

// Changing any byte to anything must not panic, and what passes must be safe to rewrite.
func TestEveryByteChanged(t *testing.T) {
	wasm := rich()
	for i := range wasm {
		for _, change := range []byte{0x00, 0x01, 0x7f, 0x80, 0xff, wasm[i] + 1, wasm[i] - 1} {
			changed := slices.Clone(wasm)
			changed[i] = change
			Check(changed, nil)
		}
	}
}

func TestRandomBytes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 2_000 {
		b := make([]byte, rnd.IntN(200))
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
		if _, err := Check(b, nil); err == nil {
			t.Errorf("% x: accepted", b)
		}
		Check(append([]byte(magic+version), b...), nil)
	}
}

// refused is a module that must be refused with a text that contains want.
type refused struct {
	name string
	wasm []byte
	want string
}

func checkRefused(t *testing.T, tests []refused) {
	t.Helper()
	for _, test := range tests {
		_, err := Check(test.wasm, nil)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

func TestHeader(t *testing.T) {
	checkRefused(t, []refused{
		{"empty", nil, "header, offset 0: not a WebAssembly module"},
		{"text", []byte("(module)"), "not a WebAssembly module"},
		{"version 2", []byte("\x00asm\x02\x00\x00\x00"), "version 02 00 00 00"},
		{"component", []byte("\x00asm\x0d\x00\x01\x00"), "a WebAssembly component"},
		{"unknown section", module(section(14)), "section 14"},
		{"order", module(section(secMemory, vec()), section(secType, vec())), "wrong place"},
		{"twice", module(section(secType, vec()), section(secType, vec())), "twice"},
		{"section too long", append(module(), 1, 5, 0), "5 bytes are declared, 1 are left"},
		{"section too short", module(section(secType, []byte{0, 0})), "1 bytes too many"},
	})
}

func TestIndexOnePastTheEnd(t *testing.T) {
	i32 := []byte{opI32Const, 0}
	three := cat(i32, i32, i32)
	var tests []refused
	code := func(name, want string, code ...byte) {
		tests = append(tests, refused{name, one(code...), "code section, function 0"})
		tests = append(tests, refused{name, one(code...), want})
	}
	code("call", "function 1 of 1", opCall, 1)
	code("return_call", "function 1 of 1", opReturnCall, 1)
	code("ref.func", "function 1 of 1", opRefFunc, 1)
	code("call_indirect, type", "type 1 of 1", opCallIndirect, 1, 0)
	code("call_indirect, table", "table 1 of 1", opCallIndirect, 0, 1)
	code("return_call_indirect", "type 1 of 1", opReturnIndirect, 1, 0)
	code("call_ref", "type 1 of 1", opCallRef, 1)
	code("return_call_ref", "type 1 of 1", opReturnCallRef, 1)
	code("block type", "type 1 of 1", opBlock, 1, opEnd)
	code("loop type", "type 1 of 1", opLoop, 1, opEnd)
	code("if type", "type 1 of 1", opIf, 1, opEnd)
	code("typed block", "type 1 of 1", opBlock, byte(refNull), 1, opEnd)
	code("ref.null", "type 1 of 1", opRefNull, 1)
	code("select", "type 1 of 1", 0x1c, 1, byte(ref), 1)
	code("br", "label 1 of 1", 0x0c, 1)
	code("br_if", "label 2 of 2", opBlock, 0x40, 0x0d, 2, opEnd)
	code("br_table", "label 1 of 1", 0x0e, 1, 1, 0)
	code("br_table, default", "label 1 of 1", 0x0e, 1, 0, 1)
	code("catch, tag", "tag 0 of 0", opTryTable, 0x40, 1, 0, 0, 0, opEnd)
	code("catch_all, label", "label 1 of 1", opTryTable, 0x40, 1, 2, 1, opEnd)
	code("throw", "tag 0 of 0", opThrow, 0)
	code("local.get", "local 0 of 0", opLocalGet, 0)
	code("local.set", "local 0 of 0", opLocalSet, 0)
	code("local.tee", "local 0 of 0", opLocalTee, 0)
	code("global.get", "global 2 of 2", opGlobalGet, 2)
	code("global.set", "global 2 of 2", opGlobalSet, 2)
	code("table.get", "table 1 of 1", 0x25, 1)
	code("table.set", "table 1 of 1", opTableSet, 1)
	code("table.size", "table 1 of 1", opMisc, miscTableSize, 1)
	code("table.grow", "table 1 of 1", opMisc, miscTableGrow, 1)
	code("table.fill", "table 1 of 1", opMisc, miscTableFill, 1)
	code("table.copy", "table 1 of 1", opMisc, miscTableCopy, 0, 1)
	code("table.copy, from", "table 1 of 1", opMisc, miscTableCopy, 1, 0)
	code("table.init", "element segment 1 of 1", append(three, opMisc, miscTableInit, 1, 0)...)
	code("table.init, table", "table 1 of 1", append(three, opMisc, miscTableInit, 0, 1)...)
	code("elem.drop", "element segment 1 of 1", opMisc, miscElemDrop, 1)
	code("data.drop", "data segment 1 of 1", opMisc, miscDataDrop, 1)
	code("memory.init", "data segment 1 of 1", append(three, opMisc, miscMemoryInit, 1, 0)...)
	code("memory.size", "reserved byte", 0x3f, 1)
	code("memory.grow", "reserved byte", opMemoryGrow, 1)
	code("memory.fill", "reserved byte", opMisc, miscMemoryFill, 1)
	code("memory.copy", "reserved byte", opMisc, miscMemoryCopy, 0, 1)
	code("another memory", "alignment 2^64", opI32Const, 0, 0x28, 0x40, 0, 0x1a)
	checkRefused(t, tests)

	memory, table := section(secMemory, vec([]byte{0, 1})), section(secTable, vec([]byte{0x70, 0, 1}))
	types := section(secType, vec(noValues))
	checkRefused(t, []refused{
		{"parameter", module(section(secType, vec([]byte{functionForm, 1, byte(ref), 0, 0}))),
			"type 0 of 0"},
		{"function", module(types, section(secFunction, vec([]byte{1}))), "type 1 of 1"},
		{"imported function", module(types, section(secImport,
			vec(cat(str("m"), str("n"), []byte{byte(Func), 1})))), "type 1 of 1"},
		{"imported tag", module(types, section(secImport,
			vec(cat(str("m"), str("n"), []byte{byte(Tag), 0, 1})))), "type 1 of 1"},
		{"tag", module(types, section(secTag, vec([]byte{0, 1}))), "type 1 of 1"},
		{"table", module(types, section(secTable, vec([]byte{byte(refNull), 1, 0, 1}))), "type 1 of 1"},
		{"exported function", module(section(secExport, vec(cat(str("f"), []byte{byte(Func), 0})))),
			"function 0 of 0"},
		{"exported table", module(section(secExport, vec(cat(str("f"), []byte{byte(Table), 0})))),
			"table 0 of 0"},
		{"exported memory", module(section(secExport, vec(cat(str("f"), []byte{byte(Memory), 0})))),
			"memory 0 of 0"},
		{"exported global", module(section(secExport, vec(cat(str("f"), []byte{byte(Global), 0})))),
			"global 0 of 0"},
		{"exported tag", module(section(secExport, vec(cat(str("f"), []byte{byte(Tag), 0})))),
			"tag 0 of 0"},
		{"start", module(section(secStart, zeroIndex)), "function 0 of 0"},
		{"global sees itself", module(section(secGlobal,
			vec([]byte{byte(I32), 0, opGlobalGet, 0, opEnd}))), "global 0 of 0"},
		{"global, function", module(section(secGlobal,
			vec([]byte{0x70, 0, opRefFunc, 0, opEnd}))), "function 0 of 0"},
		{"element", module(table, section(secElement, vec([]byte{0, opI32Const, 0, opEnd, 1, 0}))),
			"function 0 of 0"},
		{"element, table", module(section(secElement, vec([]byte{0, opI32Const, 0, opEnd, 0}))),
			"table 0 of 0"},
		{"element, named table", module(table,
			section(secElement, vec([]byte{2, 1, opI32Const, 0, opEnd, 0, 0}))), "table 1 of 1"},
		{"element, expression", module(section(secElement,
			vec([]byte{5, 0x70, 1, opRefFunc, 0, opEnd}))), "function 0 of 0"},
		{"element, offset", module(table,
			section(secElement, vec([]byte{0, opGlobalGet, 0, opEnd, 0}))), "global 0 of 0"},
		{"data, memory", module(section(secData, vec([]byte{0, opI32Const, 0, opEnd, 0}))),
			"memory 0 of 0"},
		{"data, named memory", module(memory,
			section(secData, vec([]byte{2, 1, opI32Const, 0, opEnd, 0}))), "memory 1 of 1"},
		{"data, offset", module(memory, section(secData, vec([]byte{0, opGlobalGet, 0, opEnd, 0}))),
			"global 0 of 0"},
		{"load without memory", module(types, section(secFunction, vec(zeroIndex)),
			section(secCode, vec(fn(opI32Const, 0, 0x28, 0, 0, 0x1a)))), "memory 0 of 0"},
	})
}

func TestCountsOf32Bits(t *testing.T) {
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0x0f}
	types, functions := section(secType, vec(noValues)), section(secFunction, vec(zeroIndex))
	tests := []refused{
		{"parameters", module(section(secType, []byte{1, functionForm}, huge)), "4294967295 parameters"},
		{"results", module(section(secType, []byte{1, functionForm, 0}, huge)), "4294967295 results"},
		{"types in a group", module(section(secType, []byte{1, groupOfTypes}, huge)),
			"types are declared"},
		{"locals", module(types, functions, section(secCode, vec(fnLocals(1<<32-1)))),
			"4294967295 locals"},
		{"declarations of locals", module(types, functions, section(secCode, vec(sized(huge)))),
			"declarations of locals"},
		{"branch targets", oneBody(sized([]byte{0, 0x0e}, huge)), "branch targets"},
		{"catch clauses", oneBody(sized([]byte{0, opTryTable, 0x40}, huge)), "catch clauses"},
		{"body", module(types, functions, section(secCode, []byte{1}, huge)),
			"a body of 4294967295 bytes"},
		{"elements", module(section(secElement, []byte{1, 1, 0}, huge)), "4294967295 elements"},
		{"data", module(section(secData, []byte{1, 1}, huge)), "are declared, 0 are left"},
		{"import name", module(section(secImport, []byte{1}, huge, []byte{0, 0, 0})), "are left"},
		{"custom name", module(section(secCustom, huge)), "are left"},
		{"names", module(custom("name", cat([]byte{namesFunctions}, sized(huge)))), "4294967295 names"},
		{"functions with names", module(custom("name", cat([]byte{namesLocals}, sized(huge)))),
			"4294967295 functions with names"},
		{"local names", module(custom("name", cat([]byte{namesLocals}, sized([]byte{1, 0}, huge)))),
			"4294967295 names"},
		{"data count", module(section(secDataCount, huge)), "where 4294967295 are declared"},
		{"section", append(module(), append([]byte{1}, huge...)...), "are declared, 0 are left"},
		{"table", module(section(secTable, vec(cat([]byte{0x70, 0}, huge)))), "4294967295 elements"},
		{"memory", module(section(secMemory, vec(cat([]byte{0}, huge)))), "4294967295 pages"},
	}
	for id := byte(secType); id < numSections; id++ {
		if id != secStart && id != secDataCount {
			tests = append(tests, refused{sectionNames[id], module(section(id, huge)), "are declared"})
		}
	}
	checkRefused(t, tests)
}

func TestReservedNames(t *testing.T) {
	imp := func(name string) []byte {
		return module(section(secImport, vec(
			cat(str(name), str("tick"), []byte{byte(Global), byte(I32), 0}))))
	}
	exp := func(name string) []byte {
		return module(section(secMemory, vec([]byte{0, 1})),
			section(secExport, vec(cat(str(name), []byte{byte(Memory), 0}))))
	}
	checkRefused(t, []refused{
		{"import", imp(Reserved), "belong to the host"},
		{"longer import", imp(Reserved + "_2"), "belong to the host"},
		{"export", exp(Reserved), "belong to the host"},
		{"export of a global", exp(Reserved + "_g0"), "belong to the host"},
	})
	for _, name := range []string{"env", "wasmagent_v1", "wasmagent_interna"} {
		for _, wasm := range [][]byte{imp(name), exp(name)} {
			if _, err := Check(wasm, nil); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestStructureOfBodies(t *testing.T) {
	checkRefused(t, []refused{
		{"no end", oneBody(sized([]byte{0, opNop})), "a body without its end"},
		{"no code", oneBody(sized([]byte{0})), "without its end"},
		{"open block", oneBody(sized([]byte{0, opBlock, 0x40, opEnd})), "without its end"},
		{"code after the end", one(opEnd), "after the end"},
		{"else outside", one(opElse), "else outside an if"},
		{"second else", one(opI32Const, 0, opIf, 0x40, opElse, opElse, opEnd), "else outside an if"},
		{"unknown", one(0xff), "unknown instruction 0xff"},
		{"old exceptions", one(0x06, 0x40, opEnd), "unknown instruction 0x06"},
		{"unknown 0xfc", one(opMisc, 18), "unknown instruction 0xfc 0x12"},
		{"unknown atomic", one(opAtomic, 0x4f), "unknown atomic instruction"},
		{"relaxed vector", one(opVector, 0x80, 0x02), "unknown vector instruction"},
		{"long vector", one(opVector, 0x8c, 0x00), "unknown vector instruction"},
		{"cut constant", oneBody(sized([]byte{0, 0x44, 0, 0, opEnd})), "are left"},
		{"number of 33 bits", one(opI32Const, 0xff, 0xff, 0xff, 0xff, 0x1f, 0x1a), "more than 32 bits"},
		{"number of 6 bytes", one(opI32Const, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 0x1a),
			"more than 32 bits"},
		{"value type", one(opBlock, 0x79, opEnd), "unknown value type 0x79"},
		{"select of two", one(0x1c, 2, 0x7f, 0x7f), "select with 2 types"},
		{"no body", module(section(secType, vec(noValues)), section(secFunction, vec(zeroIndex))),
			"0 bodies for 1 functions"},
		{"no function", module(section(secCode, vec(fn()))), "1 bodies for 0 functions"},
		{"start with a parameter", module(section(secType, vec(i32ToI32)),
			section(secImport, vec(cat(str("m"), str("n"), []byte{byte(Func), 0}))),
			section(secStart, zeroIndex)), "start function 0 has the signature (i32) -> i32"},
		{"two memories", module(section(secMemory, vec([]byte{0, 1}, []byte{0, 1}))),
			"more than one memory"},
		{"not constant", module(section(secGlobal, vec([]byte{0x7f, 0, opNop, opEnd}))),
			"not a constant instruction"},
		{"same export", module(section(secMemory, vec([]byte{0, 1})), section(secExport, vec(
			cat(str("m"), []byte{byte(Memory), 0}), cat(str("m"), []byte{byte(Memory), 0})))),
			`two exports are named "m"`},
		{"second name section", module(custom("name", []byte{4, 0}), custom("name", nil)),
			"second name section"},
		{"name that is not UTF-8", module(custom("\xff", nil)), "not UTF-8"},
	})
}
