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

// MemoryPages is the maximum that Rewrite gives a module's memory, so that the module's allocator is
// asked for every growth and enforces what Plan says.
const MemoryPages = 65_535

// Options change what Rewrite does. The zero value and nil are what a host wants.
type Options struct {
	Unmetered bool // leave fuel out: neither checks, nor the global, nor the import
}

// Plan is what a host must do with a rewritten module, in this order: give it a memory within MemoryMin
// and MemoryMax, instantiate it, copy Data, and call Start. Globals are what a snapshot keeps besides.
type Plan struct {
	MemoryMin, MemoryMax uint64 // pages that the module declared; both 0 without a memory of its own
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

// Data are bytes that go to an offset in memory before anything runs. If they do not fit, loading ends
// with the trap that instantiating would have ended with. Bytes is a view of the original module.
type Data struct {
	Offset uint32
	Bytes  []byte
}

// Rewrite gives the module that is to be run in the place of wasm, which facts were checked from, and
// what to do with it. An error says that facts are not of wasm; it is an *Error.
func Rewrite(wasm []byte, facts *Facts, opts *Options) ([]byte, Plan, error) {
	w := writer{f: facts, wasm: wasm}
	if opts != nil {
		w.opts = *opts
	}
	w.space = facts.space
	w.tick, w.fuel = facts.importN[Func], facts.space.globals
	if len(wasm) != facts.Size {
		return nil, Plan{}, &Error{Section: sectionHeader, Function: -1,
			Detail: fmt.Sprintf("facts of a module of %d bytes, this has %d", facts.Size, len(wasm))}
	}
	w.out = append(make([]byte, 0, len(wasm)+len(wasm)/4+256), magic+version...)
	w.module()
	if w.err != nil {
		return nil, Plan{}, w.err
	}
	return w.out, w.plan, nil
}

// writer is one run of Rewrite.
type writer struct {
	f    *Facts
	wasm []byte
	opts Options
	plan Plan
	out  []byte // the module so far
	sec  []byte // the section that is being written
	err  *Error

	space      space
	tick       uint32 // index of the import tick, and how many functions were imported before
	fuel       uint32 // index of the fuel
	smallCosts []int32
	labels     map[uint32][]uint32 // where labels were inserted, by function; see names.go

	body  []byte // scratch
	costs []uint64
	open  []int
}

// module writes all sections in their order.
func (w *writer) module() {
	metered := !w.opts.Unmetered
	w.grown(secType, metered, 1, w.copyRest, w.tickType)
	w.grown(secImport, metered, 1, w.copyRest, w.tickImport)
	w.copied(secFunction)
	w.grown(secTable, false, 0, w.tables, nil)
	w.grown(secMemory, false, 0, w.memory, nil)
	w.copied(secTag)
	w.grown(secGlobal, metered, 1, w.globals, w.fuelGlobal)
	w.exports()
	w.grown(secElement, false, 0, w.elements, nil)
	w.dataCount()
	w.code()
	w.data()
	w.names()
}

// reader stands at the start of a span of the original.
func (w *writer) reader(id byte, s span) *reader {
	return &reader{b: w.wasm, pos: s.from, end: min(s.to, len(w.wasm)), section: sectionNames[id],
		function: -1, types: uint32(len(w.f.types)), features: w.f.Features}
}

// done keeps the first error of a reader.
func (w *writer) done(r *reader) {
	if w.err == nil {
		w.err = r.err
	}
}

// function renumbers a function.
func (w *writer) function(i uint32) uint32 {
	if !w.opts.Unmetered && i >= w.tick {
		return i + 1
	}
	return i
}

// flush ends the section that is being written.
func (w *writer) flush(id byte) {
	w.out = append(w.out, id)
	w.out = appendU(w.out, uint64(len(w.sec)))
	w.out = append(w.out, w.sec...)
	w.sec = w.sec[:0]
}

// copied copies a section.
func (w *writer) copied(id byte) {
	s := w.f.sections[id]
	if s == (span{}) {
		return
	}
	w.sec = append(w.sec, w.wasm[s.from:s.to]...)
	w.flush(id)
}

// grown writes a section that is a list: its items through items, and if add is set more of them
// through extra.
func (w *writer) grown(id byte, add bool, more uint32, items func(*reader, uint32), extra func()) {
	s := w.f.sections[id]
	if s == (span{}) && !add {
		return
	}
	r, n := w.reader(id, s), uint32(0)
	if s != (span{}) {
		n = r.u32()
	}
	if !add {
		more = 0
	}
	w.sec = appendU(w.sec, uint64(n+more))
	items(r, n)
	if add {
		extra()
	}
	w.done(r)
	w.flush(id)
}

func (w *writer) copyRest(r *reader, _ uint32) { w.sec = append(w.sec, r.b[r.pos:r.end]...) }

func (w *writer) tickType() { w.sec = append(w.sec, functionForm, 0, 0) }

// tickImport imports tick with the type that tickType added.
func (w *writer) tickImport() {
	w.sec = appendName(w.sec, TickModule)
	w.sec = appendName(w.sec, TickName)
	w.sec = append(w.sec, byte(Func))
	w.sec = appendU(w.sec, uint64(len(w.f.types)))
}

// tables keeps every table from growing past what Check lets tables start with.
func (w *writer) tables(r *reader, _ uint32) {
	own := w.f.Tables[len(w.f.Tables)-len(w.f.tables):]
	for i, at := range w.f.tables {
		w.sec = append(w.sec, w.wasm[at.at:at.limits]...)
		most := max(own[i].Min, uint64(w.f.tableMost))
		if own[i].Bounded {
			most = min(most, own[i].Max)
		}
		w.sec = append(w.sec, w.wasm[at.limits]|1)
		w.sec = appendU(w.sec, own[i].Min)
		w.sec = appendU(w.sec, most)
		r.pos = at.rest
		if at.end > at.rest {
			w.constant(r)
		}
	}
}

// memory opens the maximum of a memory; the allocator enforces the one in the plan.
func (w *writer) memory(r *reader, n uint32) {
	m := w.f.Memory
	if n == 0 || m == nil || m.Imported || m.Shared || m.Wide {
		w.copyRest(r, n)
		return
	}
	w.plan.MemoryMin, w.plan.MemoryMax = m.Min, maxPages
	if m.Bounded {
		w.plan.MemoryMax = m.Max
	}
	w.sec = append(w.sec, 1)
	w.sec = appendU(w.sec, m.Min)
	w.sec = appendU(w.sec, max(m.Min, MemoryPages))
}

func (w *writer) globals(r *reader, n uint32) {
	for range n {
		at := r.pos
		r.valType()
		r.byte()
		w.sec = append(w.sec, w.wasm[at:r.pos]...)
		w.constant(r)
		if r.err != nil {
			return
		}
	}
}

func (w *writer) fuelGlobal() {
	w.sec = append(w.sec, byte(I64), 1, opI64Const, 0, opEnd)
}

// exports writes the exports and those of mutable globals, the start function and the fuel.
func (w *writer) exports() {
	n := len(w.f.Exports)
	for _, e := range w.f.Exports {
		i := e.Index
		if e.Kind == Func {
			i = w.function(i)
		}
		w.export(e.Name, e.Kind, i)
	}
	for i, g := range w.f.Globals {
		if g.Mutable && !g.Imported && g.Type.numeric() {
			name := fmt.Sprintf("%s%d", globalName, i)
			w.plan.Globals = append(w.plan.Globals, GlobalExport{name, uint32(i), g.Type})
			w.export(name, Global, uint32(i))
			n++
		}
	}
	if w.f.Start >= 0 {
		w.plan.Start = StartName
		w.export(StartName, Func, w.function(uint32(w.f.Start)))
		n++
	}
	if !w.opts.Unmetered {
		w.export(FuelName, Global, w.fuel)
		n++
	}
	if n == 0 {
		return
	}
	items := w.sec
	w.sec = append(appendU(nil, uint64(n)), items...)
	w.flush(secExport)
}

func (w *writer) export(name string, kind Kind, index uint32) {
	w.sec = appendName(w.sec, name)
	w.sec = append(w.sec, byte(kind))
	w.sec = appendU(w.sec, uint64(index))
}

// constant copies a constant expression with functions renumbered.
func (w *writer) constant(r *reader) {
	s := w.space
	for r.err == nil {
		in := r.next(&s)
		if in.op == opRefFunc {
			w.sec = append(w.sec, opRefFunc)
			w.sec = appendU(w.sec, uint64(w.function(in.x)))
			continue
		}
		w.sec = append(w.sec, r.b[in.at:r.pos]...)
		if in.op == opEnd {
			return
		}
	}
}

// elements writes the element segments; see elementSection for their flags.
func (w *writer) elements(r *reader, n uint32) {
	for range n {
		at := r.pos
		flags := r.u32()
		if flags&1 == 0 && flags&2 != 0 {
			r.u32()
		}
		w.sec = append(w.sec, r.b[at:r.pos]...)
		if flags&1 == 0 {
			w.constant(r)
		}
		at = r.pos
		if flags&3 != 0 {
			if flags&4 != 0 {
				r.valType()
			} else {
				r.byte()
			}
		}
		count := r.count("elements", 1)
		w.sec = append(w.sec, r.b[at:r.pos]...)
		for range count {
			if flags&4 != 0 {
				w.constant(r)
			} else {
				w.sec = appendU(w.sec, uint64(w.function(r.u32())))
			}
		}
		if r.err != nil {
			return
		}
	}
}

// lifts says whether data segments are taken out of the module.
func (w *writer) lifts() bool { return !w.f.ComputedData }

// dataCount writes how many data segments there are, if any are left.
func (w *writer) dataCount() {
	if !w.lifts() || w.f.usesData {
		w.copied(secDataCount)
	}
}

// data moves active segments into the plan. Where code names segments they leave empty passive ones
// behind, which is what an active segment is once it was copied.
func (w *writer) data() {
	if !w.lifts() {
		w.copied(secData)
		return
	}
	w.sec = appendU(w.sec, uint64(len(w.f.data)))
	for _, s := range w.f.data {
		contents := w.wasm[s.from:s.to]
		if !s.passive {
			w.plan.Data = append(w.plan.Data, Data{s.offset, contents})
			contents = nil
		}
		w.sec = append(w.sec, 1)
		w.sec = appendU(w.sec, uint64(len(contents)))
		w.sec = append(w.sec, contents...)
	}
	if !w.f.usesData || w.f.sections[secData] == (span{}) {
		w.sec = w.sec[:0]
		return
	}
	w.flush(secData)
}

func appendU(b []byte, v uint64) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

// appendS appends a number that is not negative as a signed one.
func appendS(b []byte, v uint64) []byte {
	for v >= 0x40 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

func appendName(b []byte, name string) []byte {
	return append(appendU(b, uint64(len(name))), name...)
}
