package conform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/abihost"
	"github.com/wasmagent/wasmagent/host"
)

// Level is how bad a finding is.
type Level string

// Levels.
const (
	Error   Level = "error"   // the plugin, or a tool of it, will not work
	Warning Level = "warning" // it works, but
)

// Finding is something that is wrong with a plugin.
type Finding struct {
	Level Level
	Where string // file, contract, a stage of loading, manifest, road, or tool and its name
	Text  string
}

// Options of a check. Nil, and every zero field, is the documented default.
type Options struct {
	// Limits hold while the plugin is checked. DefaultTime is what a call may take.
	Limits host.Limits
	// NoCalls leaves it at loading the plugin.
	NoCalls bool
	// Input gives the arguments, msgpack, that a tool is tried with. Nil gives an empty map.
	Input func(abi.ToolSpec) abi.Raw
}

// DefaultTime is what a call of a plugin that is checked may take.
const DefaultTime = 5 * time.Second

// Report is what was found out about a plugin.
type Report struct {
	Manifest  abi.Manifest // as far as Described
	Described bool         // the plugin could say what it is
	Missing   []string     // what it needs and nobody has granted: its tools were not called
	Findings  []Finding
}

func (r *Report) add(level Level, where, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{level, where, fmt.Sprintf(format, args...)})
}

// Check loads a module and calls its tools. It finds as much as it can: a plugin that needs what
// nobody has granted is still described, and not called. The error is not the plugin's: ctx is
// done, or the engine is closed or broken.
func Check(ctx context.Context, e *host.Engine, wasm []byte, o *Options) (*Report, error) {
	if o == nil {
		o = &Options{}
	}
	c := &checker{ctx: ctx, engine: e, wasm: wasm, opts: *o, report: &Report{}}
	if c.opts.Limits.Time == 0 {
		c.opts.Limits.Time = DefaultTime
	}
	err := c.check()
	return c.report, err
}

// checker is one run of Check.
type checker struct {
	ctx    context.Context
	engine *host.Engine
	wasm   []byte
	opts   Options
	report *Report
}

func (c *checker) check() error {
	m, err := c.compile(host.Policy{Limits: c.opts.Limits})
	if err == nil {
		c.manifest(m.Manifest())
		if road, why := m.Road(); road == host.Instantiated {
			c.report.add(Warning, "road", "every call takes a new instance, which is slow, since "+
				"what it does cannot be undone: %s", strings.Join(why, ", "))
		}
		if !c.opts.NoCalls {
			err = c.behaves()
		}
		return errors.Join(err, m.Close(context.WithoutCancel(c.ctx)))
	}
	if err := c.refused(err); err != nil {
		return err
	}
	raw, err := c.engine.Describe(c.ctx, c.wasm, host.Policy{Limits: c.opts.Limits})
	if err != nil {
		return c.ours(err) // the rest has been said
	}
	manifest, err := abihost.ParseManifest(raw)
	if err == nil {
		c.manifest(manifest)
	}
	return nil
}

func (c *checker) compile(p host.Policy) (*host.Module, error) {
	return c.engine.Compile(c.ctx, c.wasm, p)
}

// ours gives an error back that is not the plugin's.
func (c *checker) ours(err error) error {
	if _, theirs := errors.AsType[*host.LoadError](err); theirs && c.ctx.Err() == nil {
		return nil
	}
	return err
}

// refused tells why the host does not load the plugin. What only an operator can mend is no error
// of the plugin's.
func (c *checker) refused(err error) error {
	if grant, ok := errors.AsType[*host.GrantError](err); ok {
		c.report.Missing = grant.Missing
		return nil
	}
	load, ok := errors.AsType[*host.LoadError](err)
	if !ok || c.ctx.Err() != nil {
		return err
	}
	if module, ok := errors.AsType[*host.ModuleError](load.Err); ok {
		for _, problem := range module.Problems {
			c.report.add(Error, load.Stage, "%s", problem)
		}
		return nil
	}
	c.report.add(Error, load.Stage, "%v", load.Err)
	return nil
}

func (c *checker) manifest(m abi.Manifest) {
	c.report.Manifest, c.report.Described = m, true
	if m.Version == "" {
		c.report.add(Warning, "manifest", "it has no version")
	}
}

// fixed is a policy with time and randomness of a kind.
func (c *checker) fixed(kind byte) host.Policy {
	at := time.Date(2001+int(kind), 2, 3, 4, 5, 6, 7, time.UTC)
	return host.Policy{Limits: c.opts.Limits, Fixed: &host.Fixed{Time: at, Seed: [32]byte{kind}}}
}

// behaves checks what a plugin that loads does.
func (c *checker) behaves() error {
	if err := c.pure(); err != nil {
		return err
	}
	greased := c.fixed(0)
	greased.Grease = true
	plain, err := c.compile(c.fixed(0))
	if err != nil {
		return c.otherwise(err)
	}
	defer plain.Close(context.WithoutCancel(c.ctx))
	grease, err := c.compile(greased)
	if err != nil {
		return c.otherwise(err)
	}
	defer grease.Close(context.WithoutCancel(c.ctx))
	for _, t := range c.report.Manifest.Tools {
		if err := c.tool(t, plain, grease); err != nil {
			return err
		}
	}
	return nil
}

// pure sees whether the manifest depends on when and with what luck it is asked for.
func (c *checker) pure() error {
	first, err := c.engine.Describe(c.ctx, c.wasm, c.fixed(1))
	if err != nil {
		return c.otherwise(err)
	}
	second, err := c.engine.Describe(c.ctx, c.wasm, c.fixed(2))
	if err != nil {
		return c.otherwise(err)
	}
	if !bytes.Equal(first, second) {
		c.report.add(Error, "describe",
			"the manifest is another at another time or with other random numbers")
	}
	return nil
}

// otherwise tells of a plugin that loaded before and does not now.
func (c *checker) otherwise(err error) error {
	if ours := c.ours(err); ours != nil {
		return ours
	}
	c.report.add(Error, "load", "with another time or other random numbers it does not load: %v", err)
	return nil
}
