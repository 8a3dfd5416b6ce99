package rewrite

// constant checks a constant expression that may name globals below globals. It says whether the
// expression is nothing but an i32.const, and its value.
func (c *checker) constant(globals uint32) (value int32, plain bool) {
	s := c.space
	s.globals = globals
	for n := 0; c.err == nil; n++ {
		at := c.pos
		in := c.next(&s)
		switch in.op {
		case opEnd:
			return value, plain && n == 1
		case opI32Const:
			value, plain = c.constAt(at), true
		case opI64Const, opF32Const, opF64Const, opRefNull, opRefFunc:
		case opGlobalGet:
			if c.err == nil && !c.f.Globals[in.x].Imported {
				c.features |= ExtendedConst
			}
		case opI32Add, opI32Sub, opI32Mul, opI64Add, opI64Sub, opI64Mul:
			c.features |= ExtendedConst
		case opVector:
			if in.sub != vectorConst {
				c.failf(at, "not a constant instruction")
			}
		default:
			c.failf(at, "not a constant instruction")
		}
	}
	return 0, false
}

// constAt reads the operand of the i32.const at an offset once more.
func (c *checker) constAt(at int) int32 {
	again := reader{b: c.b, pos: at + 1, end: c.pos}
	return int32(again.sleb(32))
}

// elementSection checks the element segments. Their flags: bit 0 says not active; bit 1 says
// declared only, or for an active one that it names its table; bit 2 says that elements are
// expressions.
func (c *checker) elementSection() {
	for range c.list("element segments", 2) {
		at := c.pos
		flags := c.u32()
		if flags > 7 {
			c.failf(at, "unknown flags %d of an element segment", flags)
		}
		c.elementSegment(flags)
		if c.err != nil {
			return
		}
		c.space.elements++
	}
}

func (c *checker) elementSegment(flags uint32) {
	if flags&1 == 0 {
		if flags&2 != 0 {
			c.index("table", c.space.tables)
		} else if c.space.tables == 0 {
			c.failf(c.pos, "table 0 of 0")
		}
		c.constant(c.space.globals)
	}
	if flags&3 != 0 {
		if flags&4 != 0 {
			c.refType()
		} else {
			c.zero()
		}
	}
	for range c.list("elements", 1) {
		if flags&4 != 0 {
			c.constant(c.space.globals)
		} else {
			c.index("function", c.space.functions)
		}
		if c.err != nil {
			return
		}
	}
}

// segment is one data segment.
type segment struct {
	span
	offset  uint32 // where it goes, when it is active
	passive bool
}

func (c *checker) dataSection() {
	n := c.count("data segments", 2)
	if c.tooMany("DataSegments", "data segments", uint64(n), c.lim.DataSegments) {
		return
	}
	for range n {
		var s segment
		at := c.pos
		flags := c.u32()
		switch flags {
		case 1:
			s.passive = true
		case 0, 2:
			if flags == 2 {
				c.index("memory", c.space.memories)
			}
			c.memory(&c.space)
			value, plain := c.constant(c.space.globals)
			s.offset = uint32(value)
			c.f.ComputedData = c.f.ComputedData || !plain
		default:
			c.failf(at, "unknown flags %d of a data segment", flags)
		}
		n := c.u32()
		s.from = c.pos
		c.bytes(n)
		s.to = c.pos
		if c.err != nil {
			return
		}
		c.f.data = append(c.f.data, s)
	}
}
