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
	m := metering{w: w, r: *r, copied: b.code, body: b}
	m.small = w.smallCosts[i] != big
	w.meter(&m, r)
	m.write()
	w.done(r)
	w.done(&m.r)
}

// metering writes one body with checks in it.
type metering struct {
	w        *writer
	r        reader
	body     body
	costs    []uint64 // of the function and its loops, see meter
	straight bool     // every way in leads to the head of a first loop
	small    bool     // callers pay
	prices   bool     // an instruction is priced by an operand
	copied   int      // the original is copied up to here
	labels   uint32   // labels of the original met so far
	loops    int      // and loops
}

func (m *metering) write() {
	m.w.body = m.w.body[:0]
	m.locals()
	m.entry()
	for m.r.err == nil && m.r.left() > 0 {
		m.instruction(m.r.next(&m.w.space))
	}
	m.copy(m.r.pos)
}

// locals declares the locals of the original, and two more for the operand and the result of an
// instruction that is priced by length.
func (m *metering) locals() {
	w := m.w
	r := w.reader(secCode, span{m.body.at, m.body.code})
	groups := uint64(r.u32())
	if !m.prices {
		w.body = append(w.body, r.b[m.body.at:m.body.code]...)
		return
	}
	w.body = appendU(w.body, groups+1)
	w.body = append(w.body, r.b[r.pos:r.end]...)
	w.body = append(w.body, 2, byte(I32))
}

// copy copies the original up to an offset.
func (m *metering) copy(to int) {
	m.w.body = append(m.w.body, m.r.b[m.copied:to]...)
	m.copied = to
}

// entry charges for the function without its loops. Where a loop's head follows at once, that
// checks.
func (m *metering) entry() {
	cost := m.costs[0]
	switch {
	case m.small:
	case !m.straight:
		m.check(func() { m.number(cost) })
	case cost > 0:
		m.charge(func() { m.number(cost) })
	}
}

func (m *metering) instruction(in instr) {
	switch {
	case in.op == opLoop:
		m.labels++
		m.loops++
		cost := m.costs[m.loops]
		m.copy(m.r.pos)
		m.check(func() { m.number(cost) })
	case in.op == opBlock, in.op == opIf, in.op == opTryTable:
		m.labels++
	case in.op == opCall, in.op == opReturnCall, in.op == opRefFunc:
		m.copy(in.at)
		m.index(in.op, m.w.function(in.x))
		m.copied = m.r.pos
	case priced(in):
		m.priced(in)
	}
}

// priced charges for an instruction by its last operand: for one that may fail after it, by what
// it did, for the others before.
func (m *metering) priced(in instr) {
	count, result := m.body.locals, m.body.locals+1
	m.copy(in.at)
	m.index(opLocalTee, count)
	grows := in.op == opMemoryGrow || in.sub == miscTableGrow
	if grows {
		m.copy(m.r.pos)
		m.index(opLocalTee, result)
	}
	m.check(func() {
		m.index(opLocalGet, count)
		if grows { // nothing if the result is -1
			m.index(opLocalGet, result)
			m.emit(opI32Const, 0x7f, opI32Ne, opI32Mul)
		}
		m.emit(opI64ExtendI32U)
		switch {
		case in.op == opMemoryGrow:
			m.number(shiftPage)
			m.emit(opI64Shl)
		case in.sub <= miscMemoryFill:
			m.number(shiftBytes)
			m.emit(opI64ShrU)
		}
	})
	m.copy(m.r.pos)
}

// charge takes a cost, which it is given on the stack, off the fuel.
func (m *metering) charge(cost func()) {
	m.index(opGlobalGet, m.w.fuel)
	cost()
	m.emit(opI64Sub)
	m.index(opGlobalSet, m.w.fuel)
}

// check charges, and calls tick when the fuel is used up. It needs nothing on the stack and
// leaves nothing there, so it can stand anywhere. The engine lays code out in the order it is
// written in, so tick stands in the else, where the usual way does not lead through it.
func (m *metering) check(cost func()) {
	m.w.inserted(m.r.function, m.labels)
	m.charge(cost)
	m.index(opGlobalGet, m.w.fuel)
	m.emit(opI64Const, 0, opI64GeS, opIf, byte(blockEmpty), opElse)
	m.index(opCall, m.w.tick)
	m.emit(opEnd)
}

func (m *metering) emit(b ...byte) { m.w.body = append(m.w.body, b...) }

// index emits an instruction with an index.
func (m *metering) index(op byte, index uint32) {
	m.w.body = appendU(append(m.w.body, op), uint64(index))
}

// number emits an i64.const.
func (m *metering) number(v uint64) {
	m.w.body = appendS(append(m.w.body, opI64Const), v)
}
