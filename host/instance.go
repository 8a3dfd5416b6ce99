package host

import (
	"context"
	"time"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/wasmagent/wasmagent/abi"
)

// instance is a module with a memory of its own. It belongs to one goroutine at a time.
type instance struct {
	code           *code
	mod            api.Module
	memory         memory
	stdout, stderr stream
	run            *run // the one under way
}

// instantiate makes an instance and initialises it, under the limits of loading.
func (m *Module) instantiate(ctx context.Context, obs *Observer) (*instance, error) {
	in := &instance{code: m.code}
	in.memory.limit = uint64(m.limits.Memory)
	config := m.engine.config.
		WithStdout(&in.stdout).
		WithStderr(&in.stderr).
		WithNanosleep(in.sleep)
	r := m.newRun(stageInstantiate, obs)
	err := in.do(ctx, r, func(inner context.Context) (err error) {
		inner = experimental.WithMemoryAllocator(inner, &in.memory)
		in.mod, err = m.engine.runtime.InstantiateModule(inner, m.code.compiled, config)
		return err
	})
	if err == nil {
		err = in.enter(ctx, m.newRun(stageInitialize, obs), abi.ExportInitialize)
	}
	if err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

// enter runs an exported function, if the module has it.
func (in *instance) enter(ctx context.Context, r *run, export string) error {
	fn := in.mod.ExportedFunction(export)
	if fn == nil {
		return nil
	}
	return in.do(ctx, r, func(inner context.Context) error { return fn.CallWithStack(inner, nil) })
}

// do lets the guest run for r and says what became of it, as the stage's error.
func (in *instance) do(ctx context.Context, r *run, work func(context.Context) error) error {
	in.run = r
	in.stdout = stream{limit: r.module.limits.Stdio, sink: r.obs.Output}
	in.stderr = stream{limit: r.module.limits.Stdio, sink: r.obs.Output, stderr: true}
	err, why := r.within(ctx, work)
	err = in.outcome(ctx, r, err, why)
	if err == nil || r.inCall() || why == errCancelled || why == ErrClosed {
		return err
	}
	return &LoadError{Stage: r.stage, Err: err}
}

// sleep is what a guest's sleeping and polling wait by. It ends when the guest must.
func (in *instance) sleep(ns int64) {
	timer := time.NewTimer(time.Duration(ns))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-in.run.stop:
		panic(errStopped)
	}
}

func (in *instance) close() {
	if in.mod != nil {
		// Its error is that of open files, and there are none.
		_ = guard(func() error { return in.mod.Close(context.Background()) })
	}
	in.memory.Free()
}
