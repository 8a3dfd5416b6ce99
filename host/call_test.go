package host_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
)

// Every way in which a guest can end a call badly: the wire name and the whole text. After each,
// the next call of the same plugin and a call of another plugin must be as if nothing had happened.
func TestHowCallsEnd(t *testing.T) {
	const inCall = ` in function "wasmagent_call"`
	second := hosttest.Then(hosttest.OK, hosttest.OK)
	after := func(b hosttest.Body) hosttest.Body { return hosttest.Then(hosttest.OK, b) }
	for _, c := range []struct {
		name        string
		body        hosttest.Body
		cause, text string
	}{
		{"unreachable", hosttest.Trap, "trap.unreachable", "trapped: unreachable" + inCall},
		{"load past the end",
			hosttest.Instrs(asm.I32Const(-1), asm.I32Load(0), asm.Drop),
			"trap.out_of_bounds", "trapped: out of bounds memory access" + inCall},
		{"fill past the end",
			hosttest.Instrs(asm.I32Const(65530), asm.I32Const(0), asm.I32Const(7), asm.MemoryFill),
			"trap.out_of_bounds", "trapped: out of bounds memory access" + inCall},
		{"division by zero",
			hosttest.Instrs(asm.I32Const(1), asm.I32Const(0), asm.I32DivU, asm.Drop),
			"trap.div_by_zero", "trapped: integer divide by zero" + inCall},
		{"quotient past 32 bits",
			hosttest.Instrs(asm.I32Const(math.MinInt32), asm.I32Const(-1), asm.I32DivS, asm.Drop),
			"trap.int_overflow", "trapped: integer overflow" + inCall},
		{"NaN as an integer",
			hosttest.Instrs(asm.F64Const(math.Float64bits(math.NaN())), asm.I32TruncF64S, asm.Drop),
			"trap.invalid_conversion", "trapped: invalid conversion to integer" + inCall},
		{"indirect call of another type", indirect(0), "trap.indirect_call",
			"trapped: indirect call type mismatch" + inCall},
		{"indirect call of an empty slot", indirect(1), "trap.table",
			"trapped: invalid table access" + inCall},
		{"indirect call past the table", indirect(2), "trap.table",
			"trapped: invalid table access" + inCall},
		{"stderr before a trap",
			hosttest.Then(hosttest.Print(2, "panic: \x1b[31mno\nluck\n"), hosttest.Trap),
			"trap.unreachable",
			"trapped: `panic: \\x1b[31mno`: unreachable" + inCall +
				"\nstderr:\n\tpanic: \\x1b[31mno\n\tluck"},
		{"other stderr before a trap", hosttest.Then(hosttest.Print(2, "no panic: \n"), hosttest.Trap),
			"trap.unreachable", "trapped: unreachable" + inCall + "\nstderr:\n\tno panic: "},
		{"recursion for ever", hosttest.Recurse, "limit.stack",
			"exceeded the stack limit: its calls are nested too deep"},
		{"memory refused, then abort", hosttest.Grow(32), "limit.memory",
			"exceeded its memory limit of 2 MiB, asking for 2112 KiB (limits.memory)"},
		{"memory refused, then exit 2",
			hosttest.Then(hosttest.Instrs(asm.I32Const(32), asm.MemoryGrow, asm.Drop), hosttest.Exit(2)),
			"limit.memory",
			"exceeded its memory limit of 2 MiB, asking for 2112 KiB (limits.memory)"},
		{"memory refused, then another trap",
			hosttest.Instrs(asm.I32Const(32), asm.MemoryGrow, asm.I32Load(0), asm.Drop),
			"trap.out_of_bounds",
			"trapped: out of bounds memory access" + inCall + " (earlier it was refused memory: " +
				"exceeded its memory limit of 2 MiB, asking for 2112 KiB (limits.memory))"},
		{"exit 0", hosttest.Exit(0), "exit", "exited with code 0 before it had replied"},
		{"exit 3", hosttest.Exit(3), "exit", "exited with code 3"},
		{"exit with the engine's own code for a timeout", hosttest.Exit(0xefffffff), "exit",
			"exited with code 4026531839"},
		{"no reply", hosttest.Silent, "no_reply", "returned without a reply"},
		{"two replies", second, "contract", "a second output"},
		{"reply outside memory", hosttest.ReplyRange(65536, 1), "contract",
			"output: 1 bytes at 65536 are not in its memory of 65536 bytes"},
		{"reply past 2^32", hosttest.ReplyRange(math.MaxUint32, math.MaxUint32), "contract",
			"output: 4294967295 bytes at 4294967295 are not in its memory of 65536 bytes"},
		{"input outside memory",
			func(k *hosttest.Kit) asm.Instr {
				return asm.I32Const(65000) + asm.I32Const(1000) + asm.Call(k.Input) + asm.Drop
			}, "contract", "input: 1000 bytes at 65000 are not in its memory of 65536 bytes"},
		{"log outside memory",
			func(k *hosttest.Kit) asm.Instr {
				return asm.I32Const(0) + asm.I32Const(-1) + asm.I32Const(2) + asm.Call(k.Log)
			}, "contract", "log: 2 bytes at 4294967295 are not in its memory of 65536 bytes"},
		{"reply, then a trap", after(hosttest.Trap), "trap.unreachable",
			"trapped: unreachable" + inCall},
		{"reply, then exit 3", after(hosttest.Exit(3)), "exit", "exited with code 3"},
		{"reply, then a loop", after(hosttest.Loop), "limit.time",
			"exceeded its time limit of 500ms (limits.time)"},
		{"loop", hosttest.Loop, "limit.time", "exceeded its time limit of 500ms (limits.time)"},
		{"sleep for an hour", hosttest.Sleep(int64(time.Hour)), "limit.time",
			"exceeded its time limit of 500ms (limits.time)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := hosttest.Engine(t)
			policy := host.Policy{Limits: host.Limits{Time: time.Hour, Memory: 2 << 20}}
			if c.cause == "limit.time" {
				policy.Limits.Time = 500 * time.Millisecond
			}
			good := hosttest.Compile(t, e, hosttest.Tiny("good"), host.Policy{})
			m := plugin(t, e, hosttest.OnBad(c.body), policy)
			reply, stats, err := m.Call(t.Context(), request("bad"), nil, []byte("kept"))
			named, ok := errors.AsType[causeNamer](err)
			if !ok || named.CauseName() != c.cause || err.Error() != c.text {
				t.Errorf("got %#v\ntext %q\nwant %q", err, err, c.text)
			}
			if string(reply) != "kept" {
				t.Errorf("reply %q", reply)
			}
			if stats.Memory < 65536 {
				t.Errorf("memory %d", stats.Memory)
			}
			for _, m := range []*host.Module{m, good} {
				if reply, err := call(t.Context(), m, "good", nil); string(reply) != okReply("good") {
					t.Errorf("afterwards: %q, %v", reply, err)
				}
			}
		})
	}
}

// indirect calls slot i of a table that has a function of another type, nothing, and no third slot.
func indirect(i int32) hosttest.Body {
	return func(k *hosttest.Kit) asm.Instr {
		k.Module.Table("funcref", 2)
		k.Module.Elem(0, k.Module.Func("i32 -> i32", "", asm.LocalGet(0)))
		return asm.I32Const(i) + asm.CallIndirect(k.Module.Type(""), 0)
	}
}

func TestTimeLimitIsADeadline(t *testing.T) {
	m := plugin(t, hosttest.Engine(t), hosttest.Loop, host.Policy{Limits: host.Limits{Time: 1}})
	_, err := call(t.Context(), m, "", nil)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v does not match context.DeadlineExceeded", err)
	}
}

// The limits that hold when nobody has set any must stop a guest that loops.
func TestDefaultsStopALoop(t *testing.T) {
	if testing.Short() {
		t.Skip("takes the default time limit")
	}
	t.Parallel()
	m := plugin(t, hosttest.Engine(t), hosttest.Loop, host.Policy{})
	_, err := call(t.Context(), m, "", nil)
	limit, ok := errors.AsType[*host.LimitError](err)
	if !ok || limit.Limit != "time" || limit.Time != host.DefaultTime {
		t.Errorf("%v", err)
	}
}

func TestReplies(t *testing.T) {
	for _, c := range []struct {
		name string
		body hosttest.Body
		want string
	}{
		{"echo", hosttest.Echo, okReply("hi")},
		{"exit 0 after the reply", hosttest.Then(hosttest.OK, hosttest.Exit(0)), "\x81\xa2ok\xc3"},
		{"empty", hosttest.ReplyRange(65536, 0), ""},
		{"not msgpack", hosttest.Reply([]byte{0xc1}), "\xc1"},
		{"memory refused, and it goes on", hosttest.Then(
			hosttest.Instrs(asm.I32Const(1<<14), asm.MemoryGrow, asm.Drop), hosttest.OK), "\x81\xa2ok\xc3"},
		{"memory changed after output", hosttest.Then(hosttest.Reply([]byte("kept")),
			hosttest.Instrs(asm.I32Const(0), asm.I32Const(0), asm.I32Const(65536), asm.MemoryFill)),
			"kept"},
	} {
		m := plugin(t, hosttest.Engine(t), c.body, host.Policy{})
		reply, _, err := m.Call(t.Context(), request("hi"), nil, []byte("before:"))
		if err != nil || string(reply) != "before:"+c.want {
			t.Errorf("%s: %q, %v", c.name, reply, err)
		}
	}
}

// A guest sees the request as coded, and the time it has: its own limit, or the caller's when that
// is nearer.
func TestRequestReachesGuest(t *testing.T) {
	raw := hosttest.Then(hosttest.ReadRequest, func(k *hosttest.Kit) asm.Instr {
		return asm.I32Const(40<<10) + asm.LocalGet(0) + asm.Call(k.Output)
	})
	m := plugin(t, hosttest.Engine(t), raw, host.Policy{Limits: host.Limits{Time: time.Hour}})
	req := abi.Request{Tool: "t", CallID: "c7", Attempt: 2, IdempotencyKey: "k",
		Input: abi.Raw(abi.AppendBool(nil, true))}
	for _, c := range []struct {
		name     string
		deadline time.Duration // of the caller's, 0 for none
		min, max int64         // milliseconds
	}{
		{"its own", 0, 3_600_000, 3_600_000},
		{"the caller's", 30 * time.Minute, 1, 1_800_000},
		{"its own, being nearer", 2 * time.Hour, 3_600_000, 3_600_000},
	} {
		ctx, cancel := t.Context(), func() {}
		if c.deadline > 0 {
			ctx, cancel = context.WithTimeout(ctx, c.deadline)
		}
		b, _, err := m.Call(ctx, req, nil, nil)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		got, err := abi.ParseRequest(b)
		if err != nil {
			t.Fatal(err)
		}
		if got.DeadlineMS < c.min || got.DeadlineMS > c.max {
			t.Errorf("%s: %d ms", c.name, got.DeadlineMS)
		}
		if got.Tool != "t" || got.CallID != "c7" || got.Attempt != 2 || got.IdempotencyKey != "k" ||
			!bytes.Equal(got.Input, req.Input) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// Large arguments make the round trip, and memory grows for them.
func TestLargeArguments(t *testing.T) {
	m := plugin(t, hosttest.Engine(t), hosttest.Echo, host.Policy{})
	for _, size := range []int{15 << 10, 1 << 20, 8 << 20} {
		s := strings.Repeat("x", size)
		reply, err := call(t.Context(), m, s, nil)
		if err != nil || string(reply) != okReply(s) {
			t.Errorf("%d bytes: %d bytes back, %v", size, len(reply), err)
		}
	}
}

// Whatever a call leaves behind in memory, globals, tables or random state, the next does not find.
func TestCallsShareNothing(t *testing.T) {
	e := hosttest.Engine(t)
	stateful := func(k *hosttest.Kit) asm.Instr {
		count := k.Module.Global("i32", true, asm.I32Const(0))
		table := uint32(k.Module.Table("externref", 0, 8))
		here := asm.I32Const(hosttest.Scratch)
		return asm.Seq(
			asm.GlobalGet(count), here+asm.I32Load(0), asm.I32Or, asm.TableSize(table), asm.I32Or,
			asm.If(asm.Unreachable),
			asm.I32Const(1), asm.GlobalSet(count),
			here, asm.I32Const(1), asm.I32Store(0),
			asm.RefNull("externref"), asm.I32Const(3), asm.TableGrow(table), asm.Drop,
			hosttest.OK(k))
	}
	m := plugin(t, e, stateful, host.Policy{})
	for range 3 {
		if _, err := call(t.Context(), m, "", nil); err != nil {
			t.Errorf("something was left: %v", err)
		}
	}
	random := plugin(t, e, func(k *hosttest.Kit) asm.Instr {
		return asm.I32Const(hosttest.Scratch) + asm.I32Const(16) + asm.Call(k.Random) + asm.Drop +
			hosttest.ReplyRange(hosttest.Scratch, 16)(k)
	}, host.Policy{})
	first, err1 := call(t.Context(), random, "", nil)
	second, err2 := call(t.Context(), random, "", nil)
	if err := errors.Join(err1, err2); err != nil || bytes.Equal(first, second) {
		t.Errorf("random bytes % x and % x, %v", first, second, err)
	}
}

// System calls with the wildest arguments may fail the guest, never the host.
func TestWildSystemCalls(t *testing.T) {
	e := hosttest.Engine(t)
	for _, n := range []int32{0, -1, 1, 1 << 30, 0x05555556, math.MinInt32} {
		body := func(k *hosttest.Kit) asm.Instr {
			four := asm.Repeat(4, asm.I32Const(n))
			return asm.Seq(
				four, asm.Call(k.Poll), asm.Drop,
				asm.I32Const(0), asm.I32Const(0), asm.I32Const(n), asm.I32Const(0),
				asm.Call(k.Poll), asm.Drop,
				four, asm.Call(k.Write), asm.Drop,
				four, asm.Call(k.ReadFD), asm.Drop,
				asm.I32Const(n), asm.I32Const(n), asm.Call(k.Random), asm.Drop,
				hosttest.OK(k))
		}
		_, err := call(t.Context(), plugin(t, e, body, host.Policy{}), "", nil)
		if _, ok := errors.AsType[causeNamer](err); err != nil && !ok {
			t.Errorf("%d: %v", n, err)
		}
	}
}
