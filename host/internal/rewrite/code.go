package rewrite

// body is what Check learns of one function body, for pricing and rewriting it.
type body struct {
	at, code, end int // offsets of its declarations of locals, of its instructions, and past it
	locals        uint32
	small         smallness
}

// codeSection checks all bodies.
func (c *checker) codeSection() {
	n := c.count("function bodies", 2)
	if want := c.f.Functions - int(c.f.importN[Func]); c.err == nil && n != want {
		c.failf(c.pos, "%d bodies for %d functions", n, want)
	}
	if c.err != nil {
		return
	}
	c.f.bodies = make([]body, 0, n)
	end := c.end
	for i := range n {
		c.function = int(c.f.importN[Func]) + i
		at := c.pos
		size := c.u32()
		if uint64(size) > uint64(end-c.pos) {
			c.failf(at, "a body of %d bytes, %d are left", size, end-c.pos)
		}
		if c.err != nil {
			return
		}
		c.end = c.pos + int(size)
		c.body(c.f.funcTypes[c.function])
		c.end = end
		if c.err != nil {
			c.pos = end
			return
		}
	}
	c.function = -1
}

// body checks one function between pos and end.
func (c *checker) body(typ uint32) {
	b := body{at: c.pos, end: c.end}
	params := len(c.f.types[typ].Params)
	b.locals = c.declareLocals(b.at, params)
	b.code = c.pos
	w := walk{locals: b.locals, open: c.open[:0]}
	for c.err == nil && c.pos < c.end {
		c.instruction(&w)
	}
	if c.err == nil && !w.ended {
		c.failf(c.pos, "a body without its end")
	}
	if c.err != nil {
		return
	}
	b.small, c.open = w.small, w.open
	c.measure(&w, &b)
	c.f.bodies = append(c.f.bodies, b)
}

// measure keeps the maxima and notes what is too much for compiling here.
func (c *checker) measure(w *walk, b *body) {
	m, size, locals := &c.f.Maxima, uint64(b.end-b.at), uint64(max(b.locals, 1))
	blocks := w.blocks + w.loops // Rewrite adds one to each loop
	// With the limits on loops, module size and locals no product reaches 2^61.
	product := w.loops * blocks * locals
	backEdges := w.backEdges * locals
	m.Body = max(m.Body, int(size))
	m.Product = max(m.Product, product)
	m.BackEdges = max(m.BackEdges, backEdges)
	c.oversize(b, "Body", "bytes", size, c.lim.Body)
	c.oversize(b, "Product", "loops × locals × blocks", product, c.lim.Product)
	c.oversize(b, "BackEdges", "branches back × locals", backEdges, c.lim.BackEdges)
	before := m.Work
	m.Work += work(w)
	if before <= uint64(c.lim.Work) {
		c.oversize(b, "Work", "units of work for a compiler up to here", m.Work, c.lim.Work)
	}
}

// work estimates what a compiler has to do for a function, in units of some 20 ns. It grows with
// the square of its branches, and with the locals that may be alive in each loop, each of which it
// compares with the others. A module has fewer than 2^25 branches, and locals are fewer than 2^16,
// so no sum overflows.
func work(w *walk) uint64 {
	locals := uint64(w.locals)
	return w.branches*w.branches + w.loops*(locals*locals/4)
}

// branches is how many ways code can take behind an instruction once it is rewritten: what a
// compiler's work on a function grows with, faster than in proportion.
func branches(in instr) uint64 {
	switch in.op {
	case opBlock, opIf, opElse, opTryTable:
		return 1
	case opLoop: // with its check
		return 3
	}
	if priced(in) { // its check, and the engine's own look at the range
		return 3
	}
	return uint64(in.labels)
}

func (c *checker) oversize(b *body, limit, what string, n uint64, most int) {
	if n > uint64(most) && len(c.f.Oversize) < maxOversize {
		c.f.Oversize = append(c.f.Oversize, &Error{Section: c.section, Function: c.function,
			Offset: b.at, Limit: limit, Detail: overLimit(what, n, most)})
	}
}

// maxOversize is how many functions Facts.Oversize names at most.
const maxOversize = 8

// declareLocals reads the declarations of locals and gives how many there are with the parameters.
func (c *checker) declareLocals(at, params int) uint32 {
	total := uint64(params)
	for range c.count("declarations of locals", 2) {
		total += uint64(c.u32())
		c.valType()
		if c.err != nil {
			return 0
		}
	}
	c.f.Locals += int(min(total, uint64(c.lim.Locals)+1))
	switch {
	case total > uint64(c.lim.Locals):
		c.fail(at, "Locals", overLimit("locals", total, c.lim.Locals))
	case c.f.Locals > c.lim.ModuleLocals:
		c.fail(at, "ModuleLocals",
			overLimit("locals in all functions", uint64(c.f.Locals), c.lim.ModuleLocals))
	}
	c.f.Maxima.Locals = max(c.f.Maxima.Locals, int(total))
	return uint32(total)
}

// walk is the state of checking one body.
type walk struct {
	locals    uint32
	blocks    uint64
	loops     uint64
	backEdges uint64 // branches to loops
	branches  uint64 // see branches
	open      []byte // opcodes of the blocks around
	openLoops int
	ended     bool
	small     smallness
}

// instruction checks one instruction.
func (c *checker) instruction(w *walk) {
	in := c.next(&c.space)
	if c.err != nil {
		return
	}
	switch {
	case w.ended:
		c.failf(in.at, "an instruction after the end of the body")
	case in.labels > 0 && in.x > uint32(len(w.open)):
		c.failf(in.at, "label %d of %d", in.x, len(w.open)+1)
	case in.labels-1 > c.lim.BranchTable:
		c.fail(in.at, "BranchTable",
			overLimit("branch targets", uint64(in.labels-1), c.lim.BranchTable))
	case imms[in.op] == immLocal && in.x >= w.locals:
		c.failf(in.at, "local %d of %d", in.x, w.locals)
	}
	if in.op == opLoop || priced(in) {
		m := &c.f.Maxima
		if m.Checks++; m.Checks > c.lim.Checks {
			c.fail(in.at, "Checks", overLimit("loops and operations priced by length",
				uint64(m.Checks), c.lim.Checks))
		}
	}
	w.branches += branches(in)
	c.f.Maxima.BranchTable = max(c.f.Maxima.BranchTable, in.labels-1)
	c.backEdges(w, in)
	c.block(w, in.op, in.at)
	c.blockers(in)
	w.small.add(in, c.f.importN[Func])
}

// backEdges counts the labels of a branch that are loops.
func (c *checker) backEdges(w *walk, in instr) {
	if c.err != nil || in.labels == 0 || in.op == opTryTable || w.openLoops == 0 {
		return
	}
	again := reader{b: c.b, pos: in.at + 1, end: c.pos}
	if in.op == opBrTable {
		again.u32()
	}
	for range in.labels {
		label := int(again.u32())
		if label < len(w.open) && w.open[len(w.open)-1-label] == opLoop {
			w.backEdges++
		}
	}
}

// block follows blocks and their ends.
func (c *checker) block(w *walk, op byte, at int) {
	switch op {
	case opBlock, opLoop, opIf, opTryTable:
		w.open = append(w.open, op)
		w.blocks++
		if op == opLoop {
			w.loops++
			w.openLoops++
		}
		m := &c.f.Maxima
		m.Nesting = max(m.Nesting, len(w.open))
		m.LoopNesting = max(m.LoopNesting, w.openLoops)
		if len(w.open) > c.lim.Nesting {
			c.fail(at, "Nesting", overLimit("nested blocks", uint64(len(w.open)), c.lim.Nesting))
		}
		if w.openLoops > c.lim.LoopNesting {
			c.fail(at, "LoopNesting",
				overLimit("nested loops", uint64(w.openLoops), c.lim.LoopNesting))
		}
	case opElse:
		if len(w.open) == 0 || w.open[len(w.open)-1] != opIf {
			c.failf(at, "else outside an if")
			return
		}
		w.open[len(w.open)-1] = opElse
	case opEnd:
		if len(w.open) == 0 {
			w.ended = true
			return
		}
		if w.open[len(w.open)-1] == opLoop {
			w.openLoops--
		}
		w.open = w.open[:len(w.open)-1]
	}
}

// blockers notes what a snapshot could not undo.
func (c *checker) blockers(in instr) {
	switch {
	case in.op == opTableSet:
		c.f.TableWrites = true
	case in.op != opMisc:
	case in.sub == miscTableInit, in.sub == miscTableCopy, in.sub == miscTableGrow,
		in.sub == miscTableFill:
		c.f.TableWrites = true
	case in.sub == miscDataDrop:
		c.f.DataDrops, c.f.usesData = true, true
	case in.sub == miscMemoryInit:
		c.f.usesData = true
	case in.sub == miscElemDrop:
		c.f.ElementDrops = true
	}
}
