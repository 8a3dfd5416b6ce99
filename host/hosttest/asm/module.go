package asm

import "slices"

// Indices of a module's spaces. Any number can be made one: FuncIndex(99).
type (
	FuncIndex   uint32
	MemoryIndex uint32
	TableIndex  uint32
	GlobalIndex uint32
)

// Module is a module being assembled. Imports of a space come before its definitions.
type Module struct {
	types   []string // coded function types
	entries map[byte][]string
	counts  map[byte]uint64 // of the vectors that lie
	raw     map[byte]string // sections given as bytes
	space   [4]uint32       // entries so far: functions, tables, memories, globals
	defined [4]uint32       // those of them that are not imports
	passive bool
	start   string
	names   names
	customs []string
	version string
	tail    string
}

type names struct {
	module string
	funcs  map[uint32]string
}

// The kinds of an import or export, which are also the index spaces.
const (
	kindFunc = iota
	kindTable
	kindMemory
	kindGlobal
)

// Section numbers.
const (
	SectionCustom byte = iota
	SectionType
	SectionImport
	SectionFunction
	SectionTable
	SectionMemory
	SectionGlobal
	SectionExport
	SectionStart
	SectionElement
	SectionCode
	SectionData
	SectionDataCount
)

// New is an empty module.
func New() *Module {
	return &Module{
		entries: map[byte][]string{},
		counts:  map[byte]uint64{},
		raw:     map[byte]string{},
		names:   names{funcs: map[uint32]string{}},
		version: "\x01\x00\x00\x00",
	}
}

// Type gives the index of a function type, adding it when it is new.
func (m *Module) Type(sig string) uint32 {
	coded := funcType(sig)
	if i := slices.Index(m.types, coded); i >= 0 {
		return uint32(i)
	}
	m.types = append(m.types, coded)
	m.add(SectionType, coded)
	return uint32(len(m.types) - 1)
}

// ImportFunc imports a function of a signature such as "i32 i32 -> i32".
func (m *Module) ImportFunc(module, name, sig string) FuncIndex {
	return FuncIndex(m.importEntry(module, name, kindFunc, string(leb(nil, uint64(m.Type(sig))))))
}

// ImportMemory imports a memory of min pages.
func (m *Module) ImportMemory(module, name string, min uint64) MemoryIndex {
	return MemoryIndex(m.importEntry(module, name, kindMemory, limits(min, nil)))
}

// ImportTable imports a table of functions.
func (m *Module) ImportTable(module, name string, min uint64) TableIndex {
	return TableIndex(m.importEntry(module, name, kindTable, valType("funcref")+limits(min, nil)))
}

// ImportGlobal imports a global of a type such as "i32".
func (m *Module) ImportGlobal(module, name, typ string, mutable bool) GlobalIndex {
	return GlobalIndex(m.importEntry(module, name, kindGlobal, valType(typ)+flag(mutable)))
}

// Func defines a function: its signature, its locals beyond the parameters, its body without the
// closing end.
func (m *Module) Func(sig, locals string, body ...Instr) FuncIndex {
	return m.FuncCode(sig, localVector(locals)+string(Seq(body...))+string(End))
}

// FuncCode defines a function by its coded body: vector of locals, instructions, end.
func (m *Module) FuncCode(sig, code string) FuncIndex {
	m.add(SectionFunction, string(leb(nil, uint64(m.Type(sig)))))
	m.add(SectionCode, sized(code))
	return FuncIndex(m.define(kindFunc))
}

// NextFunc is the index that the next function will have, so that it can call itself.
func (m *Module) NextFunc() FuncIndex { return FuncIndex(m.space[kindFunc]) }

// Memory defines a memory of min pages of 64 KiB and, if given, a maximum.
func (m *Module) Memory(min uint64, max ...uint64) MemoryIndex {
	m.add(SectionMemory, limits(min, max))
	return MemoryIndex(m.define(kindMemory))
}

// MemoryFlags defines a memory with any flag byte: 3 is shared, 4 has 64-bit addresses.
func (m *Module) MemoryFlags(flags byte, bounds ...uint64) MemoryIndex {
	m.add(SectionMemory, flagged(flags, bounds))
	return MemoryIndex(m.define(kindMemory))
}

// Table defines a table of "funcref" or "externref".
func (m *Module) Table(ref string, min uint64, max ...uint64) TableIndex {
	m.add(SectionTable, valType(ref)+limits(min, max))
	return TableIndex(m.define(kindTable))
}

// Global defines a global. init is a constant expression without the closing end.
func (m *Module) Global(typ string, mutable bool, init Instr) GlobalIndex {
	m.add(SectionGlobal, valType(typ)+flag(mutable)+string(init+End))
	return GlobalIndex(m.define(kindGlobal))
}

// Elem fills table 0 from an offset with functions.
func (m *Module) Elem(offset int32, funcs ...FuncIndex) {
	m.add(SectionElement, "\x00"+string(I32Const(offset)+End)+funcVector(funcs))
}

// PassiveElem is a segment of functions for table.init.
func (m *Module) PassiveElem(funcs ...FuncIndex) {
	m.add(SectionElement, "\x01\x00"+funcVector(funcs))
}

// DeclareElem lets functions be named by ref.func.
func (m *Module) DeclareElem(funcs ...FuncIndex) {
	m.add(SectionElement, "\x03\x00"+funcVector(funcs))
}

// Data fills memory 0 from an offset.
func (m *Module) Data(offset int32, bytes string) { m.DataAt(I32Const(offset), bytes) }

// DataAt fills memory 0 from a constant expression's value.
func (m *Module) DataAt(offset Instr, bytes string) {
	m.add(SectionData, "\x00"+string(offset+End)+sized(bytes))
}

// PassiveData is a segment for memory.init. It adds the section of the segments' count.
func (m *Module) PassiveData(bytes string) {
	m.add(SectionData, "\x01"+sized(bytes))
	m.passive = true
}

// Export exports a function.
func (m *Module) Export(name string, f FuncIndex) { m.export(name, kindFunc, uint32(f)) }

// ExportMemory exports a memory.
func (m *Module) ExportMemory(name string, i MemoryIndex) { m.export(name, kindMemory, uint32(i)) }

// ExportTable exports a table.
func (m *Module) ExportTable(name string, i TableIndex) { m.export(name, kindTable, uint32(i)) }

// ExportGlobal exports a global.
func (m *Module) ExportGlobal(name string, i GlobalIndex) { m.export(name, kindGlobal, uint32(i)) }

// Start names the start function.
func (m *Module) Start(f FuncIndex) { m.start = string(leb(nil, uint64(f))) }

// Name gives the module a name in its name section.
func (m *Module) Name(name string) { m.names.module = name }

// NameFunc gives a function a name in the name section.
func (m *Module) NameFunc(f FuncIndex, name string) { m.names.funcs[uint32(f)] = name }

// Custom adds a custom section, behind all others and behind the name section.
func (m *Module) Custom(name, payload string) {
	m.customs = append(m.customs, sized(name)+payload)
}

// Section replaces what would be a section's content, its count included, by bytes.
func (m *Module) Section(id byte, payload string) { m.raw[id] = payload }

// Count makes a section claim to have n entries, whatever it has.
func (m *Module) Count(id byte, n uint64) { m.counts[id] = n }

// Version replaces the four bytes behind the magic number.
func (m *Module) Version(v string) { m.version = v }

// Tail adds bytes behind the last section.
func (m *Module) Tail(bytes string) { m.tail += bytes }

func (m *Module) add(section byte, entry string) {
	m.entries[section] = append(m.entries[section], entry)
}

func (m *Module) export(name string, kind byte, index uint32) {
	m.add(SectionExport, sized(name)+string([]byte{kind})+string(leb(nil, uint64(index))))
}

func (m *Module) importEntry(module, name string, kind byte, desc string) uint32 {
	if m.defined[kind] > 0 {
		panic("asm: an import after a definition of its kind would move the indices: " + name)
	}
	m.add(SectionImport, sized(module)+sized(name)+string([]byte{kind})+desc)
	m.space[kind]++
	return m.space[kind] - 1
}

func (m *Module) define(kind byte) uint32 {
	m.space[kind]++
	m.defined[kind]++
	return m.space[kind] - 1
}
