package rewrite

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wasmagent/wasmagent/host/hosttest/asm"
)

// dec counts a local down and leaves it on the stack: 4 instructions.
func dec(local uint32) asm.Instr {
	return asm.Seq(asm.LocalGet(local), asm.I32Const(1), asm.Op(opI32Sub), asm.LocalTee(local))
}

// padding makes a function too big for its callers to pay.
var padding = asm.Repeat(33, asm.Seq(asm.I32Const(0), asm.Drop)) // 66 instructions

// TestFuel is the cost model, number by number. A change here is a change of what hosts promise.
func TestFuel(t *testing.T) {
	i32 := asm.I32Const(0)
	fill := asm.Op(opMisc, miscMemoryFill, 0)
	tests := []struct {
		name string
		f    func(m *asm.Module) asm.FuncIndex // takes an i32
		arg  uint64
		want int64
	}{
		{"small", func(m *asm.Module) asm.FuncIndex { return m.Func("i32", "", asm.Nop) }, 0, 0},
		{"64 instructions", func(m *asm.Module) asm.FuncIndex {
			return m.Func("i32", "", asm.Repeat(32, asm.Seq(i32, asm.Drop)))
		}, 0, 0},
		{"66 instructions", func(m *asm.Module) asm.FuncIndex {
			return m.Func("i32", "", padding)
		}, 0, 66},
		{"structure is free", func(m *asm.Module) asm.FuncIndex {
			return m.Func("i32", "", padding, asm.Block(asm.Nop),
				asm.LocalGet(0), asm.IfElse(asm.Nop, asm.Nop))
		}, 0, 68},
		{"call of a small one", func(m *asm.Module) asm.FuncIndex {
			small := m.Func("", "", i32, asm.Drop, i32, asm.Drop)
			return m.Func("i32", "", padding, asm.Call(small), asm.Call(small))
		}, 0, 66 + 2*(1+4)},
		{"small ones add up", func(m *asm.Module) asm.FuncIndex {
			a := m.Func("", "", asm.Repeat(15, asm.Seq(i32, asm.Drop))) // 30
			b := m.Func("", "", asm.Call(a), asm.Call(a))               // 2 + 60, still small
			return m.Func("i32", "", asm.Call(b), asm.Call(b))          // 2 + 124, not small
		}, 0, 2 + 2*62},
		{"loop", func(m *asm.Module) asm.FuncIndex {
			return m.Func("i32", "", asm.Loop(dec(0), asm.BrIf(0)))
		}, 10, 10 * 5},
		{"after a loop", func(m *asm.Module) asm.FuncIndex {
			return m.Func("i32", "", i32, asm.Drop, asm.Loop(dec(0), asm.BrIf(0)), i32, asm.Drop)
		}, 10, 4 + 10*5},
		{"loop in a loop", func(m *asm.Module) asm.FuncIndex {
			return m.Func("i32", "i32", asm.Loop(
				asm.I32Const(3), asm.LocalSet(1),
				asm.Loop(dec(1), asm.BrIf(0)),
				dec(0), asm.BrIf(0)))
		}, 10, 10 * (7 + 3*5)},
		{"call of itself", func(m *asm.Module) asm.FuncIndex {
			return m.Func("i32", "", asm.LocalGet(0), asm.If(dec(0), asm.Call(m.NextFunc())))
		}, 10, 11 * 7},
		{"indirect call", func(m *asm.Module) asm.FuncIndex {
			m.Table("funcref", 1)
			m.Elem(0, m.Func("", "", i32, asm.Drop))
			return m.Func("i32", "", i32, asm.CallIndirect(m.Type(""), 0))
		}, 0, 1 + 65},
		{"call of the host", func(m *asm.Module) asm.FuncIndex {
			return m.Func("i32", "", padding, asm.Call(0)) // the host charges what it does
		}, 0, 67},
		{"fill", func(m *asm.Module) asm.FuncIndex {
			return m.Func("i32", "", i32, i32, asm.LocalGet(0), fill)
		}, 1600, 3 + 32 + 100},
		{"fill of nearly a unit", func(m *asm.Module) asm.FuncIndex {
			return m.Func("i32", "", i32, i32, asm.LocalGet(0), fill)
		}, 15, 3 + 32},
		{"fill of too much traps after it is charged", func(m *asm.Module) asm.FuncIndex {
			return m.Func("i32", "", i32, i32, asm.LocalGet(0), fill)
		}, math.MaxUint32, 3 + 32 + 1<<28 - 1},
		{"copy", func(m *asm.Module) asm.FuncIndex {
			return m.Func("i32", "", i32, i32, asm.LocalGet(0), asm.Op(opMisc, miscMemoryCopy, 0, 0))
		}, 32, 3 + 32 + 2},
		{"init", func(m *asm.Module) asm.FuncIndex {
			m.PassiveData("0123456789abcdef")
			return m.Func("i32", "", i32, i32, asm.LocalGet(0), asm.MemoryInit(0))
		}, 16, 3 + 32 + 1},
		{"grow", func(m *asm.Module) asm.FuncIndex {
			return m.Func("i32", "", asm.LocalGet(0), asm.Op(opMemoryGrow, 0), asm.Drop)
		}, 2, 2 + 64 + 2*4096},
		{"grow that fails", func(m *asm.Module) asm.FuncIndex {
			return m.Func("i32", "", asm.LocalGet(0), asm.Op(opMemoryGrow, 0), asm.Drop)
		}, 1 << 31, 2 + 64},
		{"table.fill", func(m *asm.Module) asm.FuncIndex {
			m.Table("funcref", 10)
			return m.Func("i32", "", i32, asm.RefNull("funcref"), asm.LocalGet(0), asm.TableFill(0))
		}, 10, 3 + 32 + 10},
		{"table.grow", func(m *asm.Module) asm.FuncIndex {
			m.Table("funcref", 10)
			return m.Func("i32", "", asm.RefNull("funcref"), asm.LocalGet(0), asm.TableGrow(0), asm.Drop)
		}, 100, 3 + 64 + 100},
		{"table.grow that fails", func(m *asm.Module) asm.FuncIndex {
			m.Table("funcref", 10)
			return m.Func("i32", "", asm.RefNull("funcref"), asm.LocalGet(0), asm.TableGrow(0), asm.Drop)
		}, DefaultTableElements, 3 + 64},
		{"table.copy", func(m *asm.Module) asm.FuncIndex {
			m.Table("funcref", 10)
			return m.Func("i32", "", i32, i32, asm.LocalGet(0), asm.Op(opMisc, miscTableCopy, 0, 0))
		}, 7, 3 + 32 + 7},
		{"table.init", func(m *asm.Module) asm.FuncIndex {
			m.Table("funcref", 10)
			m.PassiveElem(0, 0, 0)
			return m.Func("i32", "", i32, i32, asm.LocalGet(0), asm.TableInit(0, 0))
		}, 3, 3 + 32 + 3},
		{"ref.func", func(m *asm.Module) asm.FuncIndex {
			m.Export("other", m.Func("", ""))
			return m.Func("i32", "", padding, asm.RefFunc(1), asm.Drop)
		}, 0, 66 + 64 + 1},
		{"priced in a loop", func(m *asm.Module) asm.FuncIndex {
			return m.Func("i32", "", asm.Loop(i32, i32, asm.I32Const(64), fill, dec(0), asm.BrIf(0)))
		}, 10, 10 * (8 + 32 + 4)},
	}
	for _, test := range tests {
		m := asm.New()
		m.ImportFunc("env", "f", "")
		m.Memory(1, 4)
		m.Export("run", test.f(m))
		for _, engine := range engines {
			mod, h := loadWithEnv(t, engine.config, m.Bytes(), tickOften)
			mod.ExportedFunction("run").Call(h.ctx, test.arg) // some trap
			if got := h.spent(mod); got != test.want {
				t.Errorf("%s, %s: %d units, want %d", test.name, engine.name, got, test.want)
			}
		}
	}
}

func loadWithEnv(t *testing.T, config wazero.RuntimeConfig, wasm []byte, slice int64) (
	api.Module, *machine) {
	t.Helper()
	h := newMachine(t, config, slice)
	env := h.NewHostModuleBuilder("env").NewFunctionBuilder().WithFunc(func() {}).Export("f")
	if _, err := env.Instantiate(h.ctx); err != nil {
		t.Fatal(err)
	}
	mod, err := h.load(wasm, nil, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		t.Fatal(err)
	}
	return mod, h
}

// Whatever runs without an end comes to tick, and tick can end it.
func TestNothingEscapes(t *testing.T) {
	i32 := asm.I32Const(0)
	tests := []struct {
		name string
		run  func(m *asm.Module) asm.FuncIndex // () -> ()
	}{
		{"loop", func(m *asm.Module) asm.FuncIndex { return m.Func("", "", asm.Loop(asm.Br(0))) }},
		{"loop with results", func(m *asm.Module) asm.FuncIndex {
			return m.Func("", "", asm.Op(opLoop, byte(I32)), asm.Br(0), asm.Op(opEnd), asm.Drop)
		}},
		{"loop with parameters", func(m *asm.Module) asm.FuncIndex {
			typ := byte(m.Type("i32"))
			return m.Func("", "", i32, asm.Op(opLoop, typ), asm.Br(0), asm.Op(opEnd))
		}},
		{"loop that calls a small function", func(m *asm.Module) asm.FuncIndex {
			small := m.Func("", "", i32, asm.Drop)
			return m.Func("", "", asm.Loop(asm.Call(small), asm.Br(0)))
		}},
		{"br_table", func(m *asm.Module) asm.FuncIndex {
			return m.Func("", "", asm.Loop(asm.Block(i32, asm.BrTable(1, 0))))
		}},
		{"tail call of itself", func(m *asm.Module) asm.FuncIndex {
			return m.Func("", "", asm.ReturnCall(m.NextFunc()))
		}},
		{"tail calls in turn", func(m *asm.Module) asm.FuncIndex {
			other := m.Func("", "", asm.ReturnCall(m.NextFunc()+1))
			return m.Func("", "", asm.ReturnCall(other))
		}},
		{"indirect tail call", func(m *asm.Module) asm.FuncIndex {
			m.Table("funcref", 1)
			m.Elem(0, m.NextFunc())
			return m.Func("", "", i32, asm.Op(opReturnIndirect, byte(m.Type("")), 0))
		}},
		{"tree of calls without a loop or recursion", func(m *asm.Module) asm.FuncIndex {
			f := m.Func("", "", i32, asm.Drop)
			for range 60 {
				f = m.Func("", "", asm.Call(f), asm.Call(f))
			}
			return f
		}},
		{"tree of recursion", func(m *asm.Module) asm.FuncIndex {
			self := m.NextFunc()
			f := m.Func("i32", "", asm.LocalGet(0), asm.If(
				dec(0), asm.Call(self), asm.LocalGet(0), asm.Call(self)))
			return m.Func("", "", asm.I32Const(60), asm.Call(f))
		}},
		{"fills one after another", func(m *asm.Module) asm.FuncIndex {
			fill := asm.Seq(i32, i32, asm.I32Const(1<<16), asm.Op(opMisc, miscMemoryFill, 0))
			return m.Func("", "", asm.Repeat(1_000, fill))
		}},
		{"start", func(m *asm.Module) asm.FuncIndex {
			f := m.Func("", "", asm.Loop(asm.Br(0)))
			m.Start(f)
			return f
		}},
	}
	for _, test := range tests {
		m := asm.New()
		m.Memory(1)
		m.Export("run", test.run(m))
		for _, engine := range engines {
			h := newMachine(t, engine.config, 10_000)
			h.maxTicks = 10
			mod, err := h.load(m.Bytes(), nil, wazero.NewModuleConfig().WithName(""))
			if err == nil {
				_, err = mod.ExportedFunction("run").Call(h.ctx)
			}
			if !errors.Is(err, errStopped) {
				t.Errorf("%s, %s: %v after %d ticks", test.name, engine.name, err, h.ticks)
			}
		}
	}
}

// Two instances of a real guest use the same fuel for the same work, whatever the slices, in both
// engines. The engine's clock and random numbers are fixed in tests.
func TestFuelOfARealGuest(t *testing.T) {
	wasm := goGuest(t)
	work := []job{{"sum", 2}, {"order", 200}, {"code", 1}, {"count", 500}, {"fib", 10}}
	var want []int64
	for _, with := range []struct {
		engine int
		slice  int64
	}{{0, benchSlice}, {0, 123_456}, {1, benchSlice}} {
		engine := engines[with.engine]
		run := start(t, engine.config, wasm, nil)
		run.slice = with.slice
		var got []int64
		for _, j := range work {
			run.spent(run.Module)
			if _, err := run.ExportedFunction(j.name).Call(run.ctx, j.n); err != nil {
				t.Fatal(err)
			}
			got = append(got, run.spent(run.Module))
		}
		if want == nil {
			want = got
			t.Logf("%v: %v", work, got)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s with slices of %d: %d, want %d", engine.name, with.slice, got, want)
		}
	}
}
