package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

// target is what an argument names: a plugin, or one of its tools.
type target struct {
	catalog *catalog
	index   int    // of the plugin
	tool    string // "" is the whole plugin
	named   string // the file or the plugin, as it was typed
}

func (t *target) plugin() *loader.Plugin { return &t.catalog.plugins[t.index] }

// find finds TOOL, PLUGIN[:TOOL] or FILE[:TOOL]. Where one name is a plugin's and a tool's,
// toolFirst decides.
// Servers are started only as far as that takes.
func (a *app) find(ctx context.Context, arg string, toolFirst bool) (*target, error) {
	return a.findIn(ctx, arg, toolFirst, a.openAll)
}

// findPlugin finds what is a plugin or of one, for a command that has no use for servers.
func (a *app) findPlugin(ctx context.Context, arg string) (*target, error) {
	return a.findIn(ctx, arg, false,
		func(ctx context.Context, _ string) (*catalog, error) { return a.openDirs(ctx) })
}

func (a *app) findIn(ctx context.Context, arg string, toolFirst bool,
	open func(ctx context.Context, name string) (*catalog, error)) (*target, error) {
	path, name := splitTarget(arg)
	if path != "" {
		c, err := a.openFile(ctx, path)
		if err != nil {
			return nil, err
		}
		return &target{c, 0, name, path}, nil
	}
	c, err := open(ctx, name)
	if err != nil {
		return nil, err
	}
	plugin, tool, _ := strings.Cut(name, ":")
	owner, isTool := c.claimant(name)
	if isTool && (toolFirst || !c.hasPlugin(plugin)) {
		return &target{c, owner, name, ""}, nil
	}
	if !c.hasPlugin(plugin) {
		return nil, cmp.Or(c.lost(name), a.noTool(c, arg))
	}
	i, err := c.plugin(plugin)
	if err != nil {
		return nil, err
	}
	if full := c.plugins[i].Prefix + tool; tool != "" && !c.offers(i, tool) && c.offers(i, full) {
		tool = full // which the plugin itself has without its prefix
	}
	return &target{c, i, tool, plugin}, nil
}

// splitTarget splits FILE:TOOL. What is no file, a tool, plugin or PLUGIN:TOOL, has no path.
func splitTarget(target string) (path, name string) {
	if !isPath(target) {
		if path, name, ok := strings.Cut(target, ".wasm:"); ok {
			return path + ".wasm", name
		}
		return "", target
	}
	if i := strings.LastIndexByte(target, ':'); i > 1 && !strings.ContainsAny(target[i:], `/\`) {
		return target[:i], target[i+1:]
	}
	return target, ""
}

// callable gives the tool to call. A plugin stands for its tool when it has only one.
func (t *target) callable() (plugins.Tool, *loader.Plugin, error) {
	p := t.plugin()
	if p.Err != nil {
		return nil, nil, p.Err
	}
	name, names := t.tool, t.catalog.offered(t.index)
	if name == "" && len(names) == 1 {
		name = names[0]
	}
	if name == "" {
		return nil, nil, t.unnamed(names)
	}
	if t.catalog.offers(t.index, name) {
		return t.catalog.tools[name], p, nil
	}
	if err := t.catalog.withheld(t.index, name); err != nil {
		return nil, nil, err
	}
	return nil, nil, t.missing(names)
}

// maxNamed is how many tools of a plugin an error names.
const maxNamed = 20

// unnamed is a plugin where a tool is needed.
func (t *target) unnamed(names []string) error {
	p := t.plugin()
	if len(names) == 0 {
		return t.noTools()
	}
	var full []string
	for _, n := range names[:min(len(names), maxNamed)] {
		full = append(full, t.named+":"+n)
	}
	list := strings.Join(full, ", ")
	if more := len(names) - maxNamed; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return &usageError{
		text: fmt.Sprintf("%q is a %s with %s", p.Name, t.catalog.noun(t.index), count(len(names), "tool")),
		hint: "name one: " + list,
	}
}

// noTools is a plugin that offers none.
func (t *target) noTools() error {
	p, noun := t.plugin(), t.catalog.noun(t.index)
	if len(p.Withheld) > 0 {
		return fmt.Errorf("%s %q offers none of its tools: %w", noun, p.Name, p.Withheld[0])
	}
	return &notFoundError{
		text: fmt.Sprintf("%s %q (%s) offers none of its tools", noun, p.Name, p.Path),
		hint: excludedHint(p.Excluded),
	}
}

// excludedHint tells that an operator does not want these tools to be offered.
func excludedHint(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "the policy excludes " + strings.Join(names[:min(len(names), maxNamed)], ", ")
}

// missing is a tool that the plugin does not have, or that is excluded.
func (t *target) missing(names []string) error {
	p := t.plugin()
	for _, name := range p.Excluded {
		if t.tool == name || t.tool == p.Prefix+name {
			return &notFoundError{
				text: fmt.Sprintf("plugin %q (%s) does not offer its tool %q", p.Name, p.Path, name),
				hint: excludedHint([]string{name}),
			}
		}
	}
	return &notFoundError{
		text: fmt.Sprintf("%s %q (%s) has no tool %q", t.catalog.noun(t.index), p.Name, p.Path, t.tool),
		hint: nearHint(t.tool, names, "it has "+strings.Join(names[:min(len(names), maxNamed)], ", ")),
	}
}
