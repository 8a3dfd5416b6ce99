package host

import (
	"context"

	"github.com/tetratelabs/wazero/api"

	"github.com/wasmagent/wasmagent/host/internal/rewrite"
	"github.com/wasmagent/wasmagent/host/internal/wasi"
)

// Dialect is a contract that guests may be written to other than this project's own: what they may
// import besides WASI and its predecessor wasi_unstable, what a life of theirs begins with, and how
// calls enter them. All else, the checks, limits, grants and the fresh state of each call, is as for
// any guest. An Engine links the dialects of its Config once; Policy.Dialect says which one a module
// is written to.
type Dialect struct {
	Name    string // in errors
	Imports []Function

	// Initialize are exports that are called while loading, in this order, as far as the module has
	// them. What they take, two numbers at most, is 0.
	Initialize []string

	// Check finds what is wrong with a module for this dialect. Nil: nothing is.
	Check func(*Facts) (problems []string)

	// NewState makes what the Imports keep for one instance. Nil: they keep nothing.
	NewState func() State
}

// State is what a dialect's functions keep for an instance. It belongs to the goroutine that runs
// the instance.
type State interface {
	// Fork copies what loading left behind, for a call to begin with.
	Fork() State
}

// Function is one that a dialect's guests may import.
type Function struct {
	Module, Name    string
	Params, Results []ValueType

	// Call gets the arguments on the stack and leaves the results there. It ends the guest by
	// Guest.End only.
	Call func(g *Guest, stack []uint64)
}

// ValueType is the type of a parameter or result.
type ValueType = api.ValueType

const (
	I32 = api.ValueTypeI32
	I64 = api.ValueTypeI64
	F32 = api.ValueTypeF32
	F64 = api.ValueTypeF64
)

// linkage is what the modules of one dialect can import: signatures by module and name.
type linkage map[string]map[string]string

func (l linkage) add(module, name string, params, results []ValueType) {
	if l[module] == nil {
		l[module] = map[string]string{}
	}
	l[module][name] = rewrite.FuncType{Params: valTypes(params), Results: valTypes(results)}.String()
}

// linkDialects makes the modules that guests of other dialects import from. Functions of one module
// and name are the same in all of them.
func (e *Engine) linkDialects(ctx context.Context, dialects []*Dialect) error {
	modules := map[string]map[string]*Function{}
	for _, d := range dialects {
		links := linkage{wasi.Module: e.links[nil][wasi.Module]}
		for _, f := range wasi.UnstableFunctions(wasiState) {
			links.add(wasi.Unstable, f.Name, f.Params, f.Results)
		}
		for i := range d.Imports {
			f := &d.Imports[i]
			links.add(f.Module, f.Name, f.Params, f.Results)
			if modules[f.Module] == nil {
				modules[f.Module] = map[string]*Function{}
			}
			modules[f.Module][f.Name] = f
		}
		e.links[d] = links
	}
	if len(dialects) > 0 {
		if err := e.linkUnstable(ctx); err != nil {
			return err
		}
	}
	for module, functions := range modules {
		b := e.runtime.NewHostModuleBuilder(module)
		for name, f := range functions {
			b.NewFunctionBuilder().WithGoFunction(f.bind(), f.Params, f.Results).Export(name)
		}
		if _, err := b.Instantiate(ctx); err != nil {
			return err
		}
	}
	return nil
}

// linkUnstable makes the module that older guests import WASI from.
func (e *Engine) linkUnstable(ctx context.Context) error {
	b := e.runtime.NewHostModuleBuilder(wasi.Unstable)
	for _, f := range wasi.UnstableFunctions(wasiState) {
		b.NewFunctionBuilder().WithGoModuleFunction(f.Call, f.Params, f.Results).Export(f.Name)
	}
	_, err := b.Instantiate(ctx)
	return err
}

func (f *Function) bind() api.GoFunc {
	call := f.Call
	return func(ctx context.Context, stack []uint64) {
		in := instanceOf(ctx)
		in.charge(0)
		call(&in.guest, stack)
	}
}

// checkDialect holds a module against a dialect.
func checkDialect(f *rewrite.Facts, d *Dialect, links linkage) error {
	problems := append(checkFeatures(f), checkImports(f, links)...)
	if f.Memory == nil || f.Memory.Imported {
		problems = append(problems, "a plugin defines one memory of its own")
	}
	if d.Check != nil {
		problems = append(problems, d.Check(factsOf(f))...)
	}
	if len(problems) == 0 {
		return nil
	}
	return contractError(problems...)
}

// Check tells what keeps a module from being a plugin of a dialect's under a policy, as far as its
// bytes tell: Compile refuses it for the same. Nothing is compiled, which of a large module takes a
// while, and nothing runs.
func (e *Engine) Check(wasm []byte, p Policy) error {
	limits, err := p.Limits.withDefaults()
	if err != nil {
		return err
	}
	bare, links, err := e.admit(wasm, p.Dialect, limits)
	if err != nil {
		return err
	}
	facts, err := preflight(bare)
	if err == nil {
		err = checkContract(facts, p.Dialect, links)
	}
	if err != nil {
		return where(wasm, err)
	}
	return checkMemory(facts, limits)
}

// loadDialect takes a first instance of another dialect's through loading, and keeps what all calls
// begin with.
func (m *Module) loadDialect(ctx context.Context) error {
	in, err := m.newInstance(ctx, nil)
	if err != nil {
		return err
	}
	if m.policy.Isolation == Instantiate || len(m.code.blockers) > 0 {
		in.close()
		return nil
	}
	m.loaded = in.state
	in.memory.Disclaim() // every call that begins with it claims it
	if err := m.photograph(in); err != nil {
		in.close()
		return err
	}
	return nil
}
