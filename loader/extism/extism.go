package extism

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/abihost"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/loader"
)

// Options of New. Nil and zero fields are the documented defaults.
type Options struct {
	// Functions are what plugins may import beside Extism's own, such as those of
	// extism:host/user. Offsets that they get and give are of blocks: see Read, Write and Free.
	Functions []host.Function

	// SDKCommand is a program and its arguments that does nothing but sdkchild.Serve, or better this
	// one as itself. It is run, with no environment, for plugins whose policy chooses the engine
	// "extism-sdk". Nil: there is no such engine.
	SDKCommand []string
}

// New makes the kind "extism", for loader.Options.Kinds.
func New(opts *Options) loader.Kind {
	d := &host.Dialect{
		Name: "extism", Imports: functions(), NewState: newState,
		Initialize: []string{"_initialize", "__wasm_call_ctors", "hs_init"},
	}
	k := &kind{dialect: d}
	if opts != nil {
		d.Imports = append(d.Imports, opts.Functions...)
		k.sdkCommand = opts.SDKCommand
	}
	d.Check = func(f *host.Facts) []string { return remedy(f, d.Imports) }
	return k
}

// remedy says what to do about functions that neither Extism nor WASI has.
func remedy(f *host.Facts, have []host.Function) []string {
	for _, im := range f.Imports {
		if im.Module != env && !strings.HasPrefix(im.Module, "wasi_") &&
			!slices.ContainsFunc(have, func(h host.Function) bool {
				return h.Module == im.Module && h.Name == im.Name
			}) {
			return []string{"functions of its own host are given to it by the program that loads it " +
				"(extism.Options.Functions)"}
		}
	}
	return nil
}

type kind struct {
	dialect    *host.Dialect
	sdkCommand []string
}

func (k *kind) Name() string              { return k.dialect.Name }
func (k *kind) Dialects() []*host.Dialect { return []*host.Dialect{k.dialect} }

// Recognize implements loader.Kind.
func (k *kind) Recognize(f *host.Facts) string {
	for _, im := range f.Imports {
		if strings.HasPrefix(im.Module, "extism:") {
			return "it imports from " + im.Module
		}
	}
	return ""
}

// ErrLinked is a manifest of several modules in the native engine.
var ErrLinked = errors.New("its manifest links several modules, which only Extism's own engine " +
	`does: engine = "extism-sdk" in its policy`)

// FunctionsError is a policy that does not say which functions of a plugin are tools, or names some
// that cannot be.
type FunctionsError struct {
	Wrong []string // what is wrong with those it names
	Have  []string // the functions that can be tools

	Needs abi.Needs // what the plugin's manifest asks for, with every text cleaned
}

// maxTold is how many of a plugin's functions an error's text has.
const maxTold = 20

func (e *FunctionsError) Error() string {
	have := "it exports no function that could be one"
	if len(e.Have) > 0 {
		have = "it exports " + strings.Join(e.Have[:min(len(e.Have), maxTold)], ", ")
	}
	if more := len(e.Have) - maxTold; more > 0 {
		have += fmt.Sprintf(" and %d more", more)
	}
	if len(e.Wrong) > 0 {
		return strings.Join(e.Wrong, "; ") + ": " + have
	}
	return "an Extism plugin does not describe its functions, and no policy says which are tools: " +
		have
}

// Compile implements loader.Kind.
func (k *kind) Compile(ctx context.Context, e *host.Engine, wasm []byte, p *loader.Plugin,
	d *loader.Decision) (loader.Module, error) {
	facts, err := host.Inspect(wasm)
	if err != nil {
		return nil, err
	}
	said, err := manifestOf(wasm)
	if err != nil {
		return nil, err
	}
	m := &module{functions: map[string]loader.Function{}, maxVarBytes: said.maxVarBytes(),
		maxResponse: said.maxResponse()}
	m.manifest = abi.Manifest{Name: p.Name, ABI: abi.Version}
	policy := d.Host
	if said != nil {
		said.lower(&policy)
		if m.manifest.Needs, err = said.checkedNeeds(); err != nil {
			return nil, err
		}
	}
	if err := m.declare(facts, d.Functions); err != nil {
		return nil, err
	}
	// What was said is held against the same limits as any plugin's word.
	m.manifest, err = abihost.ParseManifest(abi.AppendManifest(nil, &m.manifest))
	if err != nil {
		return nil, err
	}
	refuseAll(&policy)
	switch {
	case d.Engine == EngineSDK:
		return k.compileSDK(ctx, m, said.parts(wasm), policy)
	case d.Engine != "" && d.Engine != engineNative:
		want := fmt.Sprintf("there is no such engine: want %q or %q", engineNative, EngineSDK)
		return nil, &EngineError{d.Engine, []string{want}}
	case said != nil && len(said.Wasm) > 1:
		return nil, ErrLinked
	}
	policy.Dialect = k.dialect
	if m.guest, err = e.Compile(ctx, wasm, policy); err != nil {
		return nil, err
	}
	return m, nil
}

// declare makes tools of the functions that the policy names.
func (m *module) declare(f *host.Facts, declared []loader.Function) error {
	have := callable(f)
	wrong := &FunctionsError{Have: have, Needs: m.manifest.Needs}
	for _, fn := range declared {
		if fn.Export == "" {
			fn.Export = fn.Tool.Name
		}
		if !slices.Contains(have, fn.Export) {
			wrong.Wrong = append(wrong.Wrong, whyNot(f, fn.Export))
		}
		if fn.Args != nil || fn.Stdin != "" {
			wrong.Wrong = append(wrong.Wrong, fmt.Sprintf("tool %q has args or stdin, which are a command's",
				fn.Tool.Name))
		}
		if fn.Text && fn.Tool.InputSchema == "" {
			fn.Tool.InputSchema = textSchema
		}
		m.functions[fn.Tool.Name] = fn
		m.manifest.Tools = append(m.manifest.Tools, fn.Tool)
	}
	if len(declared) == 0 || len(wrong.Wrong) > 0 {
		return wrong
	}
	return nil
}

// whyNot says why an export is no function that can be a tool.
func whyNot(f *host.Facts, export string) string {
	i := slices.IndexFunc(f.Exports, func(e host.Export) bool {
		return e.Name == export && e.Kind == "func"
	})
	if i < 0 {
		return fmt.Sprintf("no function %q", export)
	}
	return fmt.Sprintf("function %q is %s, and a tool takes no parameters and gives nothing or an i32",
		export, f.Exports[i].Type)
}

// textSchema is the input schema of a function that takes one string, where the policy has none.
const textSchema = `{"type":"object","additionalProperties":false,"required":["input"],` +
	`"properties":{"input":{"type":"string"}}}`

// runtimes are exports that a language's run-time has, not a tool.
var runtimes = []string{"_initialize", "__wasm_call_ctors", "asyncify_get_state",
	"asyncify_stop_rewind", "asyncify_stop_unwind"}

// maxExport is how long the name of a function that is called may be, in characters.
const maxExport = 80

// callable lists the functions that Extism can call: without parameters, and with a number of 32
// bits for a result, or none. One whose name cannot be shown as it is cannot be named either.
func callable(f *host.Facts) (names []string) {
	for _, e := range f.Exports {
		if e.Kind == "func" && (e.Type == "() -> i32" || e.Type == "() -> ()") &&
			!slices.Contains(runtimes, e.Name) && abi.CleanText(e.Name, maxExport) == e.Name {
			names = append(names, e.Name)
		}
	}
	slices.Sort(names)
	return names
}
