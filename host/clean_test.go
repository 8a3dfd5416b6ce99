package host_test

import (
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
)

// Host functions write to pages that no code of the guest's has touched, to another one in every
// call and to the same one again: each restore finds them, also one that relies on what it knew
// before.
func TestHostWritesToCleanPages(t *testing.T) {
	const preview1 = "wasi_snapshot_preview1"
	var clock, args, fdstat, filestat asm.FuncIndex
	link := func(k *hosttest.Kit) {
		clock = k.Module.ImportFunc(preview1, "clock_time_get", "i32 i64 i32 -> i32")
		args = k.Module.ImportFunc(preview1, "args_get", "i32 i32 -> i32")
		fdstat = k.Module.ImportFunc(preview1, "fd_fdstat_get", "i32 i32 -> i32")
		filestat = k.Module.ImportFunc(preview1, "fd_filestat_get", "i32 i32 -> i32")
	}
	// A page of its own for each length of the request, past the one that the kit uses.
	page := asm.LocalGet(0) + asm.I32Const(31) + asm.I32And + asm.I32Const(3) + asm.I32Add +
		asm.I32Const(16) + asm.I32Shl
	config := []byte("key")
	for name, write := range map[string]hosttest.Body{
		"input": func(k *hosttest.Kit) asm.Instr { return page + asm.LocalGet(0) + asm.Call(k.Input) },
		"result": func(k *hosttest.Kit) asm.Instr {
			return k.Bytes(config) + asm.Call(k.Config) + asm.Drop +
				page + asm.I32Const(4096) + asm.Call(k.Result)
		},
		"random_get": func(k *hosttest.Kit) asm.Instr {
			return page + asm.I32Const(3*4096) + asm.Call(k.Random)
		},
		"clock_time_get": func(*hosttest.Kit) asm.Instr {
			return asm.I32Const(0) + asm.I64Const(0) + page + asm.Call(clock)
		},
		"args_get": func(*hosttest.Kit) asm.Instr {
			return page + page + asm.I32Const(8192) + asm.I32Add + asm.Call(args)
		},
		"fd_fdstat_get":   func(*hosttest.Kit) asm.Instr { return asm.I32Const(1) + page + asm.Call(fdstat) },
		"fd_filestat_get": func(*hosttest.Kit) asm.Instr { return asm.I32Const(1) + page + asm.Call(filestat) },
		"poll_oneoff": func(k *hosttest.Kit) asm.Instr { // a clock that is due at once
			return asm.I32Const(hosttest.Scratch) + page + asm.I32Const(1) +
				page + asm.I32Const(8192) + asm.I32Add + asm.Call(k.Poll)
		},
		"fd_write": func(k *hosttest.Kit) asm.Instr {
			return asm.I32Const(1) + asm.I32Const(0) + asm.I32Const(0) + page + asm.Call(k.Write)
		},
	} {
		t.Run(name, func(t *testing.T) {
			body := func(k *hosttest.Kit) asm.Instr {
				return hosttest.ReadRequest(k) + write(k) + asm.Drop + hosttest.Echo(k)
			}
			wasm := hosttest.Plugin{Name: "t", Pages: 40, Import: link, Call: body}.Bytes()
			for _, road := range host.RestoreRoads() {
				e := verified(t)
				host.ForceRoad(e, road)
				m := hosttest.Compile(t, e, wasm, host.Policy{
					Config: map[string]abi.Raw{"key": abi.AppendString(nil, "a value")}})
				mustRestore(t, m)
				for i := range 60 {
					text := strings.Repeat("x", i/3)
					if got, err := echoed(t, m, text); got != text || err != nil {
						t.Fatalf("%s, call %d: %q, %v", road, i, got, err)
					}
				}
			}
		})
	}
}

// What an observer is given is its own: it may write to it, and keep it.
func TestOutputIsTheObservers(t *testing.T) {
	const text = "some text"
	wasm := hosttest.Plugin{Name: "t", Pages: 40,
		Call: hosttest.Then(hosttest.Print(1, text), hosttest.Echo)}.Bytes()
	e := verified(t)
	m := hosttest.Compile(t, e, wasm, host.Policy{})
	mustRestore(t, m)
	var kept []byte
	for i := range 5 {
		obs := &host.Observer{Output: func(_ bool, b []byte) {
			if string(b) != text {
				t.Errorf("call %d printed %q", i, b)
			}
			if kept = b; i == 3 {
				clear(b)
			}
		}}
		if reply, err := call(t.Context(), m, "hi", obs); string(reply) != okReply("hi") {
			t.Errorf("call %d: %q, %v", i, reply, err)
		}
	}
	if err := m.Close(t.Context()); err != nil || string(kept) != text {
		t.Errorf("%q, %v", kept, err)
	}
}
