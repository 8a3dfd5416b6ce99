package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/abihost"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/loader/extism"
)

// inspectJSON is a plugin with all that its file tells.
type inspectJSON struct {
	pluginJSON
	Own     string     `json:"own_name,omitempty"` // what it calls itself, when not Name
	KindWhy string     `json:"kind_why,omitempty"`
	Engine  string     `json:"engine,omitempty"` // that the policy chooses
	Wants   []wantJSON `json:"kinds,omitempty"`  // what each kind wants, of a file that is of none
	Stamped bool       `json:"stamped"`
	Needs   []string   `json:"needs"`
	Imports []linkJSON `json:"imports"`
	Exports []linkJSON `json:"exports"`
	// Functions are the exports that can be tools once the policy says so.
	Functions []string `json:"functions,omitempty"`

	Memory []memoryJSON `json:"memory"`
	// Road is how each call gets its fresh state, Blockers why not by a snapshot.
	Road     host.Road `json:"road"`
	Blockers []string  `json:"blockers"`
}

// linkJSON is an import or export.
type linkJSON struct {
	Module string `json:"module,omitempty"`
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	Type   string `json:"type,omitempty"`
}

// memoryJSON is a linear memory, in bytes.
type memoryJSON struct {
	Min uint64 `json:"min"`
	Max uint64 `json:"max,omitempty"`
}

// pageBytes is the size of a page of linear memory.
const pageBytes = 64 << 10

func (a *app) inspectCommand() *cobra.Command {
	var engine bool
	cmd := &cobra.Command{
		Use:   "inspect PLUGIN[:TOOL] | FILE[:TOOL] | TOOL | --engine",
		Short: "Show what a plugin is, offers and asks for, or one of its tools",
		Long: `Show a plugin of the plugin directories, or a plugin file: its digest and size, its
tools with their schemas, what it imports, exports and asks for, its memory, and how
each call gets a fresh one. Of a tool, show its schemas only. What the plugin says of
itself is marked as its word; the rest is read from the file. With --engine, show the
sandbox instead: what it works with on this machine, and the limits in force.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if engine {
				return takes(0, 0, "no plugin with --engine")(cmd, args)
			}
			return takes(1, 1, "one plugin, file or tool")(cmd, args)
		},
		ValidArgsFunction: a.completePlugins,
		RunE: func(cmd *cobra.Command, args []string) error {
			if engine {
				return a.inspectEngine(cmd.Context())
			}
			return a.inspect(cmd.Context(), args[0])
		},
	}
	cmd.Flags().BoolVar(&engine, "engine", false, "show the sandbox that plugins run in, not a plugin")
	return cmd
}

func (a *app) inspect(ctx context.Context, arg string) error {
	found, err := a.find(ctx, arg, false)
	if err != nil {
		return err
	}
	if _, ok := found.catalog.servers[found.index]; ok {
		j := a.pluginJSON(found.catalog, found.index)
		if found.tool != "" {
			return a.inspectTool(found, &inspectJSON{pluginJSON: j})
		}
		return a.inspectServer(j)
	}
	j, err := a.inspectJSON(found.catalog, found.index)
	if err != nil {
		return err
	}
	if found.tool != "" {
		return a.inspectTool(found, j)
	}
	if a.form != "text" {
		return writeJSON(a.out, a.form, j)
	}
	return j.print(a.out, a.paint(a.out))
}

// inspectTool shows one tool of a plugin.
func (a *app) inspectTool(found *target, j *inspectJSON) error {
	i := slices.IndexFunc(j.Tools, func(t toolJSON) bool { return t.Name == found.tool })
	switch {
	case i >= 0 && a.form != "text":
		return writeJSON(a.out, a.form, j.Tools[i])
	case i >= 0:
		j.Tools[i].print(a.out, a.paint(a.out))
		return nil
	}
	if err := found.catalog.withheld(found.index, found.tool); err != nil {
		return err
	}
	var names []string
	for _, t := range j.Tools {
		names = append(names, t.Name)
	}
	if err := found.plugin().Err; err != nil && len(names) == 0 {
		return err
	}
	return found.missing(names)
}

func (a *app) inspectFile(ctx context.Context, path string) (*inspectJSON, error) {
	c, err := a.openFile(ctx, path)
	if err != nil {
		return nil, err
	}
	return a.inspectJSON(c, 0)
}

func (a *app) inspectJSON(c *catalog, i int) (*inspectJSON, error) {
	p := &c.plugins[i]
	wasm, err := readPlugin(p.Path)
	if err != nil {
		return nil, err
	}
	facts, err := host.Inspect(wasm)
	if err != nil {
		return nil, &loader.LoadError{Plugin: p.Name, Path: p.Path, Err: err}
	}
	_, stamped, _ := abihost.Section(wasm) // a broken section is in p.Err
	j := newInspectJSON(a.pluginJSON(c, i), p, facts, stamped)
	return j, a.addEngine(j)
}

// addEngine tells which of its kind's engines the policy has a plugin run in. Extism's own SDK
// restores nothing.
func (a *app) addEngine(j *inspectJSON) error {
	operator, err := a.operator()
	if err != nil {
		return err
	}
	d, err := operator.Decide(&loader.Plugin{Name: j.Name, Path: j.Path})
	if err != nil {
		return err
	}
	if j.Engine = d.Engine; d.Engine == extism.EngineSDK {
		j.Road, j.Blockers = host.Instantiated, []string{"runs in Extism's own SDK"}
	}
	return nil
}

// readPlugin reads a plugin that has been listed, so that its size is known to be fine.
func readPlugin(path string) ([]byte, error) {
	if strings.HasSuffix(path, ".json") { // a manifest, which makes a module of its files
		return loader.ReadPlugin(path, &loader.Options{Kinds: otherKinds()})
	}
	f, err := openRegular(path)
	if errors.Is(err, errNotRegular) {
		return nil, fmt.Errorf("%s is %w", path, err)
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	wasm, err := io.ReadAll(io.LimitReader(f, host.DefaultModule+1))
	if err == nil && len(wasm) > host.DefaultModule {
		err = fmt.Errorf("%s is larger than %s", path, bytesText(host.DefaultModule))
	}
	return wasm, err
}

func newInspectJSON(j pluginJSON, p *loader.Plugin, f *host.Facts, stamped bool) *inspectJSON {
	out := &inspectJSON{
		pluginJSON: j, Stamped: stamped, Needs: needsText(&p.Manifest.Needs),
		Own: ownName(p), KindWhy: p.KindWhy,
		Imports: []linkJSON{}, Exports: []linkJSON{}, Memory: []memoryJSON{},
		Road: f.Road, Blockers: append([]string{}, f.Blockers...),
	}
	if unnamed, ok := errors.AsType[*extism.FunctionsError](p.Err); ok {
		out.Needs = needsText(&unnamed.Needs)
	}
	switch {
	case p.Kind != "":
		out.Functions = slices.DeleteFunc(functionsOf(p.Kind, f), func(s string) bool { return s == "" })
	case stamped || describes(f):
		out.KindWhy = "it exports " + abi.ExportDescribe
	default:
		out.Wants = wants()
	}
	if p.Err != nil { // the tools that it would offer
		for _, t := range p.Manifest.Tools {
			out.Tools = append(out.Tools, newSpecJSON(t))
		}
	}
	for _, im := range f.Imports {
		out.Imports = append(out.Imports, linkJSON(im))
	}
	for _, e := range f.Exports {
		out.Exports = append(out.Exports, linkJSON{Name: e.Name, Kind: e.Kind, Type: e.Type})
	}
	for _, m := range f.Memories {
		out.Memory = append(out.Memory, memoryJSON{m.Min * pageBytes, m.Max * pageBytes})
	}
	return out
}

// ownName is what a plugin calls itself where that is not its file's name, which counts.
func ownName(p *loader.Plugin) string {
	if p.Manifest.Name == p.Name {
		return ""
	}
	return p.Manifest.Name
}

// needsText says what a plugin asks for, one line each.
func needsText(n *abi.Needs) []string {
	list := []string{}
	add := func(optional bool, words ...string) {
		text := strings.Join(slices.DeleteFunc(words, func(s string) bool { return s == "" }), " ")
		if optional {
			text += " (optional)"
		}
		list = append(list, text)
	}
	for _, h := range n.HTTP {
		add(h.Optional, "http", h.Host, strings.Join(h.Methods, ","))
	}
	if n.KV != nil {
		add(n.KV.Optional, "kv")
	}
	for _, f := range n.Files {
		add(f.Optional, "files", f.Guest, f.Mode)
	}
	for _, v := range n.Env {
		add(v.Default != "", "env", v.Name)
	}
	for _, v := range n.Config {
		add(v.Default != "", "config", v.Name)
	}
	for _, v := range n.Secrets {
		add(false, "secret", v.Name)
	}
	return list
}
