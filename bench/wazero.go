package main

import (
	"context"
	"errors"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/wasmagent/wasmagent/abi"
)

// bare is wazero without a host around it: the guest's imports move bytes and do nothing else.
type bare struct {
	ctx      context.Context // one that can end, as a call's can
	stop     context.CancelFunc
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	request  []byte
	reply    []byte
}

func newBare(ctx context.Context, a *arena, stoppable bool) (*bare, error) {
	config := wazero.NewRuntimeConfigCompiler().WithCompilationCache(a.code).
		WithCloseOnContextDone(stoppable)
	ctx, stop := context.WithCancel(ctx)
	b := &bare{ctx: ctx, stop: stop, runtime: wazero.NewRuntimeWithConfig(ctx, config)}
	if err := b.link(); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	var err error
	if b.compiled, err = b.runtime.CompileModule(ctx, a.own); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *bare) link() error {
	own := b.runtime.NewHostModuleBuilder(abi.ImportModule)
	stub := func(name string, params, results int, f api.GoModuleFunc) {
		i32 := []api.ValueType{api.ValueTypeI32, api.ValueTypeI32, api.ValueTypeI32}
		own.NewFunctionBuilder().WithGoModuleFunction(f, i32[:params], i32[:results]).Export(name)
	}
	zero := func(_ context.Context, _ api.Module, stack []uint64) { stack[0] = 0 }
	stub("input", 2, 1, func(_ context.Context, m api.Module, stack []uint64) {
		if len(b.request) <= int(uint32(stack[1])) { // its upper half is anything
			m.Memory().Write(uint32(stack[0]), b.request)
		}
		stack[0] = uint64(len(b.request))
	})
	stub("output", 2, 0, func(_ context.Context, m api.Module, stack []uint64) {
		view, _ := m.Memory().Read(uint32(stack[0]), uint32(stack[1]))
		b.reply = append(b.reply[:0], view...)
	})
	stub("log", 3, 0, zero)
	stub("progress", 2, 0, zero)
	stub("cancelled", 0, 1, zero)
	stub("config", 2, 1, zero)
	stub("result", 2, 1, zero)
	if _, err := own.Instantiate(b.ctx); err != nil {
		return err
	}
	_, err := wasi_snapshot_preview1.Instantiate(b.ctx, b.runtime)
	return err
}

func (b *bare) instantiate() (api.Module, error) {
	return b.runtime.InstantiateModule(b.ctx, b.compiled, wazero.NewModuleConfig().WithName("").
		WithStartFunctions(abi.ExportInitialize).WithSysWalltime().WithSysNanotime())
}

func (b *bare) Close() error {
	defer b.stop()
	return b.runtime.Close(context.Background())
}

// warm calls one instance again and again: what one call leaves behind, the next one finds.
type warm struct {
	*bare
	name string
	call api.Function
}

// newWarm is the fastest there is: nothing can stop a call.
func newWarm(ctx context.Context, a *arena) (contender, error) {
	return warmOf(ctx, a, nameWarm, false)
}

// newStoppable lets the engine look at the call's context, its own way to stop a guest.
func newStoppable(ctx context.Context, a *arena) (contender, error) {
	return warmOf(ctx, a, nameStoppable, true)
}

func warmOf(ctx context.Context, a *arena, name string, stoppable bool) (contender, error) {
	b, err := newBare(ctx, a, stoppable)
	if err != nil {
		return nil, err
	}
	m, err := b.instantiate()
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return &warm{b, name, m.ExportedFunction(abi.ExportCall)}, nil
}

func (c *warm) Name() string { return c.name }

func (c *warm) Call(p *payload) ([]byte, error) {
	c.request = p.request
	err := c.call.CallWithStack(c.ctx, nil)
	return c.reply, err
}

// perCall makes an instance for each call, and closes it.
type perCall struct{ *bare }

func newInstantiate(ctx context.Context, a *arena) (contender, error) {
	b, err := newBare(ctx, a, false)
	if err != nil {
		return nil, err
	}
	return &perCall{b}, nil
}

func (c *perCall) Name() string { return nameInstantiate }

func (c *perCall) Call(p *payload) ([]byte, error) {
	c.request = p.request
	m, err := c.instantiate()
	if err != nil {
		return nil, err
	}
	_, err = m.ExportedFunction(abi.ExportCall).Call(c.ctx)
	return c.reply, errors.Join(err, m.Close(c.ctx))
}
