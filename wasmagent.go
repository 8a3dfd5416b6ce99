package wasmagent

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"slices"

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
	Logger   *slog.Logger            // nil discards

	// CompileCommand is a program that compiles plugins which are too much for this process; see
	// host.CompileChild. Nil: they are refused.
	CompileCommand []string
}

// Toolbox is the tools of a directory, safe for concurrent use.
type Toolbox struct {
	dir      *loader.Dir
	registry *plugins.Registry
	problems []error
}

// Open loads a directory of plugins: files NAME.wasm and folders NAME with a plugin.wasm. Plugins
// that cannot be loaded do not make it fail: Problems lists them.
func Open(ctx context.Context, dir string, opts *Options) (*Toolbox, error) {
	if opts == nil {
		opts = &Options{}
	}
	d, err := loader.OpenDir(ctx, dir, &loader.Options{
		CacheDir: opts.CacheDir, StateDir: opts.StateDir, Limits: opts.Limits, Logger: opts.Logger,
		Policies:       opts.Policies,
		CompileCommand: opts.CompileCommand,
	})
	if err != nil {
		return nil, err
	}
	b := &Toolbox{dir: d, registry: plugins.NewRegistry(&plugins.Options{
		Rules: opts.Rules, Ledger: opts.Ledger, Scope: opts.Scope, Logger: opts.Logger,
	})}
	for _, p := range d.Plugins() {
		if p.Err != nil {
			b.problems = append(b.problems, p.Err)
		}
		b.problems = append(b.problems, p.Withheld...)
	}
	for _, t := range d.Tools() {
		if err := b.registry.Add(t); err != nil {
			b.problems = append(b.problems, err)
		}
	}
	return b, nil
}

// Tools lists what can be called, sorted by name.
func (b *Toolbox) Tools() iter.Seq[abi.ToolSpec] { return b.registry.Specs() }

// Problems lists the plugins and tools that are not on offer, each with its reason:
// *loader.LoadError, *loader.NotAllowedError, *loader.SpecError, *loader.CollisionError,
// *plugins.AddError. While there are rules for tools that are not there, a *plugins.RuleError comes
// last: until a program has added those, no call is carried out.
func (b *Toolbox) Problems() []error {
	problems := slices.Clone(b.problems)
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

// Close waits for running calls and frees everything. It may be called twice.
func (b *Toolbox) Close() error { return b.dir.Close() }
