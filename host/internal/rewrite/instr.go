package rewrite

// Opcodes that the walkers treat by name.
const (
	opBlock          = 0x02
	opLoop           = 0x03
	opIf             = 0x04
	opElse           = 0x05
	opNop            = 0x01
	opThrow          = 0x08
	opEnd            = 0x0b
	opReturn         = 0x0f
	opCall           = 0x10
	opCallIndirect   = 0x11
	opReturnCall     = 0x12
	opReturnIndirect = 0x13
	opCallRef        = 0x14
	opReturnCallRef  = 0x15
	opTryTable       = 0x1f
	opLocalGet       = 0x20
	opLocalSet       = 0x21
	opLocalTee       = 0x22
	opGlobalGet      = 0x23
	opGlobalSet      = 0x24
	opTableSet       = 0x26
	opMemoryGrow     = 0x40
	opI32Const       = 0x41
	opI64Const       = 0x42
	opI32Ne          = 0x47
	opI64GeS         = 0x59
	opI32Add         = 0x6a
	opI32Sub         = 0x6b
	opI32Mul         = 0x6c
	opI64Add         = 0x7c
	opI64Sub         = 0x7d
	opI64Mul         = 0x7e
	opI64Shl         = 0x86
	opI64ShrU        = 0x88
	opI64ExtendI32U  = 0xad
	opRefNull        = 0xd0
	opRefFunc        = 0xd2
	opMisc           = 0xfc
	opVector         = 0xfd
	opAtomic         = 0xfe
)

// Second bytes of opMisc.
const (
	miscMemoryInit = 8
	miscDataDrop   = 9
	miscMemoryCopy = 10
	miscMemoryFill = 11
	miscTableInit  = 12
	miscElemDrop   = 13
	miscTableCopy  = 14
	miscTableGrow  = 15
	miscTableSize  = 16
	miscTableFill  = 17
)

// vecConst is the second byte of v128.const.
const vecConst = 12

// imm says what follows an opcode.
type imm byte

const (
	immUnknown imm = iota // no such instruction
	immNone
	immBlock // a block type
	immLabel
	immTable2 // labels of br_table
	immTry
	immTag
	immFunc
	immIndirect // type, table
	immType
	immSelect // a list of one value type
	immLocal
	immGlobal
	immTable
	immMem  // alignment, offset
	immZero // a reserved byte
	immI32
	immI64
	imm4
	imm8
	immHeap
	immPrefix
)

// imms tells the immediates of the one-byte opcodes.
var imms = func() (t [256]imm) {
	set := func(from, to int, k imm) {
		for op := from; op <= to; op++ {
			t[op] = k
		}
	}
	set(0x00, 0x01, immNone)  // unreachable, nop
	set(0x02, 0x04, immBlock) // block, loop, if
	set(0x05, 0x05, immNone)  // else
	set(0x08, 0x08, immTag)   // throw
	set(0x0a, 0x0b, immNone)  // throw_ref, end
	set(0x0c, 0x0d, immLabel) // br, br_if
	set(0x0e, 0x0e, immTable2)
	set(0x0f, 0x0f, immNone) // return
	set(0x10, 0x10, immFunc)
	set(0x11, 0x11, immIndirect)
	set(0x12, 0x12, immFunc)
	set(0x13, 0x13, immIndirect)
	set(0x14, 0x15, immType) // call_ref, return_call_ref
	set(0x1a, 0x1b, immNone) // drop, select
	set(0x1c, 0x1c, immSelect)
	set(0x1f, 0x1f, immTry)
	set(0x20, 0x22, immLocal)
	set(0x23, 0x24, immGlobal)
	set(0x25, 0x26, immTable)
	set(0x28, 0x3e, immMem)
	set(0x3f, 0x40, immZero) // memory.size, memory.grow
	set(0x41, 0x41, immI32)
	set(0x42, 0x42, immI64)
	set(0x43, 0x43, imm4)
	set(0x44, 0x44, imm8)
	set(0x45, 0xc4, immNone) // arithmetic
	set(0xd0, 0xd0, immHeap)
	set(0xd1, 0xd1, immNone)
	set(0xd2, 0xd2, immFunc)
	set(0xd4, 0xd4, immNone)  // ref.as_non_null
	set(0xd5, 0xd6, immLabel) // br_on_null, br_on_non_null
	set(opMisc, opAtomic, immPrefix)
	return t
}()

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
	case immTable2:
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
	case opThrow, 0x0a, opTryTable:
		r.features |= Exceptions
	case opReturnCall, opReturnIndirect:
		r.features |= TailCalls
	case opReturnCallRef:
		r.features |= TailCalls | TypedReferences
	case opCallRef, 0xd4, 0xd5, 0xd6:
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
	case in.sub == 3: // atomic.fence
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
	case sub == vecConst, sub == 13: // v128.const, i8x16.shuffle
		r.skip(16)
	case sub >= 21 && sub <= 34: // lanes
		r.byte()
	case sub >= 84 && sub <= 91: // loads and stores of a lane
		r.memArg(s)
		r.byte()
	}
}
