package loader

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"reflect"
	"sync"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/abihost"
	"github.com/wasmagent/wasmagent/host"
)

// plugin is one candidate through its life: listed, and compiled when it is first called.
type plugin struct {
	Plugin
	scope    string // the directory's real path and the plugin's name
	decision Decision
	bad      verdicts
	unfit    []Unfit
	opts     *Options
	engine   *host.Engine
	shelf    *shelf
	versions *versions
	seen     sight // of the file as it was listed
	lock     *lock

	mu     sync.Mutex
	flight *flight // the compile that runs or was good; nil before, and after a passing failure

	retired bool // another version serves now; under the shelf's mutex
}

// flight is one compile that any number of calls wait for, and the module that they use.
type flight struct {
	plugin *plugin
	cancel context.CancelCauseFunc // of the compile
	done   chan struct{}           // closed when module and err are set
	module compiled
	err    error

	// Under the shelf's mutex.
	calls int   // that wait for it or use its module
	used  int64 // when the last one came, by the shelf's count
	size  int64 // bytes
	gone  bool  // off the shelf: nobody boards any more
}

func newPlugin(c candidate, d *Dir) *plugin {
	p := &plugin{
		engine: d.engine, shelf: d.shelf, versions: d.versions, lock: d.lock, opts: d.opts,
	}
	p.Name, p.Path = c.name, c.path
	p.Dir = realDir(c.path)
	p.scope = p.Dir + "#" + p.Name
	err := c.err
	if err == nil {
		err = p.decide()
	}
	if err != nil {
		p.Err = p.fault(err)
	}
	return p
}

func (p *plugin) fault(err error) error {
	if na, ok := errors.AsType[*NotAllowedError](err); ok {
		return na
	}
	return &LoadError{Plugin: p.Name, Path: p.Path, Err: err}
}

// list learns what the plugin offers, from what is kept where that still holds. Its error is ctx's;
// the plugin's own troubles are in p.Err.
func (p *plugin) list(ctx context.Context, kept *list) error {
	if ctx.Err() != nil { // nobody waits for the list: read no more of a large directory
		return context.Cause(ctx)
	}
	err := p.recall(kept)
	if errors.Is(err, errUnknown) {
		err = p.learn(ctx, kept)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		p.Err = p.fault(err)
	}
	return nil
}

// errUnknown is a file of which nothing is kept.
var errUnknown = errors.New("not in the list")

func (p *plugin) recall(kept *list) error {
	info, err := stat(p.Path, p.maxModule())
	if err != nil {
		return err
	}
	k, ok := kept.find(p.Path, info, p.decision.Digest)
	if !ok || !p.hasKind(k.kind) {
		return errUnknown
	}
	p.Size = k.files.size()
	p.seen = sight{files: k.files, sure: true} // or it would not be kept
	return p.admit(&k)
}

// learn reads the file, and runs its description only when it is not stamped.
func (p *plugin) learn(ctx context.Context, kept *list) error {
	at := p.opts.clock()
	src, err := p.read()
	if err != nil {
		return err
	}
	under, wasm, files := p.decision.Digest, src.wasm, src.state()
	p.Size, p.Digest = files.size(), digestOf(wasm)
	p.seen = sight{files: files, sure: !src.any(fresh, at)}
	if err := p.lock.check(p.Name, p.Digest); err != nil {
		return err // before a byte of it is run
	}
	kind, why, err := p.kindOf(wasm)
	if err != nil {
		return err
	}
	if kind != nil {
		p.Kind, p.KindWhy = kind.Name(), why
	}
	m, err := p.describe(ctx, wasm)
	if err == nil && kind == nil {
		err = p.decision.checkOwn()
	}
	if err != nil {
		return err
	}
	k := known{files, under, p.Digest, m, judge(m.Tools), p.unfit, p.Kind, p.KindWhy}
	if !src.any(young, at) {
		kept.keep(p.Path, &k)
	}
	return p.admit(&k)
}

func (p *plugin) describe(ctx context.Context, wasm []byte) (abi.Manifest, error) {
	if p.Kind != "" {
		if kind, err := p.kindNamed(p.Kind); err == nil {
			if d, ok := kind.(Describer); ok {
				return d.Describe(p.engine, wasm, &p.Plugin, &p.decision)
			}
		}
		module, err := p.compile(ctx, wasm)
		if err != nil {
			return abi.Manifest{}, err
		}
		p.unfit = withheld(module)
		return module.Manifest(), module.Close(ctx)
	}
	raw, stamped, err := abihost.Section(wasm)
	if err != nil {
		return abi.Manifest{}, err
	}
	if stamped {
		return abihost.ParseManifest(raw)
	}
	module, err := p.compile(ctx, wasm)
	if err == nil {
		return module.Manifest(), module.Close(ctx)
	}
	if !isType[*NotAllowedError](err) {
		return abi.Manifest{}, err
	}
	return p.describeRefused(ctx, wasm, err)
}

// describeRefused learns what a plugin offers that needs more than the sandbox gives to everybody.
// admit says what of that is not granted; refused stands when only its imports tell.
func (p *plugin) describeRefused(ctx context.Context, wasm []byte, refused error) (
	abi.Manifest, error) {
	raw, err := p.engine.Describe(ctx, wasm, p.decision.Host)
	if err != nil {
		return abi.Manifest{}, refused
	}
	m, err := abihost.ParseManifest(raw)
	if err != nil {
		return abi.Manifest{}, refused
	}
	p.Manifest = m
	if p.decide() != nil || len(p.decision.Host.Missing(&m.Needs)) > 0 {
		return m, nil // as admit will find
	}
	module, err := p.compile(ctx, wasm)
	if err != nil {
		return m, err
	}
	return m, module.Close(ctx)
}

// admit takes what is known, unless the plugin is not allowed.
func (p *plugin) admit(k *known) error {
	p.Digest, p.Manifest, p.bad, p.unfit = k.digest, k.manifest, k.bad, k.unfit
	p.Kind, p.KindWhy = k.kind, k.kindWhy
	if err := p.lock.check(p.Name, p.Digest); err != nil {
		return err
	}
	if err := p.decide(); err != nil {
		return err
	}
	if needs := p.decision.Host.Missing(&p.Manifest.Needs); len(needs) > 0 {
		return NotAllowed(&p.Plugin, needs)
	}
	return nil
}

// use gives the compiled plugin to a call, which says with shelf.leave when it needs it no longer.
// The first call compiles it; calls that come meanwhile wait, each no longer than its own context.
func (p *plugin) use(ctx context.Context) (*flight, error) {
	f, err := p.board()
	if err != nil {
		return nil, err
	}
	select {
	case <-f.done: // as for all calls but the first: asking one channel is cheap
		err = f.err
	default:
		err = f.wait(ctx)
	}
	if err != nil {
		p.shelf.leave(f)
		return nil, err
	}
	return f, nil
}

func (f *flight) wait(ctx context.Context) error {
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// board joins the flight, or starts one. It belongs to no call, so it runs under no call's context.
func (p *plugin) board() (*flight, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.flight != nil {
		if err := p.shelf.enter(p.flight); err != errGone {
			return p.flight, err
		}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	f := &flight{plugin: p, cancel: cancel, done: make(chan struct{})}
	if err := p.shelf.start(f); err != nil {
		cancel(nil)
		return nil, err
	}
	p.flight = f
	go f.fly(ctx)
	return f, nil
}

// fly compiles. What went wrong is kept if the bytes themselves are at fault; else the next call
// tries again.
func (f *flight) fly(ctx context.Context) {
	defer close(f.done)
	defer f.cancel(nil)
	p := f.plugin
	f.module, f.err = p.load(ctx)
	if f.err == nil {
		p.shelf.put(f)
		return
	}
	p.shelf.fail(f)
	final := isFinal(f.err)
	if context.Cause(ctx) == host.ErrClosed {
		f.err = host.ErrClosed
	} else {
		f.err = p.fault(f.err)
	}
	if !final {
		p.forget(f)
	}
}

// isFinal reports an error of the bytes themselves, which compiling them again cannot mend.
func isFinal(err error) bool {
	return isType[*host.LoadError](err) || isType[*NotAllowedError](err) || errors.Is(err, errImpure)
}

// forget lets the next call make another flight.
func (p *plugin) forget(f *flight) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.flight == f {
		p.flight = nil
	}
}

// load compiles the very bytes that were listed.
func (p *plugin) load(ctx context.Context) (compiled, error) {
	wasm, err := p.listed()
	if err != nil {
		return nil, err
	}
	module, err := p.compile(ctx, wasm)
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(module.Manifest(), p.Manifest) {
		return nil, errors.Join(errImpure, module.Close(ctx))
	}
	return module, nil
}

// listed gives the bytes that were listed: the file's or, where it is another by now, those that
// were kept.
func (p *plugin) listed() ([]byte, error) {
	src, err := p.read()
	if err == nil {
		found := digestOf(src.wasm)
		if found == p.Digest {
			return src.wasm, nil
		}
		err = &ChangedError{Listed: p.Digest, Found: found}
	}
	if kept, ok := p.versions.get(p.Digest, p.maxModule()); ok {
		return kept, nil
	}
	return nil, err
}

// errImpure is a description that changes from one time to the next.
var errImpure = errors.New("it describes itself differently than when it was listed: " +
	"it must always give the same manifest")

func (p *plugin) compile(ctx context.Context, wasm []byte) (module compiled, err error) {
	if p.Kind == "" {
		module, err = p.engine.Compile(ctx, wasm, p.decision.Host)
	} else if kind, e := p.kindNamed(p.Kind); e != nil {
		err = e
	} else {
		module, err = kind.Compile(ctx, p.engine, wasm, &p.Plugin, &p.decision)
	}
	if need, ok := errors.AsType[*host.GrantError](err); ok {
		return nil, NotAllowed(&p.Plugin, need.Missing)
	}
	if err != nil {
		return nil, err
	}
	return module, nil
}

func (p *plugin) maxModule() int64 {
	return cmp.Or(p.decision.Host.Limits.Module, host.DefaultModule)
}

// close ends a compile that runs, then closes the module.
func (f *flight) close() error {
	f.cancel(host.ErrClosed)
	if <-f.done; f.module == nil {
		return nil
	}
	return f.module.Close(context.Background())
}

// realDir is where a file really lies. With a plugin's name it names that among all of this machine.
func realDir(path string) string {
	dir := filepath.Dir(path)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return dir
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}
