package rewrite

// code writes all function bodies.
func (w *writer) code() {
	if w.f.sections[secCode] == (span{}) {
		return
	}
	if !w.opts.Unmetered {
		w.smallCosts = smallCosts(w.f.bodies)
	}
	w.sec = appendU(w.sec, uint64(len(w.f.bodies)))
	for i, b := range w.f.bodies {
		w.bodyOf(i, b)
		if w.err != nil {
			return
		}
		w.sec = appendU(w.sec, uint64(len(w.body)))
		w.sec = append(w.sec, w.body...)
	}
	w.flush(secCode)
}

// bodyOf writes one function body into w.body.
func (w *writer) bodyOf(i int, b body) {
	if w.opts.Unmetered {
		w.body = append(w.body[:0], w.wasm[b.at:b.end]...)
		return
	}
	r := w.reader(secCode, span{b.code, b.end})
	r.function = int(w.tick) + i
	m := metering{w: w, r: *r, fuel: b.locals, copied: b.code, body: b}
	m.small = w.smallCosts[i] != big
	w.meter(&m, r)
	m.write()
	w.done(r)
	w.done(&m.r)
}

// metering writes one body with checks in it. Three locals are added as needed: one that holds the fuel,
// two for operands and results of the instructions priced by length.
type metering struct {
	w        *writer
	r        reader
	body     body
	regions  []region
	straight bool   // every way in leads to the head of a first loop
	small    bool   // callers pay
	prices   bool   // an instruction is priced by an operand
	carried  bool   // the local holds the fuel everywhere in the function
	fuel     uint32 // index of the local that holds the fuel
	copied   int    // the original is copied up to here
	labels   uint32 // labels of the original met so far
	next     int    // region of the next loop
	open     []openBlock
}

// openBlock is a block around, its region, and whether the local holds the fuel there.
type openBlock struct {
	region  int
	carried bool
}

func (m *metering) write() {
	w := m.w
	w.body = w.body[:0]
	m.locals()
	m.open = append(m.open, openBlock{0, m.carried})
	m.next = 1
	if !m.small {
		m.entry()
	}
	for m.r.err == nil && len(m.open) > 0 {
		in := m.r.next(&w.space)
		m.instruction(in)
	}
	m.copy(m.r.pos)
}

// locals declares the locals of the original and those that are added.
func (m *metering) locals() {
	w := m.w
	var added []byte
	switch {
	case m.prices:
		added = []byte{1, byte(I64), 2, byte(I32)}
	case !m.small:
		added = []byte{1, byte(I64)}
	}
	w.body = appendU(w.body, uint64(m.body.groups+len(added)/2))
	r := w.reader(secCode, span{m.body.at, m.body.code})
	r.u32()
	w.body = append(w.body, r.b[r.pos:r.end]...)
	w.body = append(w.body, added...)
}

// copy copies the original up to an offset.
func (m *metering) copy(to int) {
	m.w.body = append(m.w.body, m.r.b[m.copied:to]...)
	m.copied = to
}

// entry charges for the function without its loops.
func (m *metering) entry() {
	cost := m.regions[0].cost
	if !m.straight {
		m.check(false, m.carried, func() { m.number(cost) })
		return
	}
	if cost == 0 && !m.carried {
		return
	}
	m.get(opGlobalGet, m.w.fuel)
	if cost > 0 {
		m.number(cost)
		m.emit(opI64Sub)
	}
	if m.carried {
		m.get(opLocalSet, m.fuel)
	} else {
		m.get(opGlobalSet, m.w.fuel)
	}
}

func (m *metering) instruction(in instr) {
	top := m.open[len(m.open)-1]
	switch {
	case in.op == opBlock, in.op == opIf, in.op == opTryTable:
		m.labels++
		m.open = append(m.open, top)
	case in.op == opLoop:
		m.loop(in, top)
	case in.op == opEnd:
		m.open = m.open[:len(m.open)-1]
	case in.op == opCall, in.op == opReturnCall, in.op == opRefFunc:
		m.copy(in.at)
		m.get(in.op, m.w.function(in.x))
		m.copied = m.r.pos
	case priced(in):
		m.priced(in, top.carried)
	}
}

// loop charges at a loop's head for the loop without the loops in it.
func (m *metering) loop(in instr, top openBlock) {
	l := openBlock{m.next, !m.regions[m.next].calls}
	m.next++
	if l.carried && !top.carried {
		m.copy(in.at)
		m.get(opGlobalGet, m.w.fuel)
		m.get(opLocalSet, m.fuel)
	}
	m.labels++
	m.open = append(m.open, l)
	m.copy(m.r.pos)
	m.check(l.carried, l.carried, func() { m.number(m.regions[l.region].cost) })
}

// priced charges for an instruction by its last operand: one that may fail after it, by what it did,
// the others before.
func (m *metering) priced(in instr, carried bool) {
	count, result := m.fuel+1, m.fuel+2
	m.copy(in.at)
	m.get(opLocalTee, count)
	grows := in.op == opMemoryGrow || in.sub == miscTableGrow
	if grows {
		m.copy(m.r.pos)
		m.get(opLocalTee, result)
	}
	m.check(carried, carried, func() {
		m.get(opLocalGet, count)
		if grows { // nothing if the result is -1
			m.get(opLocalGet, result)
			m.emit(opI32Const, 0x7f, opI32Ne, opI32Mul)
		}
		m.emit(opI64ExtendI32U)
		switch {
		case in.op == opMemoryGrow:
			m.number(shiftPage)
			m.emit(opI64Shl)
		case in.sub == miscMemoryInit, in.sub == miscMemoryCopy, in.sub == miscMemoryFill:
			m.number(shiftBytes)
			m.emit(opI64ShrU)
		}
	})
	m.copy(m.r.pos)
}

// check subtracts a cost from the fuel and calls tick when it is used up. fromLocal takes the fuel from
// the local; keep leaves it there also after a tick.
func (m *metering) check(fromLocal, keep bool, cost func()) {
	m.w.inserted(m.r.function, m.labels)
	if fromLocal {
		m.get(opLocalGet, m.fuel)
	} else {
		m.get(opGlobalGet, m.w.fuel)
	}
	cost()
	m.emit(opI64Sub)
	m.get(opLocalTee, m.fuel)
	m.get(opGlobalSet, m.w.fuel)
	m.get(opLocalGet, m.fuel)
	m.emit(opI64Const, 0, opI64LtS, opIf, byte(blockEmpty))
	m.get(opCall, m.w.tick)
	if keep {
		m.get(opGlobalGet, m.w.fuel)
		m.get(opLocalSet, m.fuel)
	}
	m.emit(opEnd)
}

func (m *metering) emit(b ...byte) { m.w.body = append(m.w.body, b...) }

// get emits an instruction with an index.
func (m *metering) get(op byte, index uint32) {
	m.w.body = appendU(append(m.w.body, op), uint64(index))
}

// number emits an i64.const.
func (m *metering) number(v uint64) {
	m.w.body = appendS(append(m.w.body, opI64Const), v)
}
