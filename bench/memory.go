package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strconv"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
)

// benchMemory prints what modules and idle instances add to the process's resident memory.
func benchMemory(ctx context.Context, o options, out io.Writer) (_ []gate, err error) {
	fmt.Fprint(out, "## Memory: what each one adds to the resident set\n\n")
	t := newTable("guest", "module", "compiled module", "idle instance")
	for _, g := range []struct {
		guest              string
		modules, instances int
	}{
		{smallGuest, pick(o.quick, 20, 200), pick(o.quick, 20, 200)},
		{goGuest, pick(o.quick, 1, 3), pick(o.quick, 2, 20)},
	} {
		wasm, _, err := guestBytes(g.guest)
		if err != nil {
			return nil, err
		}
		compiled, idle, err := memoryOf(ctx, wasm, g.modules, g.instances)
		if err != nil {
			return nil, err
		}
		t.add(g.guest, kilobytes(int64(len(wasm))), kilobytes(compiled), kilobytes(idle))
	}
	t.print(out)
	return nil, nil
}

// memoryOf loads modules of different bytes, which share nothing, and then one module under so many
// policies, which share its code: each has been called once and keeps its instance.
func memoryOf(ctx context.Context, wasm []byte, modules, instances int) (
	compiled, idle int64, err error) {
	engine, err := host.New(ctx, nil)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, engine.Close(ctx)) }()
	p := newPayload(tools[0], sizes[0].bytes)
	add := func(wasm []byte, policy host.Policy) error {
		m, err := engine.Compile(ctx, wasm, policy)
		if err == nil {
			_, _, err = m.Call(ctx, p.call, nil, nil)
		}
		return err
	}
	if err := add(wasm, host.Policy{}); err != nil { // what the first of all costs is not counted
		return 0, 0, err
	}
	compiled, err = grown(modules, func(i int) error {
		other := append(append([]byte(nil), wasm...), "\x00"+asm.Sized(asm.Sized("n"+strconv.Itoa(i)))...)
		return add(other, host.Policy{})
	})
	if err != nil {
		return 0, 0, err
	}
	idle, err = grown(instances, func(i int) error {
		return add(wasm, host.Policy{Config: map[string]abi.Raw{"n": abi.AppendInt(nil, int64(i))}})
	})
	return compiled, idle, err
}

// grown is by how much each of n steps grows the resident set.
func grown(n int, step func(i int) error) (int64, error) {
	resident := func() int64 {
		debug.FreeOSMemory()
		debug.FreeOSMemory() // what finalizers and pools kept the first time
		return residentBytes()
	}
	before := resident()
	for i := range n {
		if err := step(i); err != nil {
			return 0, err
		}
	}
	return (resident() - before) / int64(n), nil
}
