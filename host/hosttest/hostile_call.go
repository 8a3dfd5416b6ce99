package hosttest

import (
	"encoding/binary"
	"math"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
)

// Spinning gives plugins that never end by themselves, each in its own way, when their argument is
// [Bad]. Their limits do not end them soon.
func Spinning() []Case {
	forever := func(b Body) Body { return func(k *Kit) asm.Instr { return asm.Loop(b(k), asm.Br(0)) } }
	list := []Case{
		inCall("loops", Loop, ""),
		inCall("recurses in breadth, without a loop", Branch, ""),
		inCall("recurses by tail calls", tailCalls, ""),
		inCall("fills memory in a straight line", fills, ""),
		inCall("copies memory in a loop", Then(Grow(15), forever(Instrs(
			asm.I32Const(0), asm.I32Const(1), asm.I32Const(1<<20-1), asm.MemoryCopy))), ""),
		inCall("asks whether it is cancelled, and does not mind", forever(func(k *Kit) asm.Instr {
			return asm.Call(k.Cancelled) + asm.Drop
		}), ""),
		inCall("asks for randomness", forever(func(k *Kit) asm.Instr {
			return asm.I32Const(0) + asm.I32Const(1<<20) + asm.Call(k.Random) + asm.Drop
		}), ""),
		inCall("sleeps for a moment, again and again", forever(Sleep(1)), ""),
		inCall("reads the request, again and again", forever(func(k *Kit) asm.Instr {
			return asm.I32Const(0) + asm.I32Const(0) + asm.Call(k.Input) + asm.Drop
		}), ""),
		inCall("polls stdin, which is at its end", forever(pollStdin), ""),
		inCall("logs", forever(Log(abi.LevelInfo, "again")), ""),
		inCall("prints", forever(Print(2, "again\n")), ""),
		inCall("waits for stdin by system calls that fail", forever(func(k *Kit) asm.Instr {
			return asm.Repeat(4, asm.I32Const(-1)) + asm.Call(k.ReadFD) + asm.Drop
		}), ""),
	}
	for i := range list { // room for the fills
		list[i].Policy.Limits.Memory = 0
	}
	return list
}

// endless are ended by the time or by the fuel.
func endless() (cases []Case) {
	for _, c := range Spinning() {
		cases = append(cases, c.because("limit.time").within(shortly))
	}
	fuel := inCall("uses up its fuel", Loop, "limit.fuel")
	fuel.Policy.Limits.Fuel = 20_000_000
	after := Then(OK, Loop)
	return append(cases, fuel,
		inCall("sleeps for an hour", Sleep(3_600_000_000_000), "limit.time").within(shortly),
		inCall("sleeps for ever", Sleep(math.MaxInt64), "limit.time").within(shortly),
		inCall("replies, and then loops", after, "limit.time").within(shortly))
}

// Branch calls itself twice, sixty deep: it would end, some day.
func Branch(k *Kit) asm.Instr {
	self := k.Module.NextFunc()
	again := asm.LocalGet(0) + asm.I32Const(1) + asm.I32Sub + asm.Call(self)
	k.Module.Func("i32", "", asm.LocalGet(0), asm.I32Eqz, asm.If(asm.Return), again, again)
	return asm.I32Const(60) + asm.Call(self)
}

func tailCalls(k *Kit) asm.Instr {
	self := k.Module.NextFunc()
	k.Module.Func("", "", asm.ReturnCall(self))
	return asm.Call(self)
}

// fills writes 64 MiB two thousand times, without a loop.
func fills(k *Kit) asm.Instr {
	const pages = 1024
	fill := asm.I32Const(1<<16) + asm.I32Const(7) + asm.I32Const(pages<<16) + asm.MemoryFill
	return asm.I32Const(pages) + asm.MemoryGrow + asm.Drop + asm.Repeat(2_000, fill)
}

// greedy want more memory or stack than there is.
func greedy() []Case {
	growTable := func(k *Kit) asm.Instr {
		table := uint32(k.Module.Table("externref", 1))
		grow := func(n int32) asm.Instr {
			return asm.RefNull("externref") + asm.I32Const(n) + asm.TableGrow(table)
		}
		full := grow(1<<10) + asm.I32Const(-1) + asm.I32Ne + asm.BrIf(0)
		refused := grow(-2) + asm.I32Const(-1) + asm.I32Ne + asm.If(asm.Unreachable)
		bounded := asm.TableSize(table) + asm.I32Const(1<<16) + asm.I32GtU + asm.If(asm.Unreachable)
		return refused + asm.Loop(full) + bounded + OK(k)
	}
	untilRefused := asm.Loop(asm.I32Const(1) + asm.MemoryGrow + asm.I32Const(-1) + asm.I32Ne + asm.BrIf(0))
	wide := Instrs(asm.I32Const(-1), asm.MemoryGrow, asm.I32Const(-1), asm.I32Ne, asm.If(asm.Unreachable))
	return []Case{
		inCall("recurses for ever", Recurse, "limit.stack"),
		inCall("recurses, and then would sleep", Then(Recurse, Sleep(1<<62)), "limit.stack"),
		inCall("grows until it gets nothing, and goes on", Then(Instrs(untilRefused), OK), "").
			replies(okTrue),
		inCall("grows until it gets nothing, and aborts", Instrs(untilRefused, asm.Unreachable),
			"limit.memory"),
		inCall("grows by 2^32-1 pages, and goes on", Then(wide, OK), "").replies(okTrue),
		inCall("grows a table as far as it goes", growTable, "").replies(okTrue),
	}
}

func traps() []Case {
	at := func(ptr int32) Body { return Instrs(asm.I32Const(ptr), asm.I32Load(0), asm.Drop) }
	return []Case{
		inCall("unreachable", Trap, "trap.unreachable"),
		inCall("reads past its memory", at(1<<16), "trap.out_of_bounds"),
		inCall("reads at the end of the address space", at(-1), "trap.out_of_bounds"),
		inCall("reads at twice the address space",
			Instrs(asm.I32Const(-1), asm.I32Load(math.MaxUint32), asm.Drop), "trap.out_of_bounds"),
		inCall("divides by zero", Instrs(asm.I32Const(1), asm.I32Const(0), asm.I32DivU, asm.Drop),
			"trap.div_by_zero"),
		inCall("panics as Go does", Then(Print(2, "panic: no luck\n"), Exit(2)), "exit"),
		inCall("aborts as Rust does", Then(Print(2, "thread panicked\n"), Trap), "trap.unreachable"),
		inCall("exits with 0 in the middle", Exit(0), "exit"),
		inCall("exits with 3", Exit(3), "exit"),
		inCall("exits with the engine's own code for a closed module", Exit(0xffffffff), "exit"),
	}
}

func badReplies() []Case {
	huge := inCall("replies more than it may", ReplyRange(0, 1001), "limit.output")
	huge.Policy.Limits.Output = 1000
	return []Case{
		inCall("no reply", Silent, "no_reply"),
		inCall("two replies", Then(OK, OK), "contract"),
		inCall("a reply behind its memory", ReplyRange(1<<16, 1), "contract"),
		inCall("a reply half in its memory", ReplyRange(1<<16-1, 2), "contract"),
		inCall("a reply past 2^32", ReplyRange(math.MaxUint32, math.MaxUint32), "contract"),
		inCall("an empty reply", ReplyRange(1<<16, 0), "").replies(nil),
		inCall("a reply that is no msgpack", Reply([]byte{0xc1}), "").replies([]byte{0xc1}),
		huge,
		inCall("replies, and then traps", Then(OK, Trap), "trap.unreachable"),
		inCall("replies, and then exits with 3", Then(OK, Exit(3)), "exit"),
		inCall("replies, and then exits with 0", Then(OK, Exit(0)), "").replies(okTrue),
		inCall("replies, and then overwrites it", Then(OK, Instrs(asm.I32Const(0), asm.I32Const(0),
			asm.I32Const(1<<16), asm.MemoryFill)), "").replies(okTrue),
	}
}

// patient wait for what never comes.
func patient() []Case {
	return []Case{
		inCall("polls without a clock", Then(pollStdin, OK), "").replies(okTrue),
		inCall("reads stdin", Then(readStdin, OK), "").replies(okTrue),
	}
}

// pollStdin waits for stdin to have something, and for nothing else.
func pollStdin(k *Kit) asm.Instr {
	var subscription [48]byte
	subscription[8] = 1 // to reading, of descriptor 0
	return k.Bytes(subscription[:]) + asm.Drop + asm.I32Const(Scratch) + asm.I32Const(1) +
		asm.I32Const(Scratch+64) + asm.Call(k.Poll) + asm.If(asm.Unreachable)
}

// readStdin traps unless reading stdin succeeds with nothing.
func readStdin(k *Kit) asm.Instr {
	var vector [8]byte // one byte at Scratch
	binary.LittleEndian.PutUint32(vector[:], Scratch)
	vector[4] = 1
	return asm.I32Const(0) + k.Bytes(vector[:]) + asm.Drop + asm.I32Const(1) +
		asm.I32Const(Scratch+8) + asm.Call(k.ReadFD) + asm.I32Const(Scratch+8) + asm.I32Load(0) +
		asm.I32Or + asm.If(asm.Unreachable)
}

// floods say far more than anybody wants to hear.
func floods() []Case {
	const lines = 10_000
	evil := "\x1b[2J\x1b]0;owned\x07\nERROR forged line \u202e\x00\xff"
	return []Case{
		inCall("floods stdout", Then(Times(lines, Print(1, evil)), OK), "").replies(okTrue),
		inCall("floods stderr", Then(Times(lines, Print(2, evil)), OK), "").replies(okTrue),
		inCall("floods the log", Then(Times(lines, Log(abi.LevelError, evil)), OK), "").replies(okTrue),
		inCall("floods stderr, and then traps", Then(Times(lines, Print(2, evil)), Trap),
			"trap.unreachable"),
	}
}

// secretive hide something in a call and trap when a later one finds it.
func secretive() []Case {
	const secret = 0x5ec7e7
	cases := []Case{
		hides("memory", asm.I32Const(Scratch)+asm.I32Load(0),
			asm.I32Const(Scratch)+asm.I32Const(secret)+asm.I32Store(0)),
		hides("memory that it grew by", asm.MemorySize+asm.I32Const(1)+asm.I32Sub,
			asm.I32Const(3)+asm.MemoryGrow+asm.Drop+
				asm.I32Const(3<<16)+asm.I32Const(secret)+asm.I32Store(0)),
		hides("memory that it grows by again",
			asm.I32Const(3)+asm.MemoryGrow+asm.Drop+asm.I32Const(3<<16)+asm.I32Load(0),
			asm.I32Const(3<<16)+asm.I32Const(secret)+asm.I32Store(0)),
	}
	var global asm.GlobalIndex
	withGlobal := func(b Body) Body {
		return func(k *Kit) asm.Instr {
			global = k.Module.Global("i64", true, asm.I64Const(0))
			return b(k)
		}
	}
	look := func(in ...asm.Instr) asm.Instr { return asm.Seq(in...) + asm.If(asm.Unreachable) }
	inGlobal := Plugin{Name: "t", Call: withGlobal(func(k *Kit) asm.Instr {
		return look(asm.GlobalGet(global), asm.I64Eqz, asm.I32Eqz) +
			Then(OnBad(Then(Instrs(asm.I64Const(secret), asm.GlobalSet(global)), Echo)))(k)
	})}
	inTable := Plugin{Name: "t", Call: func(k *Kit) asm.Instr {
		table := uint32(k.Module.Table("externref", 0, 8))
		return look(asm.TableSize(table)) + OnBad(Then(Instrs(asm.RefNull("externref"),
			asm.I32Const(3), asm.TableGrow(table), asm.Drop), Echo))(k)
	}}
	return append(cases, hidden("a global", inGlobal), hidden("a table", inTable),
		hidden("the flags of a descriptor", descriptorFlags()),
		hidden("a closed descriptor", closedDescriptor()))
}

// hides is a plugin that writes its secret with one piece of code. The other leaves 0, unless it
// finds something.
func hides(where string, find, write asm.Instr) Case {
	return hidden(where, Plugin{Name: "t", Call: Then(
		Instrs(find+asm.If(asm.Unreachable)), OnBad(Then(Instrs(write), Echo)))})
}

func hidden(where string, p Plugin) Case {
	return Case{Name: "hides a secret in " + where, Wasm: p.Bytes(), Reply: Answer(Bad),
		Policy: host.Policy{Limits: host.Limits{Memory: 2 << 20}}}
}

func descriptorFlags() Plugin {
	const nonblock = 4
	var get, set asm.FuncIndex
	return Plugin{Name: "t",
		Import: func(k *Kit) {
			const wasi = "wasi_snapshot_preview1"
			get = k.Module.ImportFunc(wasi, "fd_fdstat_get", "i32 i32 -> i32")
			set = k.Module.ImportFunc(wasi, "fd_fdstat_set_flags", "i32 i32 -> i32")
		},
		Call: func(k *Kit) asm.Instr {
			flags := asm.I32Const(1) + asm.I32Const(Scratch) + asm.Call(get) + asm.Drop +
				asm.I32Const(Scratch) + asm.I32Load8U(2)
			hide := asm.I32Const(1) + asm.I32Const(nonblock) + asm.Call(set) + asm.Drop
			kept := flags + asm.I32Eqz + asm.If(asm.Unreachable) // else there is nothing to be found
			return flags + asm.If(asm.Unreachable) + OnBad(Then(Instrs(hide, kept), Echo))(k)
		}}
}

func closedDescriptor() Plugin {
	var shut asm.FuncIndex
	return Plugin{Name: "t",
		Import: func(k *Kit) {
			shut = k.Module.ImportFunc("wasi_snapshot_preview1", "fd_close", "i32 -> i32")
		},
		Call: func(k *Kit) asm.Instr {
			closing := asm.I32Const(2) + asm.Call(shut) + asm.If(asm.Unreachable) // it must be open
			return closing + OnBad(Echo)(k)
		}}
}
