package wasmagent

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

// Options of Open. Nil and zero fields are the documented defaults.
type Options struct {
	CacheDir string                  // tool lists and compiled code; "" is the user's cache directory
	StateDir string                  // the key that seals them; "" is the user's state directory
	Limits   host.Limits             // of every plugin, where Policies is nil; zero: host's defaults
	Policies loader.Policies         // such as a *policy.Policy; nil grants nothing to any plugin
	Rules    map[string]plugins.Rule // the operator's, by name of a tool, also of one added later
	Ledger   plugins.Ledger          // records keyed calls that do more than read, and calls of runs
	Scope    string                  // whose keys those of Go tools are; a plugin's are its own
	Kinds    []loader.Kind           // of plugins besides this project's own; nil: Kinds()
	Logger   *slog.Logger            // nil discards

	// CompileCommand is a program that compiles plugins which are too much for this process; see
	// host.CompileChild. Nil: they are refused.
	CompileCommand []string
}

// Toolbox is the tools of a directory, safe for concurrent use.
type Toolbox struct {
	dir      *loader.Dir
	registry *plugins.Registry

	mu      sync.Mutex
	refused map[string]error // by the registry, by name of a tool
}

// Open loads a directory of plugins: files NAME.wasm and folders NAME with a plugin.wasm. Plugins
// that cannot be loaded do not make it fail: Problems lists them.
func Open(ctx context.Context, dir string, opts *Options) (*Toolbox, error) {
	if opts == nil {
		opts = &Options{}
	}
	kinds := opts.Kinds
	if kinds == nil {
		kinds = Kinds()
	}
	d, err := loader.OpenDir(ctx, dir, &loader.Options{
		CacheDir: opts.CacheDir, StateDir: opts.StateDir, Limits: opts.Limits, Logger: opts.Logger,
		Policies: opts.Policies, Kinds: kinds,
		CompileCommand: opts.CompileCommand,
	})
	if err != nil {
		return nil, err
	}
	b := &Toolbox{dir: d, refused: map[string]error{}, registry: plugins.NewRegistry(&plugins.Options{
		Rules: opts.Rules, Ledger: opts.Ledger, Scope: opts.Scope, Logger: opts.Logger,
	})}
	b.replace(nil, d.Tools())
	return b, nil
}

// Watch begins to follow the directory, until ctx ends or the Toolbox closes: plugins that are
// added, replaced or removed while calls run are what the next calls find. A call finishes on the
// version that it found, and a version that does not load leaves the one before serving. What has
// changed is in Registry by the time that told, if it is not nil, hears of it; told must not close
// the Toolbox. What an operator changes in the meantime takes a new start: see loader.Dir.Watch.
func (b *Toolbox) Watch(ctx context.Context, told func(loader.Change)) error {
	return b.dir.Watch(ctx, func(c loader.Change) {
		b.replace(c.Old, c.New)
		if told != nil {
			told(c)
		}
	})
}

// replace puts tools in the place of others, and remembers which of them the registry refused.
func (b *Toolbox) replace(old, new []plugins.Tool) {
	err := b.registry.Replace(old, new)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range slices.Concat(old, new) {
		delete(b.refused, t.Spec().Name)
	}
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range all.Unwrap() {
			if e, ok := errors.AsType[*plugins.AddError](err); ok {
				b.refused[e.Tool] = e
			}
		}
	}
}

// Tools lists what can be called, sorted by name.
func (b *Toolbox) Tools() iter.Seq[abi.ToolSpec] { return b.registry.Specs() }

// Problems lists the plugins and tools that are not on offer, each with its reason:
// *loader.LoadError, *loader.NotAllowedError, *loader.SpecError, *loader.CollisionError,
// *plugins.AddError. In a watched directory that is what lies there now, though a plugin's version
// from before may serve on. While there are rules for tools that were never there, a
// *plugins.RuleError comes last: until a program has added those, no call is carried out.
func (b *Toolbox) Problems() []error {
	var problems []error
	told := map[string]bool{} // a name that several plugins claim is a problem of each
	for _, p := range b.dir.Plugins() {
		for _, err := range append([]error{p.Err, p.Held}, p.Withheld...) {
			if collision, ok := err.(*loader.CollisionError); ok {
				again := told[collision.Error()]
				told[collision.Error()] = true
				if again {
					continue
				}
			}
			if err != nil {
				problems = append(problems, err)
			}
		}
	}
	b.mu.Lock()
	for _, tool := range slices.Sorted(maps.Keys(b.refused)) {
		problems = append(problems, b.refused[tool])
	}
	b.mu.Unlock()
	if err := b.registry.Check(); err != nil {
		problems = append(problems, err)
	}
	return problems
}

// Call runs a tool with JSON arguments. A plugin is compiled when it is first called.
func (b *Toolbox) Call(ctx context.Context, tool string, args json.RawMessage) (
	plugins.Result, error) {
	return b.registry.Call(ctx, plugins.Call{Tool: tool, Input: args})
}

// Registry is where the tools are kept: add Go tools of your own, or call with more than arguments.
func (b *Toolbox) Registry() *plugins.Registry { return b.registry }

// Close ends Watch, waits for running calls and frees everything. It may be called twice.
func (b *Toolbox) Close() error { return b.dir.Close() }
