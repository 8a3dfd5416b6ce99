package host

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/abihost"
	"github.com/wasmagent/wasmagent/host/internal/rewrite"
	"github.com/wasmagent/wasmagent/host/internal/snapshot"
	"github.com/wasmagent/wasmagent/host/internal/wasi"
)

// Engine compiles modules and runs them. It is safe for concurrent use.
type Engine struct {
	logger   *slog.Logger
	runtime  wazero.Runtime
	links    map[*Dialect]linkage // what can be imported; nil is this project's own contract
	config   wazero.ModuleConfig  // what all instances have in common
	disk     *diskCache           // nil without a CacheDir
	workers  chan struct{}        // held while compiling in this process
	child    *childCompiler       // nil without a CompileCommand
	children chan struct{}        // held while compiling in another
	clock    *wasi.Clock          // one for all guests: it never goes back
	turns    turns                // held while a guest's code runs
	budget   budget               // of the memory of all guests
	uses     atomic.Int64         // counts calls, to know which module idles longest
	verify   bool
	road     snapshot.Road // Auto but in tests

	ending context.Context // done when Close begins
	end    context.CancelFunc

	mu      sync.Mutex
	closed  bool
	gone    chan struct{} // closed when Close has ended
	modules map[*Module]struct{}
	codes   map[digest]*code
	builds  sync.WaitGroup
}

// features are those of the core specification, version 2, with tail calls and extended constants.
const features = api.CoreFeaturesV2 |
	experimental.CoreFeaturesTailCall | experimental.CoreFeaturesExtendedConst

func runtimeConfig() wazero.RuntimeConfig { return configure(wazero.NewRuntimeConfig()) }

func configure(c wazero.RuntimeConfig) wazero.RuntimeConfig {
	return c.WithCoreFeatures(features).
		WithDebugInfoEnabled(false) // DWARF is one more parser of a stranger's bytes
}

// New makes an engine. ctx bounds the making only.
func New(ctx context.Context, cfg *Config) (*Engine, error) {
	return newEngine(ctx, cfg, runtimeConfig())
}

func newEngine(ctx context.Context, cfg *Config, config wazero.RuntimeConfig) (*Engine, error) {
	if cfg == nil {
		cfg = &Config{}
	}
	if cfg.Memory < 0 {
		return nil, fmt.Errorf("memory: %d is negative", cfg.Memory)
	}
	e := &Engine{
		logger:  cfg.Logger,
		clock:   wasi.NewClock(0),
		turns:   newTurns(runtime.GOMAXPROCS(0)),
		budget:  budget{max: cmp.Or(cfg.Memory, DefaultTotalMemory)},
		verify:  cfg.Verify,
		gone:    make(chan struct{}),
		modules: map[*Module]struct{}{},
		codes:   map[digest]*code{},
	}
	if e.logger == nil {
		e.logger = slog.New(slog.DiscardHandler)
	}
	workers := cfg.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	e.workers = make(chan struct{}, workers)
	e.children = make(chan struct{}, maxChildren)
	e.ending, e.end = context.WithCancel(context.Background())
	if err := e.openDisk(cfg); err != nil {
		return nil, fmt.Errorf("cache of compiled code: %w", err)
	}
	if e.disk != nil {
		config = config.WithCompilationCache(e.disk.engine)
	}
	e.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	if err := e.link(ctx, cfg.Dialects); err != nil {
		return nil, errors.Join(fmt.Errorf("host functions: %w", err), e.closeEngine(ctx))
	}
	e.config = wazero.NewModuleConfig().
		WithName(""). // anonymous: names of guests must not meet
		WithStartFunctions()
	return e, nil
}

// openDisk opens what passes code on to the engine, for a cache that lasts or for a compiler
// command.
func (e *Engine) openDisk(cfg *Config) (err error) {
	if len(cfg.CompileCommand) > 0 {
		e.child = newChildCompiler(cfg.CompileCommand)
	}
	switch {
	case cfg.CacheDir != "":
		e.disk, err = openDiskCache(cfg.CacheDir, cfg.CacheKey, e.logger)
	case e.child != nil:
		e.disk, err = openScratch(e.logger)
	}
	return err
}

// link makes the modules that guests import from, and remembers what is in them.
func (e *Engine) link(ctx context.Context, dialects []*Dialect) error {
	e.links = map[*Dialect]linkage{nil: {}}
	own := e.runtime.NewHostModuleBuilder(abi.ImportModule)
	for _, f := range hostCalls {
		e.export(own, abi.ImportModule, f.name, hostFunction(f.call), i32s(f.params),
			i32s(f.results))
	}
	preview1 := e.runtime.NewHostModuleBuilder(wasi.Module)
	for _, f := range wasi.Functions(wasiState) {
		e.export(preview1, wasi.Module, f.Name, f.Call, f.Params, f.Results)
	}
	meter := e.runtime.NewHostModuleBuilder(rewrite.TickModule)
	meter.NewFunctionBuilder().WithGoModuleFunction(tick, nil, nil).Export(rewrite.TickName)
	for _, b := range []wazero.HostModuleBuilder{own, preview1, meter} {
		if _, err := b.Instantiate(ctx); err != nil {
			return err
		}
	}
	return e.linkDialects(ctx, dialects)
}

func (e *Engine) export(b wazero.HostModuleBuilder, module, name string, f api.GoModuleFunc,
	params, results []api.ValueType) {
	b.NewFunctionBuilder().WithGoModuleFunction(f, params, results).Export(name)
	e.links[nil].add(module, name, params, results)
}

func i32s(n int) []api.ValueType { return slices.Repeat([]api.ValueType{api.ValueTypeI32}, n) }

func valTypes(types []api.ValueType) []rewrite.ValType {
	list := make([]rewrite.ValType, len(types))
	for i, t := range types {
		list[i] = rewrite.ValType(t)
	}
	return list
}

// Compile makes a plugin of a module under a policy: it checks, compiles, initialises and describes
// it. Every fault of the module's is a *LoadError. Modules of the same bytes share their code. wasm
// is not kept. A compile that has begun is not ended by ctx, but Compile returns.
func (e *Engine) Compile(ctx context.Context, wasm []byte, p Policy) (*Module, error) {
	m, err := e.prepare(ctx, wasm, p)
	if err != nil {
		return nil, err
	}
	load := func() error { return m.load(ctx, wasm) }
	if p.Dialect != nil {
		load = func() error { return m.loadDialect(ctx) }
	}
	if err := load(); err != nil {
		return nil, errors.Join(err, m.Close(ctx))
	}
	return m, nil
}

// Describe gives the manifest that a module describes itself with, byte for byte, to be stamped
// into it. It takes a module as far as Compile does to learn it, but needs no grants and uses none,
// and a manifest that is stamped in already does not count.
func (e *Engine) Describe(ctx context.Context, wasm []byte, p Policy) ([]byte, error) {
	p.Grants = Grants{}
	m, err := e.prepare(ctx, wasm, p)
	if err != nil {
		return nil, err
	}
	raw, err := m.describeOnce(ctx)
	return raw, errors.Join(err, m.Close(ctx))
}

// prepare checks and compiles a module. Nothing of it runs.
func (e *Engine) prepare(ctx context.Context, wasm []byte, p Policy) (*Module, error) {
	limits, err := p.Limits.withDefaults()
	if err != nil {
		return nil, err
	}
	p.Limits = limits
	bare, links, err := e.admit(wasm, p.Dialect, limits)
	if err != nil {
		return nil, err
	}
	c, err := e.code(ctx, bare, p.Dialect)
	if err == nil {
		if err = checkContract(c.facts, p.Dialect, links); err != nil {
			e.release(c)
		}
	}
	if err != nil {
		return nil, where(wasm, err)
	}
	if err := checkMemory(c.facts, limits); err != nil {
		e.release(c)
		return nil, err
	}
	m, err := e.register(c, p)
	if err != nil {
		e.release(c)
		return nil, err
	}
	if err := m.grant(); err != nil {
		return nil, errors.Join(err, m.Close(ctx))
	}
	m.digest = c.digest
	if len(bare) != len(wasm) {
		m.digest = sha256.Sum256(wasm)
	}
	return m, nil
}

// admit gives the module without its manifest, and what it can import.
func (e *Engine) admit(wasm []byte, d *Dialect, limits Limits) (bare []byte, l linkage, err error) {
	if size := int64(len(wasm)); size > limits.Module {
		return nil, nil, &LoadError{Stage: stagePreflight,
			Err: &LimitError{Limit: "module", Max: limits.Module, Asked: size}}
	}
	if bare, err = abihost.Bare(wasm); err != nil {
		return nil, nil, where(wasm, &LoadError{Stage: stagePreflight, Err: err})
	}
	l, ok := e.links[d]
	if !ok {
		return nil, nil, fmt.Errorf("the engine was made without the dialect %s", d.Name)
	}
	return bare, l, nil
}

// where gives err for a module that was checked without its manifest, or, if it has that structural
// fault with it too, the error that says where in the file.
func where(wasm []byte, err error) error {
	if load, ok := err.(*LoadError); ok && load.Stage == stagePreflight {
		if _, whole := preflight(wasm); whole != nil {
			return whole
		}
	}
	return err
}

func (e *Engine) register(c *code, p Policy) (*Module, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, ErrClosed
	}
	m := newModule(e, c, p)
	e.modules[m] = struct{}{}
	return m, nil
}

func (e *Engine) forget(m *Module) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.modules, m)
}

// Close closes all modules as Module.Close does, and the engine. A compile that runs is waited for,
// one in another process is ended. It may be called twice.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	first := !e.closed
	e.closed = true
	modules := make([]*Module, 0, len(e.modules))
	for m := range e.modules {
		modules = append(modules, m)
	}
	e.mu.Unlock()
	if !first {
		<-e.gone
		return nil
	}
	defer close(e.gone)
	e.end()

	errs := make([]error, len(modules)+1)
	var all sync.WaitGroup
	for i, m := range modules {
		all.Go(func() { errs[i] = m.Close(ctx) })
	}
	all.Wait()
	e.builds.Wait()
	errs[len(modules)] = e.closeEngine(ctx)
	return errors.Join(errs...)
}

func (e *Engine) closeEngine(ctx context.Context) error {
	err := guard(func() error { return e.runtime.Close(ctx) })
	if e.disk != nil {
		err = errors.Join(err, e.disk.Close())
	}
	return err
}
