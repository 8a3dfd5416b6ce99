package hosttest

import (
	"encoding/binary"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
)

// Echo replies {ok: arguments}. It looks for the request's key "input", the last one, and writes
// the reply's head before its value.
func Echo(k *Kit) asm.Instr {
	const head = 4 // bytes of {"ok":
	const key = 6  // bytes of the key "input"
	size, at := uint32(0), uint32(1)
	return asm.Seq(
		ReadRequest(k),
		asm.I32Const(inputAt), asm.LocalSet(at),
		asm.Block(asm.Loop( // until the bytes at hand are a5 'i' 'n' 'p' and 'u' 't'
			asm.LocalGet(at), asm.I32Load(0), asm.I32Const(le32("\xa5inp")), asm.I32Eq,
			asm.LocalGet(at), asm.I32Load(2), asm.I32Const(le32("nput")), asm.I32Eq,
			asm.I32And, asm.BrIf(1),
			asm.LocalGet(at), asm.I32Const(1), asm.I32Add, asm.LocalSet(at),
			asm.Br(0))),
		asm.LocalGet(at), asm.I32Const(le32("\x81\xa2ok")), asm.I32Store(key-head),
		asm.LocalGet(at), asm.I32Const(key-head), asm.I32Add,
		asm.LocalGet(size), asm.I32Const(inputAt+head-key), asm.I32Add,
		asm.LocalGet(at), asm.I32Sub,
		asm.Call(k.Output))
}

// ReadRequest reads the whole request and leaves its size in local 0. Memory grows when it must.
func ReadRequest(k *Kit) asm.Instr {
	const size = 0
	room := asm.MemorySize + asm.I32Const(16) + asm.I32Shl + asm.I32Const(inputAt) + asm.I32Sub
	read := asm.I32Const(inputAt) + room + asm.Call(k.Input) + asm.LocalTee(size)
	return asm.Seq(
		read, room, asm.I32GtU,
		asm.If(
			asm.LocalGet(size), asm.I32Const(16), asm.I32ShrU, asm.I32Const(1), asm.I32Add,
			asm.MemoryGrow, asm.Drop,
			read, asm.Drop))
}

// Reply pushes given bytes, whatever they are.
func Reply(b []byte) Body {
	return func(k *Kit) asm.Instr { return k.Bytes(b) + asm.Call(k.Output) }
}

// OK replies {ok: true}.
func OK(k *Kit) asm.Instr {
	return Reply(abi.AppendReply(nil, &abi.Reply{Outcome: abi.OutcomeOK, Value: abi.Raw{0xc3}}))(k)
}

// ReplyRange pushes a range of memory, which need not exist.
func ReplyRange(ptr, size uint32) Body {
	return func(k *Kit) asm.Instr {
		return asm.I32Const(int32(ptr)) + asm.I32Const(int32(size)) + asm.Call(k.Output)
	}
}

// Fail replies with the guest's own failure.
func Fail(f abi.Failure) Body {
	return Reply(abi.AppendReply(nil, &abi.Reply{Outcome: abi.OutcomeFailed, Failure: &f}))
}

// FailBefore replies with a failure to attempts before the given one, which is below 128, and then
// with {ok: the whole request}.
func FailBefore(attempt int32, f abi.Failure) Body {
	const head = "\x81\xa2ok"
	const key = len("\xa7attempt")
	size, at := uint32(0), uint32(1)
	return func(k *Kit) asm.Instr {
		return asm.Seq(
			ReadRequest(k),
			asm.I32Const(inputAt), asm.LocalSet(at),
			asm.Block(asm.Loop( // until the bytes at hand are a7 'a' 't' 't' and 'e' 'm' 'p' 't'
				asm.LocalGet(at), asm.I32Load(0), asm.I32Const(le32("\xa7att")), asm.I32Eq,
				asm.LocalGet(at), asm.I32Load(4), asm.I32Const(le32("empt")), asm.I32Eq,
				asm.I32And, asm.BrIf(1),
				asm.LocalGet(at), asm.I32Const(1), asm.I32Add, asm.LocalSet(at),
				asm.Br(0))),
			asm.I32Const(attempt), asm.LocalGet(at), asm.I32Load8U(uint32(key)), asm.I32GtU,
			asm.If(Fail(f)(k)+asm.Return),
			asm.I32Const(inputAt-int32(len(head))), asm.I32Const(le32(head)), asm.I32Store(0),
			asm.I32Const(inputAt-int32(len(head))),
			asm.LocalGet(size), asm.I32Const(int32(len(head))), asm.I32Add,
			asm.Call(k.Output))
	}
}

// Silent returns without a reply.
func Silent(*Kit) asm.Instr { return asm.Nop }

// Loop runs for ever.
func Loop(*Kit) asm.Instr { return asm.Loop(asm.Br(0)) }

// Trap ends in unreachable code.
func Trap(*Kit) asm.Instr { return asm.Unreachable }

// Recurse calls itself until the stack ends.
func Recurse(k *Kit) asm.Instr {
	self := k.Module.NextFunc()
	k.Module.NameFunc(k.Module.Func("i32 -> i32", "",
		asm.LocalGet(0), asm.Call(self), asm.I32Const(1), asm.I32Add), "recurse")
	return asm.I32Const(0) + asm.Call(self) + asm.Drop
}

// Exit leaves with a code.
func Exit(code uint32) Body {
	return func(k *Kit) asm.Instr { return asm.I32Const(int32(code)) + asm.Call(k.Exit) }
}

// Grow asks for pages of 64 KiB, and traps with unreachable when it gets none.
func Grow(pages int32) Body {
	return func(k *Kit) asm.Instr {
		return asm.I32Const(pages) + asm.MemoryGrow + asm.I32Const(-1) + asm.I32Eq +
			asm.If(asm.Unreachable)
	}
}

// Sleep waits for so many nanoseconds.
func Sleep(ns int64) Body {
	return func(k *Kit) asm.Instr {
		var sub [48]byte // a subscription: a clock, the monotonic one, relative
		sub[16] = 1
		binary.LittleEndian.PutUint64(sub[24:], uint64(ns))
		in := k.Bytes(sub[:])
		return in + asm.Drop + asm.I32Const(Scratch) + asm.I32Const(1) + asm.I32Const(Scratch+64) +
			asm.Call(k.Poll) + asm.Drop
	}
}

// Print writes to stdout (1) or stderr (2).
func Print(fd int32, text string) Body {
	return func(k *Kit) asm.Instr {
		var vector [8]byte
		k.Module.Data(k.data, text)
		binary.LittleEndian.PutUint32(vector[:], uint32(k.data))
		binary.LittleEndian.PutUint32(vector[4:], uint32(len(text)))
		k.data += int32(len(text))
		return asm.I32Const(fd) + k.Bytes(vector[:]) + asm.Drop + asm.I32Const(1) +
			asm.I32Const(Scratch) + asm.Call(k.Write) + asm.Drop
	}
}

// Log logs a line at a level.
func Log(level abi.Level, text string) Body {
	return func(k *Kit) asm.Instr {
		return asm.I32Const(int32(level)) + k.Bytes([]byte(text)) + asm.Call(k.Log)
	}
}

// Times does something n times. It takes local 3.
func Times(n int32, b Body) Body {
	return func(k *Kit) asm.Instr {
		return asm.I32Const(n) + asm.LocalSet(3) + asm.Loop(
			b(k),
			asm.LocalGet(3), asm.I32Const(1), asm.I32Sub, asm.LocalTee(3), asm.BrIf(0))
	}
}

// UntilCancelled runs until the host says that the caller has cancelled.
func UntilCancelled(k *Kit) asm.Instr {
	return asm.Loop(asm.Call(k.Cancelled), asm.I32Eqz, asm.BrIf(0))
}

func le32(s string) int32 { return int32(binary.LittleEndian.Uint32([]byte(s))) }
