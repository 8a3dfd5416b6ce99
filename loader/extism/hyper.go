package extism

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/loader"
)

// NewHyper makes the kind "hyper-mcp", for loader.Options.Kinds, before the kind "extism": plugins
// for Extism that tell their tools in the words of MCP. There are two versions of them, and servlets
// of mcp.run are of the first.
func NewHyper() loader.Kind {
	d := *New(&Options{Functions: hyperFunctions()}).(*kind).dialect
	d.Name = "hyper-mcp"
	return &hyperKind{&d}
}

type hyperKind struct{ dialect *host.Dialect }

func (k *hyperKind) Name() string              { return k.dialect.Name }
func (k *hyperKind) BundledBy() string         { return "extism" } // implements loader.Bundled
func (k *hyperKind) Dialects() []*host.Dialect { return []*host.Dialect{k.dialect} }

// hyperVersion is one way to ask for tools and to call one.
type hyperVersion struct {
	list, call string // exports
	whose      string
	others     []string // exports that are about something else than tools
}

// hyperVersions are in the order in which their exports count.
var hyperVersions = []*hyperVersion{&hyperV1, &hyperV2}

var (
	hyperV1 = hyperVersion{
		list: "describe", call: "call",
		whose:  "servlets of mcp.run and plugins of hyper-mcp's first version",
		others: []string{"config"},
	}
	hyperV2 = hyperVersion{
		list: "list_tools", call: "call_tool",
		whose: "plugins of hyper-mcp's second version",
		others: []string{"complete", "get_prompt", "list_prompts", "list_resource_templates",
			"list_resources", "on_roots_list_changed", "read_resource"},
	}
)

// versionOf tells a plugin's version by what it exports; nil: it is of none.
func versionOf(f *host.Facts) *hyperVersion {
	have := callable(f)
	for _, v := range hyperVersions {
		if slices.Contains(have, v.list) && slices.Contains(have, v.call) {
			return v
		}
	}
	return nil
}

// Recognize implements loader.Kind. It tells of exports that are not used, too.
func (k *hyperKind) Recognize(f *host.Facts) string {
	v := versionOf(f)
	if v == nil || !slices.ContainsFunc(f.Imports, func(im host.Import) bool {
		return strings.HasPrefix(im.Module, "extism:")
	}) {
		return ""
	}
	why := "it exports " + v.list + " and " + v.call + ", as " + v.whose + " do"
	var unused []string
	for _, name := range callable(f) {
		if slices.Contains(v.others, name) {
			unused = append(unused, name)
		}
	}
	if len(unused) > 0 {
		why += "; not used, since they are no tools: " + strings.Join(unused, ", ")
	}
	return why
}

// Wants says what a file would have to have to be recognized.
func (k *hyperKind) Wants() string {
	return "imports from extism:host/env, exports describe and call, or list_tools and call_tool"
}

// What an operator's word about a plugin of this kind cannot have.
var (
	errDescribed = errors.New(`its policy makes tools of functions, but a plugin of hyper-mcp tells ` +
		`its tools itself: leave functions out, or add kind = "extism" to call its exports by name`)
	errHyperLinked = errors.New("its manifest links several modules, which no plugin of hyper-mcp " +
		"can have: link them into one when you build it")
	errOneEngine = errors.New("its policy names an engine, but plugins of hyper-mcp have only one: " +
		"leave engine out, or say native")
)

// Compile implements loader.Kind.
func (k *hyperKind) Compile(ctx context.Context, e *host.Engine, wasm []byte, p *loader.Plugin,
	d *loader.Decision) (loader.Module, error) {
	switch {
	case len(d.Functions) > 0:
		return nil, errDescribed
	case d.Engine != "" && d.Engine != engineNative:
		return nil, errOneEngine
	}
	facts, err := host.Inspect(wasm)
	if err != nil {
		return nil, err
	}
	said, err := manifestOf(wasm)
	switch {
	case err != nil:
		return nil, err
	case said != nil && len(said.Wasm) > 1:
		return nil, errHyperLinked
	}
	m := &hyperModule{version: versionOf(facts), said: said}
	if m.version == nil {
		return nil, &host.LoadError{Stage: "contract", Err: &host.ModuleError{Problems: []string{
			"it exports neither describe and call nor list_tools and call_tool"}}}
	}
	policy := d.Host
	refuseAll(&policy)
	policy.Dialect = k.dialect
	if said != nil {
		said.lower(&policy)
	}
	if m.guest, err = e.Compile(ctx, wasm, policy); err != nil {
		return nil, err
	}
	if err := m.describe(ctx, e, wasm, p, policy); err != nil {
		return nil, errors.Join(err, m.Close(ctx))
	}
	return m, nil
}

// hyperModule is a plugin that tells its tools.
type hyperModule struct {
	guest    *host.Module
	version  *hyperVersion
	said     *manifest // nil: it is of none
	manifest abi.Manifest
	unfit    []loader.Unfit
	tools    map[string]hyperTool // by the names that are offered
}

// runnable lets a guest be run as any of Extism's.
func (m *hyperModule) runnable(guest *host.Module) *module {
	return &module{guest: guest, maxVarBytes: m.said.maxVarBytes(), maxResponse: m.said.maxResponse()}
}

// hyperTool is what a call of a tool has to know.
type hyperTool struct {
	original  string // what the plugin calls it
	described bool   // it has an output schema
}

func (m *hyperModule) Manifest() abi.Manifest          { return m.manifest }
func (m *hyperModule) Withheld() []loader.Unfit        { return m.unfit }
func (m *hyperModule) Size() int64                     { return m.guest.Size() }
func (m *hyperModule) Close(ctx context.Context) error { return m.guest.Close(ctx) }
