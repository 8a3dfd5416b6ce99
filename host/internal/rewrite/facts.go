package rewrite

import "strings"

// ValType is a value type as its byte in the binary format. References to a concrete type keep only
// their first byte; they need the feature TypedReferences.
type ValType byte

// Value types.
const (
	I32       ValType = 0x7f
	I64       ValType = 0x7e
	F32       ValType = 0x7d
	F64       ValType = 0x7c
	V128      ValType = 0x7b
	FuncRef   ValType = 0x70
	ExternRef ValType = 0x6f
	ExnRef    ValType = 0x69

	refNull    ValType = 0x63
	ref        ValType = 0x64
	blockEmpty ValType = 0x40
)

var valTypeNames = map[ValType]string{
	I32: "i32", I64: "i64", F32: "f32", F64: "f64", V128: "v128", FuncRef: "funcref",
	ExternRef: "externref", ExnRef: "exnref", refNull: "(ref null …)", ref: "(ref …)",
}

func (t ValType) String() string { return valTypeNames[t] }

// numeric says whether the host can read and set a global of the type.
func (t ValType) numeric() bool { return t >= F64 && t <= I32 }

// FuncType is a function's signature.
type FuncType struct{ Params, Results []ValType }

// String gives the signature as in "(i32, i32) -> i32".
func (t FuncType) String() string {
	list := func(ts []ValType) string {
		names := make([]string, len(ts))
		for i, t := range ts {
			names[i] = t.String()
		}
		return strings.Join(names, ", ")
	}
	if len(t.Results) == 1 {
		return "(" + list(t.Params) + ") -> " + list(t.Results)
	}
	return "(" + list(t.Params) + ") -> (" + list(t.Results) + ")"
}

// Kind is what an import or export is.
type Kind byte

// Kinds, as their bytes in the binary format.
const (
	Func Kind = iota
	Table
	Memory
	Global
	Tag
)

func (k Kind) String() string {
	if k > Tag {
		return "unknown"
	}
	return [...]string{"func", "table", "memory", "global", "tag"}[k]
}

// Import is one import. Type is a function's signature.
type Import struct {
	Module, Name string
	Kind         Kind
	Type         FuncType
}

// Export is one export. Type is a function's signature; Index counts within the kind.
type Export struct {
	Name  string
	Kind  Kind
	Index uint32
	Type  FuncType
}

// Range is a table's or a memory's size: elements or pages of 64 KiB.
type Range struct {
	Min, Max uint64 // Max is meaningless without Bounded
	Bounded  bool
	Imported bool
	Shared   bool
	Wide     bool // 64-bit addresses
}

// GlobalType is a global.
type GlobalType struct {
	Type     ValType
	Mutable  bool
	Imported bool
}

// Custom is a custom section: its name and its contents, a view of the module.
type Custom struct {
	Name string
	Data []byte
}

// Feature is a set of features beyond the first version of WebAssembly that a module uses. Those of
// the second version are not listed; every engine has them.
type Feature uint16

// Features.
const (
	Threads Feature = 1 << iota
	Exceptions
	TypedReferences
	Memory64
	TailCalls
	ExtendedConst
)

var featureNames = []string{
	"threads", "exceptions", "typed references", "64-bit memory", "tail calls",
	"extended constants",
}

// Names lists the features in the set.
func (f Feature) Names() []string {
	var names []string
	for i, name := range featureNames {
		if f&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// Maxima are the largest values met, each to be held against the limit of its name: in any type or
// function, and for Work and the last five in the whole module.
type Maxima struct {
	Params, Locals, Nesting, LoopNesting, BranchTable, Body int
	Product, BackEdges, Work                                uint64
	TableElements                                           uint64
	Checks, Names, DataSegments, Items                      int
}

// Facts are what Check found in a module: all that the contract, the choice between restoring and
// instantiating, and Rewrite need to know.
type Facts struct {
	Size      int
	Imports   []Import
	Exports   []Export
	Functions int // imported ones included
	Locals    int // of all functions, parameters included
	Tables    []Range
	Memory    *Range // nil without one
	Globals   []GlobalType
	Start     int // index of the start function, -1 without one
	Custom    []Custom
	Features  Feature
	Maxima    Maxima

	// Oversize lists what is over the limits of compiling in the host's process.
	Oversize []*Error

	// What a snapshot cannot restore. See Blockers.
	TableWrites, DataDrops, ElementDrops, OpaqueGlobals, ComputedData bool

	types       []FuncType
	funcTypes   []uint32
	importN     [Tag + 1]uint32
	sections    [numSections]span
	names       span // the name section's contents
	namesLabels bool // it names labels
	space       space
	tableMost   int // elements that all tables may grow to
	bodies      []body
	data        []segment
	usesData    bool        // memory.init or data.drop names a data segment
	tables      []tableItem // where the module's own tables are declared
}

// span is a range of bytes of the module.
type span struct{ from, to int }

func (s span) empty() bool { return s.from == s.to }

// Blockers says in words why an instance of the module cannot be restored from a snapshot, one
// sentence part a reason; none means that it can.
func (f *Facts) Blockers() []string {
	var why []string
	add := func(is bool, reason string) {
		if is {
			why = append(why, reason)
		}
	}
	add(f.TableWrites, "changes tables")
	add(f.DataDrops, "drops data segments")
	add(f.ElementDrops, "drops element segments")
	add(f.OpaqueGlobals, "has mutable globals of reference or vector type")
	add(f.ComputedData, "computes where its data goes")
	add(f.Memory != nil && f.Memory.Imported, "imports its memory")
	return why
}
