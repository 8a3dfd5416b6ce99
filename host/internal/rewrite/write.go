package rewrite

import "fmt"

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
	tickType, tickImport, fuel := w.tickType, w.tickImport, w.fuelGlobal
	if w.opts.Unmetered {
		tickType, tickImport, fuel = nil, nil, nil
	}
	w.list(secType, w.copyRest, tickType)
	w.list(secImport, w.copyRest, tickImport)
	w.copied(secFunction)
	w.list(secTable, w.tables, nil)
	w.list(secMemory, w.memory, nil)
	w.copied(secTag)
	w.list(secGlobal, w.globals, fuel)
	w.exports()
	w.list(secElement, w.elements, nil)
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

// list writes a section that is a list: its items through items, and one more through extra, if
// that is not nil.
func (w *writer) list(id byte, items func(r *reader, n uint32), extra func()) {
	s := w.f.sections[id]
	present, n := s != (span{}), uint32(0)
	if !present && extra == nil {
		return
	}
	r := w.reader(id, s)
	if present {
		n = r.u32()
	}
	if extra == nil {
		w.sec = appendU(w.sec, uint64(n))
		items(r, n)
	} else {
		w.sec = appendU(w.sec, uint64(n)+1)
		items(r, n)
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

// tables keeps every table from growing past its share of what Check lets all tables start with.
func (w *writer) tables(r *reader, _ uint32) {
	own := w.f.Tables[len(w.f.Tables)-len(w.f.tables):]
	share := w.f.tableMost / max(len(own), 1)
	for i, at := range w.f.tables {
		w.sec = append(w.sec, w.wasm[at.at:at.limits]...)
		most := max(own[i].Min, uint64(share))
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
