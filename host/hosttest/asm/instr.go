package asm

import "strings"

// Instr is one coded instruction, or several in a row. It is a string so that it can be a constant.
type Instr string

// Op is any instruction, byte by byte.
func Op(code ...byte) Instr { return Instr(code) }

// Seq puts instructions in a row.
func Seq(body ...Instr) Instr {
	var b strings.Builder
	for _, in := range body {
		b.WriteString(string(in))
	}
	return Instr(b.String())
}

// Repeat puts n copies of an instruction in a row.
func Repeat(n int, in Instr) Instr { return Instr(strings.Repeat(string(in), n)) }

// Instructions without immediates.
const (
	Unreachable Instr = "\x00"
	Nop         Instr = "\x01"
	Else        Instr = "\x05"
	End         Instr = "\x0b"
	Return      Instr = "\x0f"
	Drop        Instr = "\x1a"
	Select      Instr = "\x1b"

	MemorySize Instr = "\x3f\x00"
	MemoryGrow Instr = "\x40\x00"
	MemoryCopy Instr = "\xfc\x0a\x00\x00" // to, from, length
	MemoryFill Instr = "\xfc\x0b\x00"     // to, byte, length

	I32Eqz  Instr = "\x45"
	I32Eq   Instr = "\x46"
	I32Ne   Instr = "\x47"
	I32LtS  Instr = "\x48"
	I32LtU  Instr = "\x49"
	I32GtS  Instr = "\x4a"
	I32GtU  Instr = "\x4b"
	I32LeU  Instr = "\x4d"
	I32GeU  Instr = "\x4f"
	I32Add  Instr = "\x6a"
	I32Sub  Instr = "\x6b"
	I32Mul  Instr = "\x6c"
	I32DivS Instr = "\x6d"
	I32DivU Instr = "\x6e"
	I32RemU Instr = "\x70"
	I32And  Instr = "\x71"
	I32Or   Instr = "\x72"
	I32Xor  Instr = "\x73"
	I32Shl  Instr = "\x74"
	I32ShrU Instr = "\x76"

	I64Eqz  Instr = "\x50"
	I64Eq   Instr = "\x51"
	I64Ne   Instr = "\x52"
	I64LtU  Instr = "\x54"
	I64Add  Instr = "\x7c"
	I64Sub  Instr = "\x7d"
	I64Mul  Instr = "\x7e"
	I64DivS Instr = "\x7f"
	I64DivU Instr = "\x80"

	I32WrapI64    Instr = "\xa7"
	I32TruncF64S  Instr = "\xaa"
	I64ExtendI32U Instr = "\xad"
)

// Constants.
func I32Const(v int32) Instr { return Instr(sleb("\x41", int64(v))) }
func I64Const(v int64) Instr { return Instr(sleb("\x42", v)) }

// F64Const takes the number's bits, as math.Float64bits gives them, so that NaNs keep theirs.
func F64Const(bits uint64) Instr {
	b := []byte{0x44}
	for range 8 {
		b, bits = append(b, byte(bits)), bits>>8
	}
	return Instr(b)
}

// Variables.
func LocalGet(i uint32) Instr       { return withIndex("\x20", i) }
func LocalSet(i uint32) Instr       { return withIndex("\x21", i) }
func LocalTee(i uint32) Instr       { return withIndex("\x22", i) }
func GlobalGet(g GlobalIndex) Instr { return withIndex("\x23", uint32(g)) }
func GlobalSet(g GlobalIndex) Instr { return withIndex("\x24", uint32(g)) }

// Loads and stores at a constant offset from the address on the stack.
func I32Load(offset uint32) Instr   { return access("\x28\x02", offset) }
func I64Load(offset uint32) Instr   { return access("\x29\x03", offset) }
func I32Load8U(offset uint32) Instr { return access("\x2d\x00", offset) }
func I32Store(offset uint32) Instr  { return access("\x36\x02", offset) }
func I64Store(offset uint32) Instr  { return access("\x37\x03", offset) }
func I32Store8(offset uint32) Instr { return access("\x3a\x00", offset) }

// Bulk memory over data segments.
func MemoryInit(data uint32) Instr { return withIndex("\xfc\x08", data) + "\x00" }
func DataDrop(data uint32) Instr   { return withIndex("\xfc\x09", data) }

// Tables.
func TableGet(t uint32) Instr  { return withIndex("\x25", t) }
func TableSet(t uint32) Instr  { return withIndex("\x26", t) }
func ElemDrop(e uint32) Instr  { return withIndex("\xfc\x0d", e) }
func TableGrow(t uint32) Instr { return withIndex("\xfc\x0f", t) }
func TableSize(t uint32) Instr { return withIndex("\xfc\x10", t) }
func TableFill(t uint32) Instr { return withIndex("\xfc\x11", t) }
func TableInit(e, t uint32) Instr {
	return withIndex("\xfc\x0c", e) + Instr(leb(nil, uint64(t)))
}

// References. RefNull takes "funcref" or "externref".
func RefNull(ref string) Instr  { return "\xd0" + Instr(valType(ref)) }
func RefFunc(f FuncIndex) Instr { return withIndex("\xd2", uint32(f)) }

// Calls. CallIndirect takes the type's index (see [Module.Type]) and the table's.
func Call(f FuncIndex) Instr       { return withIndex("\x10", uint32(f)) }
func ReturnCall(f FuncIndex) Instr { return withIndex("\x12", uint32(f)) }
func CallIndirect(typ, table uint32) Instr {
	return withIndex("\x11", typ) + Instr(leb(nil, uint64(table)))
}

// Control. Labels count outwards from 0, the innermost block.
func Block(body ...Instr) Instr { return "\x02\x40" + Seq(body...) + End }
func Loop(body ...Instr) Instr  { return "\x03\x40" + Seq(body...) + End }
func If(then ...Instr) Instr    { return "\x04\x40" + Seq(then...) + End }
func Br(label uint32) Instr     { return withIndex("\x0c", label) }
func BrIf(label uint32) Instr   { return withIndex("\x0d", label) }

// IfElse is an if with both arms.
func IfElse(then, otherwise Instr) Instr { return "\x04\x40" + then + Else + otherwise + End }

// BrTable jumps to labels[i], or to the last of them when i is past the others.
func BrTable(labels ...uint32) Instr {
	b := leb([]byte{0x0e}, uint64(len(labels)-1))
	for _, l := range labels {
		b = leb(b, uint64(l))
	}
	return Instr(b)
}

func withIndex(op string, i uint32) Instr { return Instr(leb([]byte(op), uint64(i))) }

func access(op string, offset uint32) Instr { return Instr(leb([]byte(op), uint64(offset))) }
