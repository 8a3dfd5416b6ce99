package rewrite

// space holds how many things of each kind can be named. All are counts of the original module:
// what Rewrite appends lies past them, out of every guest's reach.
type space struct {
	functions, tables, memories, globals, tags, data, elements uint32
}

// instr is one instruction.
type instr struct {
	op, sub byte
	at      int    // offset of its first byte
	x, y    uint32 // its indices in their order; the type and table of an indirect call
	labels  int    // how many labels it names; the largest is in x
}

// next reads one instruction and checks every index in it but labels and locals, whose ranges only
// the caller knows.
func (r *reader) next(s *space) (in instr) {
	in.at = r.pos
	in.op = r.byte()
	switch imms[in.op] {
	case immNone:
	case immBlock:
		r.blockType()
	case immLabel:
		in.x, in.labels = r.u32(), 1
	case immLabels:
		r.branchTable(&in)
	case immTry:
		r.tryTable(&in, s)
	case immTag:
		in.x = r.index("tag", s.tags)
	case immFunc:
		in.x = r.index("function", s.functions)
	case immIndirect:
		in.x = r.index("type", r.types)
		in.y = r.index("table", s.tables)
	case immType:
		in.x = r.index("type", r.types)
	case immSelect:
		if n := r.byte(); n != 1 {
			r.failf(in.at, "select with %d types", n)
		}
		r.valType()
	case immLocal:
		in.x = r.u32()
	case immGlobal:
		in.x = r.index("global", s.globals)
	case immTable:
		in.x = r.index("table", s.tables)
	case immMem:
		r.memArg(s)
	case immZero:
		r.memory(s)
		r.zero()
	case immI32:
		r.sleb(32)
	case immI64:
		r.sleb(64)
	case imm4:
		r.skip(4)
	case imm8:
		r.skip(8)
	case immHeap:
		r.heapType()
	case immPrefix:
		r.prefixed(&in, s)
	default:
		r.failf(in.at, "unknown instruction 0x%02x", in.op)
	}
	r.note(in)
	return in
}

// note marks the features that an instruction needs.
func (r *reader) note(in instr) {
	switch in.op {
	case opThrow, opThrowRef, opTryTable:
		r.features |= Exceptions
	case opReturnCall, opReturnIndirect:
		r.features |= TailCalls
	case opReturnCallRef:
		r.features |= TailCalls | TypedReferences
	case opCallRef, opRefAsNonNull, opBrOnNull, opBrOnNonNull:
		r.features |= TypedReferences
	case opAtomic:
		r.features |= Threads
	}
}

func (r *reader) branchTable(in *instr) {
	n := r.count("branch targets", 1)
	for range n + 1 {
		in.x = max(in.x, r.u32())
		if r.err != nil {
			return
		}
	}
	in.labels = n + 1
}

// tryTable reads a block type and catch clauses.
func (r *reader) tryTable(in *instr, s *space) {
	r.blockType()
	for range r.count("catch clauses", 2) {
		at := r.pos
		kind := r.byte()
		switch kind {
		case 0, 1: // catch, catch_ref
			r.index("tag", s.tags)
		case 2, 3: // catch_all, catch_all_ref
		default:
			r.failf(at, "unknown catch clause 0x%02x", kind)
		}
		in.x = max(in.x, r.u32())
		in.labels++
		if r.err != nil {
			return
		}
	}
}

// memory checks that there is a memory to work on.
func (r *reader) memory(s *space) {
	if s.memories == 0 {
		r.failf(r.pos, "memory 0 of 0")
	}
}

// memArg reads alignment and offset. An alignment with bit 6 set would name another memory.
func (r *reader) memArg(s *space) {
	r.memory(s)
	at := r.pos
	if align := r.u32(); align >= 32 {
		r.failf(at, "alignment 2^%d", align)
	}
	bits := uint(32)
	if r.features&Memory64 != 0 {
		bits = 64
	}
	r.uleb(bits)
}

// prefixed reads the rest of an instruction of two opcode bytes.
//
// The engine reads the second part of vector and atomic instructions as one byte, where the
// format has a number of variable length. So only the shortest form of that number is let
// through: the engine would read any other as another instruction.
func (r *reader) prefixed(in *instr, s *space) {
	if in.op == opMisc {
		in.sub = byte(min(r.u32(), 0xff))
		r.misc(in, s)
		return
	}
	in.sub = r.byte()
	switch {
	case in.op == opVector:
		if at := r.pos; in.sub >= 0x80 && r.byte() != 0x01 {
			r.failf(at, "unknown vector instruction")
		}
		r.vector(in.sub, s)
	case in.sub == atomicFence:
		r.zero()
	case in.sub <= 2 || in.sub >= 0x10 && in.sub <= 0x4e:
		r.memArg(s)
	default:
		r.failf(in.at, "unknown atomic instruction 0x%02x", in.sub)
	}
}

func (r *reader) misc(in *instr, s *space) {
	switch in.sub {
	case 0, 1, 2, 3, 4, 5, 6, 7: // saturating conversions
	case miscMemoryInit:
		in.x = r.index("data segment", s.data)
		r.memory(s)
		r.zero()
	case miscDataDrop:
		in.x = r.index("data segment", s.data)
	case miscMemoryCopy:
		r.memory(s)
		r.zero()
		r.zero()
	case miscMemoryFill:
		r.memory(s)
		r.zero()
	case miscTableInit:
		in.x = r.index("element segment", s.elements)
		in.y = r.index("table", s.tables)
	case miscElemDrop:
		in.x = r.index("element segment", s.elements)
	case miscTableCopy:
		in.x = r.index("table", s.tables)
		in.y = r.index("table", s.tables)
	case miscTableGrow, miscTableSize, miscTableFill:
		in.x = r.index("table", s.tables)
	default:
		r.failf(in.at, "unknown instruction 0xfc 0x%02x", in.sub)
	}
}

func (r *reader) vector(sub byte, s *space) {
	switch {
	case sub <= 11, sub == 92, sub == 93: // loads and stores
		r.memArg(s)
	case sub == vectorConst, sub == vectorShuffle:
		r.skip(16)
	case sub >= 21 && sub <= 34: // lanes
		r.byte()
	case sub >= 84 && sub <= 91: // loads and stores of a lane
		r.memArg(s)
		r.byte()
	}
}
