package rewrite

import "fmt"

// Names of what Rewrite adds.
const (
	TickModule = Reserved // the module that tick is imported from
	TickName   = "tick"
	FuelName   = Reserved + "_fuel"  // export of the fuel, a mutable i64
	StartName  = Reserved + "_start" // export of what was the start function
	globalName = Reserved + "_g"     // and the global's index
)

// MemoryPages is the maximum that Rewrite gives a module's memory, so that the module's allocator
// is asked for every growth and enforces what Plan says.
const MemoryPages = 65_535

// Options change what Rewrite does. The zero value and nil are what a host wants.
type Options struct {
	Unmetered bool // leave fuel out: neither checks, nor the global, nor the import
}

// Plan is what a host must do with a rewritten module, in this order: give it a memory within
// MemoryMin and MemoryMax, instantiate it, copy Data, and call Start. Globals are what a snapshot
// keeps besides.
type Plan struct {
	MemoryMin, MemoryMax uint64 // pages that the module declared; 0 without a memory of its own
	Globals              []GlobalExport
	Data                 []Data
	Start                string // name of the export to call, "" without one
}

// GlobalExport is a mutable global that was given a name.
type GlobalExport struct {
	Name  string
	Index uint32
	Type  ValType
}

// Data are bytes that go to an offset in memory before anything runs. If they do not fit, loading
// ends with the trap that instantiating would have ended with. Bytes is a view of the original
// module.
type Data struct {
	Offset uint32
	Bytes  []byte
}

// Rewrite gives the module that is to be run in the place of wasm, which facts were checked from,
// and what to do with it. An error says that facts are not of wasm; it is an *Error.
func Rewrite(wasm []byte, facts *Facts, opts *Options) ([]byte, Plan, error) {
	w := writer{f: facts, wasm: wasm}
	if opts != nil {
		w.opts = *opts
	}
	w.space = facts.space
	w.tick, w.fuel = facts.importN[Func], facts.space.globals
	if len(wasm) != facts.Size {
		detail := fmt.Sprintf("facts of a module of %d bytes, this has %d", facts.Size, len(wasm))
		return nil, Plan{}, &Error{Section: sectionHeader, Function: -1, Detail: detail}
	}
	w.out = append(make([]byte, 0, len(wasm)+len(wasm)/4+256), magic+version...)
	w.module()
	if w.err != nil {
		return nil, Plan{}, w.err
	}
	return w.out, w.plan, nil
}
