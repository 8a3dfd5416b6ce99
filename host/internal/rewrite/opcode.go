package rewrite

// Opcodes that the walkers treat by name.
const (
	opUnreachable    = 0x00
	opNop            = 0x01
	opBlock          = 0x02
	opLoop           = 0x03
	opIf             = 0x04
	opElse           = 0x05
	opThrow          = 0x08
	opThrowRef       = 0x0a
	opEnd            = 0x0b
	opBrTable        = 0x0e
	opReturn         = 0x0f
	opCall           = 0x10 // this and the next five are all the ways to call
	opCallIndirect   = 0x11
	opReturnCall     = 0x12
	opReturnIndirect = 0x13
	opCallRef        = 0x14
	opReturnCallRef  = 0x15
	opSelectTyped    = 0x1c
	opTryTable       = 0x1f
	opLocalGet       = 0x20
	opLocalSet       = 0x21
	opLocalTee       = 0x22
	opGlobalGet      = 0x23
	opGlobalSet      = 0x24
	opTableGet       = 0x25
	opTableSet       = 0x26
	opMemorySize     = 0x3f
	opMemoryGrow     = 0x40
	opI32Const       = 0x41
	opI64Const       = 0x42
	opF32Const       = 0x43
	opF64Const       = 0x44
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
	opRefAsNonNull   = 0xd4
	opBrOnNull       = 0xd5
	opBrOnNonNull    = 0xd6
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

// Second bytes of opVector that the readers treat by name.
const (
	vectorConst   = 12
	vectorShuffle = 13
)

// atomicFence is the second byte of the one atomic instruction that works on no memory.
const atomicFence = 3

// imm says what follows an opcode.
type imm byte

const (
	immUnknown imm = iota // no such instruction
	immNone
	immBlock // a block type
	immLabel
	immLabels // of br_table
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
	set(opUnreachable, opNop, immNone)
	set(opBlock, opIf, immBlock) // and loop
	set(opElse, opElse, immNone)
	set(opThrow, opThrow, immTag)
	set(opThrowRef, opEnd, immNone)
	set(0x0c, 0x0d, immLabel) // br, br_if
	set(opBrTable, opBrTable, immLabels)
	set(opReturn, opReturn, immNone)
	set(opCall, opCall, immFunc)
	set(opCallIndirect, opCallIndirect, immIndirect)
	set(opReturnCall, opReturnCall, immFunc)
	set(opReturnIndirect, opReturnIndirect, immIndirect)
	set(opCallRef, opReturnCallRef, immType)
	set(0x1a, 0x1b, immNone) // drop, select
	set(opSelectTyped, opSelectTyped, immSelect)
	set(opTryTable, opTryTable, immTry)
	set(opLocalGet, opLocalTee, immLocal)
	set(opGlobalGet, opGlobalSet, immGlobal)
	set(opTableGet, opTableSet, immTable)
	set(0x28, 0x3e, immMem) // loads and stores
	set(opMemorySize, opMemoryGrow, immZero)
	set(opI32Const, opI32Const, immI32)
	set(opI64Const, opI64Const, immI64)
	set(opF32Const, opF32Const, imm4)
	set(opF64Const, opF64Const, imm8)
	set(0x45, 0xc4, immNone) // comparisons, arithmetic, conversions
	set(opRefNull, opRefNull, immHeap)
	set(0xd1, 0xd1, immNone) // ref.is_null
	set(opRefFunc, opRefFunc, immFunc)
	set(opRefAsNonNull, opRefAsNonNull, immNone)
	set(opBrOnNull, opBrOnNonNull, immLabel)
	set(opMisc, opAtomic, immPrefix)
	return t
}()
