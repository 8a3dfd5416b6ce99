package loader

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/adrg/xdg"
	"golang.org/x/sync/errgroup"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/plugins"
)

// MaxPlugins is the most files and folders that one directory may offer as plugins.
const MaxPlugins = 10_000

// appDir is this program's folder below the user's cache and state directories.
const appDir = "wasmagent"

// Options of OpenDir and OpenFile. Nil and zero fields are the documented defaults.
type Options struct {
	Engine   *host.Engine // nil: one of its own, which Close closes
	CacheDir string       // tool lists, compiled code, kept bytes; "" is the user's cache directory
	StateDir string       // the key that seals them; "" is the user's state directory
	Limits   host.Limits  // for every plugin, without Policies; zero fields are the host's defaults
	Policies Policies     // what each plugin may do; nil grants nothing to any
	Kinds    []Kind       // contracts besides this project's own; a given Engine has their dialects
	Workers  int          // plugins read or described side by side; 0 is GOMAXPROCS
	Logger   *slog.Logger // nil discards; at debug level it also has what guests print in calls

	// CodeMemory is what the compiled plugins of the directory may have together, in bytes of
	// host.Module.Size; 0 is DefaultCodeMemory. Those that idle longest go first, and come back
	// with their next call.
	CodeMemory int64
	// CompileCommand is host.Config.CompileCommand for an engine of its own: a program that
	// compiles plugins which are too much for this process. Nil: they are refused.
	CompileCommand []string

	// Called is told what each guest's call took, however it ended, before the call returns, with
	// the call's own context. Nil: not wanted. Calls that run side by side tell it side by side.
	Called func(ctx context.Context, plugin, tool string, took host.CallStats)

	now    func() time.Time  // nil is time.Now; tests set these
	onRead func(path string) // told of every plugin that is read, side by side
	settle time.Duration     // 0 is settleTime
	poll   time.Duration     // 0 is pollTime
	blind  bool              // no system tells of changes
}

func (o *Options) called(ctx context.Context, plugin, tool string, took host.CallStats) {
	if o != nil && o.Called != nil {
		o.Called(ctx, plugin, tool, took)
	}
}

func (o *Options) clock() time.Time {
	if o == nil || o.now == nil {
		return time.Now()
	}
	return o.now()
}

func (o *Options) policies() Policies {
	switch {
	case o == nil:
		return noPolicies{}
	case o.Policies == nil:
		return noPolicies{o.Limits}
	}
	return o.Policies
}

func (o *Options) workers() int {
	if o == nil || o.Workers <= 0 {
		return runtime.GOMAXPROCS(0)
	}
	return o.Workers
}

func (o *Options) logger() *slog.Logger {
	if o == nil || o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}

func (o *Options) codeMemory() int64 {
	if o == nil || o.CodeMemory <= 0 {
		return DefaultCodeMemory
	}
	return o.CodeMemory
}

func (o *Options) compileCommand() []string {
	if o == nil {
		return nil
	}
	return o.CompileCommand
}

func (o *Options) cacheDir() string {
	if o == nil || o.CacheDir == "" {
		return filepath.Join(xdg.CacheHome, appDir)
	}
	return o.CacheDir
}

func (o *Options) stateDir() string {
	if o == nil || o.StateDir == "" {
		return filepath.Join(xdg.StateHome, appDir)
	}
	return o.StateDir
}

// Plugin is what is known of one file or folder.
type Plugin struct {
	Name     string       // the file's stem or the folder's name
	Path     string       // the .wasm file, or a Bundler's manifest
	Dir      string       // the real path of the directory that has the file
	Digest   string       // sha256:<hex> of its bytes; "" when it was not read
	Size     int64        // bytes of all files that it is made of
	Manifest abi.Manifest // with every text cleaned; zero when it could not be read
	Kind     string       // of Options.Kinds; "" is this project's own contract
	KindWhy  string       // by what it was recognized
	Err      error        // why it offers no tools: *LoadError or *NotAllowedError; else nil
	// Held is why the file as it is now, in a watched directory, does not serve: *LoadError or
	// *NotAllowedError. All else here is of its last good version, which does. Nil: there is no newer.
	Held error

	Prefix   string         // what goes before the names of its tools; "" without Decision.Prefix
	Tools    []plugins.Tool // on offer, in the order of Manifest
	Withheld []error        // the others: for each a *SpecError or *CollisionError
	Excluded []string       // those that the operator excludes, by their own names
}

// Dir is a directory of plugins, safe for concurrent use.
type Dir struct {
	origin   string
	scan     func() ([]candidate, error) // what lies there now
	opts     *Options
	engine   *host.Engine
	own      bool      // engine is closed with the Dir
	shelf    *shelf    // of plugins that were called
	list     *list     // what is known of the plugins
	lock     *lock     // as it was last read
	versions *versions // what watched plugins are made of
	close    sync.Once
	closed   error

	watch  sync.Mutex    // held while somebody watches, and for ever once closed
	ending chan struct{} // closed by Close

	mu      sync.Mutex
	plugins []*plugin // by name; Tools, Withheld, Excluded and Held of each may change
}

// OpenDir lists the plugins of a directory. The error is for the directory as a whole: it cannot be
// read, holds more than MaxPlugins, or the cache or state directory is unusable. What is wrong with
// one plugin is in its Err. Close the Dir when done.
func OpenDir(ctx context.Context, dir string, opts *Options) (*Dir, error) {
	look := func() ([]candidate, error) { return opts.scan(dir) }
	found, err := look()
	if err != nil {
		return nil, fmt.Errorf("plugin directory %s: %w", dir, err)
	}
	return open(ctx, &Dir{origin: dir, scan: look, opts: opts}, found)
}

// OpenFile is OpenDir for one .wasm file, or for one plugin's folder.
func OpenFile(ctx context.Context, path string, opts *Options) (*Dir, error) {
	look := func() ([]candidate, error) {
		c, err := opts.scanFile(path)
		return []candidate{c}, err
	}
	found, err := look()
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", path, err)
	}
	return open(ctx, &Dir{origin: path, scan: look, opts: opts}, found)
}

// Plugins gives every plugin that was found, good or not, by name.
func (d *Dir) Plugins() []Plugin {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := make([]Plugin, 0, len(d.plugins))
	for _, p := range d.plugins {
		list = append(list, p.Plugin)
	}
	return list
}

// Tools gives the tools on offer, by plugin and in the order of its manifest.
func (d *Dir) Tools() []plugins.Tool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.tools()
}

func (d *Dir) tools() []plugins.Tool {
	var list []plugins.Tool
	for _, p := range d.plugins {
		list = append(list, p.Tools...)
	}
	return list
}

// Close ends Watch, waits for running calls and frees what the Dir holds. Calls that wait for a
// compile end with host.ErrClosed. It may be called twice.
func (d *Dir) Close() error {
	d.close.Do(func() {
		close(d.ending)
		err := d.shelf.close() // first, since a watch may wait for a compile
		d.watch.Lock()
		if d.own {
			err = errors.Join(err, d.engine.Close(context.Background()))
		}
		d.closed = err
	})
	return d.closed
}

// open reads what was found, in bounded workers, and settles who offers which tool.
func open(ctx context.Context, d *Dir, found []candidate) (_ *Dir, err error) {
	opts := d.opts
	key, err := sealKey(opts.stateDir())
	if err != nil {
		return nil, err
	}
	d.shelf, d.ending = newShelf(opts.codeMemory()), make(chan struct{})
	d.versions = &versions{dir: filepath.Join(opts.cacheDir(), "versions"), max: maxVersions}
	if len(found) > 0 {
		d.lock = lockOf(found[0].path) // they all lie in one directory
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	if err := d.useEngine(ctx, key, opts); err != nil {
		return nil, err
	}
	d.list = openList(filepath.Join(opts.cacheDir(), "lists"), d.origin, key)
	d.plugins = make([]*plugin, len(found))
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(opts.workers())
	for i, c := range found {
		p := newPlugin(c, d)
		d.plugins[i] = p
		if p.Err == nil {
			group.Go(func() error { return p.list(gctx, d.list) })
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	d.saveList()
	offer(d.plugins, nil)
	return d, nil
}

func (d *Dir) saveList() {
	if err := d.list.save(); err != nil {
		d.opts.logger().Warn("tool list not kept", "error", err)
	}
}

func (d *Dir) useEngine(ctx context.Context, key []byte, opts *Options) (err error) {
	if opts != nil && opts.Engine != nil {
		d.engine = opts.Engine
		return nil
	}
	d.engine, err = newEngine(ctx, key, opts)
	d.own = err == nil
	return err
}

// NewEngine makes the engine that OpenDir makes when it is given none, with the compiled code kept
// in the cache directory: for a program that opens several directories. The caller closes it, after
// every Dir that uses it.
func NewEngine(ctx context.Context, opts *Options) (*host.Engine, error) {
	key, err := sealKey(opts.stateDir())
	if err != nil {
		return nil, err
	}
	return newEngine(ctx, key, opts)
}

func newEngine(ctx context.Context, key []byte, opts *Options) (*host.Engine, error) {
	dir := filepath.Join(opts.cacheDir(), "code")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return host.New(ctx, &host.Config{
		CacheDir: dir, CacheKey: key, CompileCommand: opts.compileCommand(), Logger: opts.logger(),
		Dialects: opts.dialects(),
	})
}

// offer gives every plugin its tools, except those that the operator excludes, those that are not
// good, and those whose name another plugin claims too. A name that several claim stays with the
// one that holders, paths by name, says has offered it; without that none of them gets it.
func offer(all []*plugin, holders map[string]string) {
	claims := map[string][]string{}
	for _, p := range all {
		for _, t := range p.Manifest.Tools {
			if p.Err == nil && p.broken(t) == "" && !p.excludes(t.Name) {
				name := p.Prefix + t.Name
				claims[name] = append(claims[name], p.Path)
			}
		}
	}
	for _, p := range all {
		if p.Err == nil {
			p.offer(claims, holders)
		}
	}
}

func (p *plugin) offer(claims map[string][]string, holders map[string]string) {
	had := p.Tools
	p.Tools, p.Withheld, p.Excluded = nil, nil, nil // others may read the old ones
	for _, spec := range p.Manifest.Tools {
		if p.excludes(spec.Name) {
			p.Excluded = append(p.Excluded, spec.Name)
		} else if detail := p.broken(spec); detail != "" {
			p.Withheld = append(p.Withheld, &SpecError{p.Name, p.Path, spec.Name, detail})
		} else if err := p.collision(p.Prefix+spec.Name, claims, holders); err != nil {
			p.Withheld = append(p.Withheld, err)
		} else if i := slices.IndexFunc(had, func(t plugins.Tool) bool {
			return t.Spec().Name == p.Prefix+spec.Name
		}); i >= 0 {
			p.Tools = append(p.Tools, had[i])
		} else {
			p.Tools = append(p.Tools, newTool(p, spec))
		}
	}
	for _, u := range p.unfit {
		p.Withheld = append(p.Withheld, &SpecError{p.Name, p.Path, u.Tool, u.Detail})
	}
}

// collision tells that others claim a tool's name too, and the plugin does not get it.
func (p *plugin) collision(tool string, claims map[string][]string,
	holders map[string]string) error {
	paths, holder := claims[tool], holders[tool]
	if len(paths) < 2 || holder == p.Path {
		return nil
	}
	if !slices.Contains(paths, holder) {
		holder = ""
	}
	return &CollisionError{
		What: "tool", Name: tool, Paths: slices.Sorted(slices.Values(paths)), Kept: holder,
	}
}

func (p *plugin) excludes(tool string) bool { return slices.Contains(p.decision.Exclude, tool) }

// broken tells why a tool cannot be offered; "": it can.
func (p *plugin) broken(spec abi.ToolSpec) string {
	if detail := p.bad[spec.Name]; detail != "" || p.Prefix == "" {
		return detail
	}
	if err := plugins.CheckSpec(abi.ToolSpec{Name: p.Prefix + spec.Name}); err != nil {
		return "with the plugin's name before it: " + err.Error()
	}
	return ""
}
