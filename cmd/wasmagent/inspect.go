package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/abihost"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/loader"
)

// inspectJSON is a plugin with all that its file tells.
type inspectJSON struct {
	pluginJSON
	Stamped bool         `json:"stamped"`
	Needs   []string     `json:"needs"`
	Imports []linkJSON   `json:"imports"`
	Exports []linkJSON   `json:"exports"`
	Memory  []memoryJSON `json:"memory"`
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
	return &cobra.Command{
		Use:   "inspect PLUGIN | FILE",
		Short: "Show what a plugin is, offers and asks for",
		Long: `Show a plugin of the plugin directories, or a plugin file: its digest and size, its tools with
their schemas, what it imports, exports and asks to be granted, and its memory. What the plugin
says of itself is marked as its word; the rest is read from the file.`,
		Args:              takes(1, 1, "one plugin or file"),
		ValidArgsFunction: a.completePlugins,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.inspect(cmd.Context(), args[0])
		},
	}
}

func (a *app) inspect(ctx context.Context, target string) error {
	c, i, err := a.findPlugin(ctx, target)
	if err != nil {
		return err
	}
	j, err := a.inspectJSON(c, i)
	if err != nil {
		return err
	}
	if a.form != "text" {
		return writeJSON(a.out, a.form, j)
	}
	return j.print(a.out, a.paint(a.out))
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
	return newInspectJSON(a.pluginJSON(c, i), p, facts, stamped), nil
}

// findPlugin finds a plugin by its name or by its file.
func (a *app) findPlugin(ctx context.Context, target string) (*catalog, int, error) {
	if isPath(target) {
		c, err := a.openFile(ctx, target)
		return c, 0, err
	}
	c, err := a.openDirs(ctx)
	if err != nil {
		return nil, 0, err
	}
	i, err := c.plugin(target)
	return c, i, err
}

// readPlugin reads a plugin file that has been listed, so that its size is known to be fine.
func readPlugin(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
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
		Imports: []linkJSON{}, Exports: []linkJSON{}, Memory: []memoryJSON{},
	}
	if p.Err != nil { // the tools that it would offer
		for _, t := range p.Manifest.Tools {
			out.Tools = append(out.Tools, newToolJSON(t))
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

// moduleImports is what is imported from one module.
type moduleImports struct {
	module string
	names  []string
}

// importsByModule gathers the imports by their modules, in the order of their first mention.
func (j *inspectJSON) importsByModule() []moduleImports {
	var list []moduleImports
	for _, im := range j.Imports {
		i := slices.IndexFunc(list, func(m moduleImports) bool { return m.module == im.Module })
		if i < 0 {
			i = len(list)
			list = append(list, moduleImports{module: im.Module})
		}
		if !slices.Contains(list[i].names, im.Name) { // one may be imported twice
			list[i].names = append(list[i].names, im.Name)
		}
	}
	return list
}

// print writes the plugin for people.
func (j *inspectJSON) print(w io.Writer, c palette) error {
	t := newTable(w)
	t.row("plugin", "%s %s", j.Name, j.Version)
	t.row("file", "%s", j.Path)
	t.row("digest", "%s", j.Digest)
	t.row("size", "%s", bytesText(j.Size))
	for _, m := range j.Memory {
		t.row("memory", "%s", m.text())
	}
	t.row("manifest", "%s", stampedText(j.Stamped))
	t.row("asks for", "%s", textOr(strings.Join(j.Needs, "; "), "nothing"))
	if err := t.Flush(); err != nil {
		return err
	}
	if j.Error != nil {
		fmt.Fprintf(w, "\n%s %s\n", c.red("not offered:"), visible(j.Error.Message))
	}
	for _, text := range j.Withheld {
		fmt.Fprintf(w, "\n%s %s\n", c.yellow("not offered:"), visible(text))
	}
	for _, tool := range j.Tools {
		tool.print(w, c)
	}
	if err := printLinks(w, c, "imports", j.Imports); err != nil {
		return err
	}
	return printLinks(w, c, "exports", j.Exports)
}

func (m memoryJSON) text() string {
	limit := "no maximum of its own"
	if m.Max > 0 {
		limit = "at most " + bytesText(int64(m.Max))
	}
	return bytesText(int64(m.Min)) + " at first, " + limit
}

func stampedText(stamped bool) string {
	if stamped {
		return "stamped"
	}
	return `not stamped: listing it for the first time runs it ("wasmagent build FILE" stamps it)`
}

func textOr(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func (t *toolJSON) print(w io.Writer, c palette) {
	fmt.Fprintf(w, "\n%s  %s\n", c.bold("tool "+t.Name), t.Effect)
	if t.Description != "" {
		fmt.Fprintf(w, "  says: %s\n", visible(t.Description))
	}
	printSchema(w, "input", t.InputSchema)
	printSchema(w, "output", t.OutputSchema)
}

func printSchema(w io.Writer, name string, raw json.RawMessage) {
	if raw != nil {
		text := strings.ReplaceAll(indentJSON(raw), "\n", "\n  ")
		fmt.Fprintf(w, "  %s: %s\n", name, visible(text))
	}
}

// printLinks writes imports or exports, one a line.
func printLinks(w io.Writer, c palette, title string, links []linkJSON) error {
	fmt.Fprintf(w, "\n%s\n", c.bold(title))
	if len(links) == 0 {
		fmt.Fprintln(w, "  none")
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, l := range links {
		cells := []string{strings.TrimPrefix(l.Module+"."+l.Name, "."), l.Kind, l.Type}
		line := strings.TrimRight(strings.Join(cells, "\t"), "\t")
		fmt.Fprintf(t, "  %s\n", visible(line))
	}
	return t.Flush()
}
