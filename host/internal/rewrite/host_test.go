package rewrite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

const allFeatures = api.CoreFeaturesV2 | experimental.CoreFeaturesThreads |
	experimental.CoreFeaturesTailCall | experimental.CoreFeaturesExtendedConst |
	experimental.CoreFeaturesExceptionHandling | experimental.CoreFeaturesTypedFunctionReferences

// engines are both of the engine's ways to run a module, by name. Where it cannot compile, the
// other stands in.
var engines = func() []engine {
	compiler := engine{"compiler", wazero.NewRuntimeConfigCompiler().WithCoreFeatures(allFeatures)}
	interpreter := engine{"interpreter",
		wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(allFeatures)}
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		compiler = interpreter
	}
	return []engine{compiler, interpreter}
}()

type engine struct {
	name   string
	config wazero.RuntimeConfig
}

// machine is the least of a host for rewritten modules: it has tick, does what plans say, and
// counts.
type machine struct {
	wazero.Runtime
	ctx      context.Context
	slice    int64 // fuel that tick gives
	ticks    int
	maxTicks int // tick ends the guest after so many; 0 is never
	used     int64
}

// errStopped is what tick ends a guest with.
var errStopped = errors.New("stopped by tick")

func newMachine(t testing.TB, config wazero.RuntimeConfig, slice int64) *machine {
	t.Helper()
	ctx := context.Background()
	m := &machine{Runtime: wazero.NewRuntimeWithConfig(ctx, config), ctx: ctx, slice: slice}
	t.Cleanup(func() { m.Close(ctx) })
	tick := func(_ context.Context, mod api.Module, _ []uint64) {
		m.ticks++
		m.refill(mod)
		if m.ticks == m.maxTicks {
			panic(errStopped)
		}
	}
	host := m.NewHostModuleBuilder(TickModule)
	host.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(tick), nil, nil).Export(TickName)
	if _, err := host.Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	return m
}

// refill counts what a module used and fills its fuel up.
func (m *machine) refill(mod api.Module) {
	fuel := mod.ExportedGlobal(FuelName).(api.MutableGlobal)
	m.used += m.slice - int64(fuel.Get())
	fuel.Set(uint64(m.slice))
}

// spent is what a module used since it was asked last.
func (m *machine) spent(mod api.Module) int64 {
	m.refill(mod)
	used := m.used
	m.used = 0
	return used
}

// load checks and rewrites a module, instantiates it and does what the plan says. The module is
// given also with an error, if it came to be.
func (m *machine) load(wasm []byte, opts *Options, config wazero.ModuleConfig) (api.Module, error) {
	facts, err := Check(wasm, nil)
	if err != nil {
		return nil, err
	}
	out, plan, err := Rewrite(wasm, facts, opts)
	if err != nil {
		return nil, err
	}
	mod, err := m.InstantiateWithConfig(limitMemory(m.ctx, plan), out, config.WithStartFunctions())
	if err != nil {
		return nil, err
	}
	if opts == nil {
		mod.ExportedGlobal(FuelName).(api.MutableGlobal).Set(uint64(m.slice))
	}
	for i, d := range plan.Data {
		if !mod.Memory().Write(d.Offset, d.Bytes) {
			return mod, fmt.Errorf("data[%d]: out of bounds memory access", i)
		}
	}
	if plan.Start != "" {
		if _, err := mod.ExportedFunction(plan.Start).Call(m.ctx); err != nil {
			return mod, fmt.Errorf("start function[%s] failed: %w", plan.Start, err)
		}
	}
	return mod, nil
}

// limitMemory makes an allocator that keeps to the maximum in a plan.
func limitMemory(ctx context.Context, plan Plan) context.Context {
	return experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(
		func(_, most uint64) experimental.LinearMemory {
			if plan.MemoryMax > 0 {
				most = min(most, plan.MemoryMax<<16)
			}
			return &limitedMemory{most: most}
		}))
}

type limitedMemory struct {
	b    []byte
	most uint64
}

func (m *limitedMemory) Reallocate(size uint64) []byte {
	if size > m.most {
		return nil
	}
	if size > uint64(len(m.b)) {
		m.b = append(m.b, make([]byte, size-uint64(len(m.b)))...)
	}
	return m.b[:size]
}

func (m *limitedMemory) Free() {}
