package host

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host/internal/mount"
	"github.com/wasmagent/wasmagent/host/internal/rewrite"
	"github.com/wasmagent/wasmagent/host/internal/snapshot"
	"github.com/wasmagent/wasmagent/host/internal/wasi"
)

// instance is a module with a memory of its own. It belongs to one goroutine at a time.
type instance struct {
	module  *Module
	memory  *snapshot.Memory
	mod     api.Module
	ctx     context.Context // leads host functions back here
	call    api.Function
	fuel    api.MutableGlobal
	entries map[string]api.Function // of other dialects, looked up once each
	stack   [2]uint64               // of what is entered: zeros go in, and at most one result comes out
	guest   Guest                   // this, as a dialect's functions see it
	state   State                   // of a dialect's functions
	globals []api.MutableGlobal     // the guest's, in the order of the plan

	wasi           wasi.State
	files          *mount.Table // nil without mounts
	stdout, stderr stream
	run            run // the one under way
	request        []byte
	broken         bool // not to be used again
	locked         bool // its goroutine, to its thread
}

// instanceContext leads host functions back to their instance. It is what the engine hands on to
// them, as it is.
type instanceContext struct {
	context.Context
	in *instance
}

func instanceOf(ctx context.Context) *instance { return ctx.(*instanceContext).in }

func wasiState(ctx context.Context) *wasi.State { return &instanceOf(ctx).wasi }

// instantiate makes an instance with a memory: a new one, or a clone of an image. Nothing of it
// runs.
func (m *Module) instantiate(memory *snapshot.Memory) (_ *instance, err error) {
	in := &instance{module: m, memory: memory, stderr: stream{stderr: true}}
	in.ctx = &instanceContext{context.Background(), in}
	in.guest.in = in
	in.wasi = wasi.State{
		Args: programArgs, Env: m.env, Stdout: &in.stdout, Stderr: &in.stderr,
		Clock: m.engine.clock, Wait: in.sleep, Spend: in.charge,
	}
	if m.files != nil {
		in.files = m.files.NewTable(in.filesGuest())
		in.wasi.Files = in.files
	}
	defer func() {
		if err != nil {
			in.close()
		}
	}()
	ctx := experimental.WithMemoryAllocator(in.ctx, memory)
	err = guard(func() (err error) {
		in.mod, err = m.engine.runtime.InstantiateModule(ctx, m.code.compiled, m.engine.config)
		return err
	})
	if err != nil {
		return nil, err
	}
	in.fuel = in.mod.ExportedGlobal(rewrite.FuelName).(api.MutableGlobal)
	for _, g := range m.code.plan.Globals {
		in.globals = append(in.globals, in.mod.ExportedGlobal(g.Name).(api.MutableGlobal))
	}
	if m.policy.Dialect == nil {
		in.call = in.mod.ExportedFunction(abi.ExportCall)
	}
	return in, nil
}

// programArgs are the arguments of a guest that is no command.
var programArgs = []string{"plugin"}

// entry is an exported function of a guest of another dialect.
func (in *instance) entry(export string) api.Function {
	fn, ok := in.entries[export]
	if !ok {
		if in.entries == nil {
			in.entries = map[string]api.Function{}
		}
		fn = in.mod.ExportedFunction(export)
		in.entries[export] = fn
	}
	return fn
}

// newInstance makes an instance as the module's bytes say, up to where its initialisation begins.
func (m *Module) newInstance(ctx context.Context, obs *Observer) (*instance, error) {
	memory, err := m.newMemory(nil)
	if err != nil {
		return nil, err
	}
	in, err := m.instantiate(memory)
	if err != nil {
		return nil, &LoadError{Stage: stageInstantiate, Err: engineError(err)}
	}
	in.wasi.Fixed = m.fixed()
	if d := m.policy.Dialect; d != nil && d.NewState != nil {
		in.state = d.NewState()
	}
	if err := in.initialize(ctx, obs); err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

// newMemory makes a memory, at the cost of idle instances if the system has no more room.
func (m *Module) newMemory(image *snapshot.Image) (*snapshot.Memory, error) {
	plan := &m.code.plan
	opts := &snapshot.Options{
		Image: image, Min: int64(plan.MemoryMin) * pageBytes,
		Declared: declared(plan), Charge: m.engine.charge, Road: m.engine.road,
	}
	memory, err := snapshot.New(m.limits.Memory, opts)
	for err != nil && m.engine.evict() {
		memory, err = snapshot.New(m.limits.Memory, opts)
	}
	if d, ok := errors.AsType[*snapshot.Denial](err); ok && d.Reason == snapshot.Budget {
		return nil, m.engine.exhausted(d.Asked)
	}
	if err != nil {
		return nil, fmt.Errorf("memory for an instance: %w", err)
	}
	return memory, nil
}

// declared is the module's own maximum in bytes, 0 when it has none.
func declared(plan *rewrite.Plan) int64 {
	if plan.MemoryMax >= snapshot.MaxSize/pageBytes {
		return 0 // the policy's limit is always less
	}
	return int64(plan.MemoryMax) * pageBytes
}

// initialize does what instantiating the original module would have done, and _initialize.
func (in *instance) initialize(ctx context.Context, obs *Observer) error {
	for i, d := range in.module.code.plan.Data {
		if !in.mod.Memory().Write(d.Offset, d.Bytes) {
			return &LoadError{Stage: stageInstantiate, Err: fmt.Errorf(
				"data segment %d: %d bytes at %d do not fit into its memory of %d bytes",
				i, len(d.Bytes), d.Offset, in.memory.Size())}
		}
	}
	if start := in.module.code.plan.Start; start != "" {
		if err := in.load(ctx, stageInstantiate, obs, start); err != nil {
			return err
		}
	}
	first := ownInitialize
	if d := in.module.policy.Dialect; d != nil {
		first = d.Initialize
	}
	for _, export := range first {
		if err := in.load(ctx, stageInitialize, obs, export); err != nil {
			return err
		}
	}
	return nil
}

var ownInitialize = []string{abi.ExportInitialize}

// load runs an exported function as a stage of loading, if the module has it.
func (in *instance) load(ctx context.Context, stage string, obs *Observer, export string) error {
	fn := in.mod.ExportedFunction(export)
	if fn == nil {
		return nil
	}
	in.begin(ctx, stage, obs)
	return in.enter(fn)
}

// noObserver hears nothing.
var noObserver Observer

// begin readies the instance for a run. A nil observer is an empty one.
func (in *instance) begin(ctx context.Context, stage string, obs *Observer) {
	if obs == nil {
		obs = &noObserver
	}
	limits := in.module.limits
	in.run = run{stage: stage, caller: ctx, limit: limits.Load, obs: obs}
	sink := obs.Output
	if sink != nil {
		sink = func(stderr bool, b []byte) { in.outside(func() { obs.Output(stderr, b) }) }
	}
	in.stdout.reset(limits.Stdio, sink, in.module.scrub)
	in.stderr.reset(limits.Stdio, sink, in.module.scrub)
}

// rest ends a run: nothing of it stays with an instance that idles.
func (in *instance) rest() {
	in.run = run{}
	in.stdout.reset(0, nil, nil)
	in.stderr.reset(0, nil, nil)
	if cap(in.request) > keepRequest {
		in.request = nil
	}
}

// keepRequest is the largest buffer for requests, in bytes, that stays with an instance.
const keepRequest = 64 << 10

// enter lets the guest run, for as long as it may, and says what became of it.
func (in *instance) enter(fn api.Function) error {
	r, turns := &in.run, in.module.engine.turns
	in.startFuel()
	if err := turns.take(r.caller); err != nil {
		return err
	}
	in.watch()
	r.began = time.Now()
	r.yielded, r.deadline = r.began, r.began.Add(r.limit)
	err := guard(func() error {
		defer turns.give() // also when an observer ends its goroutine
		in.stack = [2]uint64{}
		err := fn.CallWithStack(in.ctx, in.stack[:])
		if stopped := in.flush(); err == nil {
			err = stopped
		}
		return err
	})
	err = in.outcome(err)
	if err == nil || r.inCall() || r.why == errCancelled || r.why == ErrClosed || isTotal(err) {
		return err // not a fault of loading
	}
	return &LoadError{Stage: r.stage, Err: err}
}

// flush hands on what the guest printed without an end of line, as long as it has its turn.
func (in *instance) flush() (err error) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case errStopped: // by an observer that panicked
			err = errStopped
		default:
			panic(p)
		}
	}()
	in.stdout.flush()
	in.stderr.flush()
	return nil
}

// watch lets the memory count this thread's page faults from here to unwatch, or to the restore. It
// cannot while the goroutine may move to another.
func (in *instance) watch() {
	if in.locked || in.module.image == nil {
		return
	}
	runtime.LockOSThread()
	in.locked = true
	if !in.memory.Watch() {
		in.unlock()
	}
}

// unwatch lets the goroutine move to another thread.
func (in *instance) unwatch() {
	if in.locked {
		in.memory.Unwatch()
		in.unlock()
	}
}

func (in *instance) unlock() {
	if in.locked {
		in.locked = false
		runtime.UnlockOSThread()
	}
}

func (in *instance) close() {
	if in.files != nil {
		in.files.Reset()
	}
	if in.mod != nil {
		// Its error is that of open files, and there are none.
		_ = guard(func() error { return in.mod.Close(context.Background()) })
	}
	// The engine frees the memory of an instance that it made. This is for one that it did not.
	_ = in.memory.Close()
}
