package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adrg/xdg"

	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

// envPlugins names the variable that lists plugin directories, separated as in $PATH.
const envPlugins = "WASMAGENT_PLUGINS"

// catalog is every plugin of the directories that a command works on, and every MCP server.
type catalog struct {
	plugins []loader.Plugin         // by directory, then by name
	tools   map[string]plugins.Tool // on offer, by name
	owners  map[string]int          // index of a tool's plugin in plugins
	origin  string                  // the directories or the file, and who named them
	dirs    []*loader.Dir
	servers map[int]server // those of plugins that are none
}

// pluginDirs chooses the directories: -p, else $WASMAGENT_PLUGINS, else ./plugins, else the data
// directory. What was asked for must be there. It also says who asked, when it was the environment.
func (a *app) pluginDirs() (dirs []string, from string, err error) {
	asked := a.dirs
	if len(asked) == 0 {
		asked, from = filepath.SplitList(os.Getenv(envPlugins)), " (from $"+envPlugins+")"
	}
	asked = slices.DeleteFunc(slices.Clone(asked), func(s string) bool { return s == "" })
	if len(asked) > 0 {
		return slices.Compact(asked), from, nil
	}
	data := filepath.Join(xdg.DataHome, "wasmagent", "plugins")
	for _, dir := range []string{"plugins", data} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return []string{dir}, "", nil
		}
	}
	return nil, "", &noDirsError{data}
}

// noDirsError is that nobody named a plugin directory, and none is where one would be.
type noDirsError struct{ data string }

func (e *noDirsError) Error() string {
	return fmt.Sprintf("no plugin directory: name one with -p, set $%s, or make ./plugins or %s",
		envPlugins, e.data)
}

// openDirs opens all plugin directories; they close with the command.
func (a *app) openDirs(ctx context.Context) (*catalog, error) {
	dirs, from, err := a.pluginDirs()
	if err != nil {
		return nil, err
	}
	opts, err := a.loaderOptions(ctx)
	if err != nil {
		return nil, err
	}
	c := newCatalog()
	c.origin = strings.Join(dirs, ", ") + from
	for _, dir := range dirs {
		d, err := loader.OpenDir(ctx, dir, opts)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("plugin directory %s: there is no such directory%s", dir, from)
		} else if err != nil {
			return nil, err
		}
		a.closeAtEnd("plugins", d.Close)
		c.add(d)
	}
	return c, nil
}

// openFile opens one file or plugin folder.
func (a *app) openFile(ctx context.Context, path string) (*catalog, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, &notFoundError{text: fmt.Sprintf("no file %s", path)}
	}
	opts, err := a.loaderOptions(ctx)
	if err != nil {
		return nil, err
	}
	d, err := loader.OpenFile(ctx, path, opts)
	if err != nil {
		return nil, err
	}
	a.closeAtEnd("plugins", d.Close)
	c := newCatalog()
	c.origin = path
	c.add(d)
	return c, nil
}

// loaderOptions are those of everything that the command opens. All of it shares one engine.
func (a *app) loaderOptions(ctx context.Context) (*loader.Options, error) {
	engine, err := a.sandbox(ctx)
	if err != nil {
		return nil, err
	}
	operator, err := a.operator()
	if err != nil {
		return nil, err
	}
	return &loader.Options{
		Engine: engine, Policies: operator, Logger: a.log, Called: called, Kinds: otherKinds(),
	}, nil
}

// sandbox gives the engine, which is made when it is first needed and closes with the command.
func (a *app) sandbox(ctx context.Context) (*host.Engine, error) {
	if a.engine != nil {
		return a.engine, nil
	}
	engine, err := loader.NewEngine(ctx, &loader.Options{
		CompileCommand: compileCommand(), Logger: a.log, Kinds: otherKinds(),
	})
	if err != nil {
		return nil, err
	}
	a.engine = engine
	a.closeAtEnd("engine", func() error { return engine.Close(context.Background()) })
	return engine, nil
}

func (a *app) closeAtEnd(what string, closer func() error) {
	a.onEnd(func() {
		if err := closer(); err != nil {
			a.log.Warn("not closed", "what", what, "error", err)
		}
	})
}

func newCatalog() *catalog {
	return &catalog{tools: map[string]plugins.Tool{}, owners: map[string]int{},
		servers: map[int]server{}}
}

// add takes in the plugins of d. A tool name that an earlier directory offers is lost to both, as
// it is between two plugins of one directory.
func (c *catalog) add(d *loader.Dir) {
	c.dirs = append(c.dirs, d)
	for _, p := range d.Plugins() {
		c.addPlugin(p)
	}
}

func (c *catalog) addPlugin(p loader.Plugin) {
	mine := len(c.plugins)
	c.plugins = append(c.plugins, p)
	for _, t := range p.Tools {
		c.offer(t, mine)
	}
}

// offer takes in a tool of plugin mine. A server's tool, which comes after those of plugins and of
// servers before it by name, takes no name from another.
func (c *catalog) offer(t plugins.Tool, mine int) {
	name := t.Spec().Name
	theirs, taken := c.owners[name]
	if !taken {
		c.tools[name], c.owners[name] = t, mine
		return
	}
	err := &loader.CollisionError{
		What: "tool", Name: name, Paths: []string{c.plugins[theirs].Path, c.plugins[mine].Path},
	}
	if c.noun(mine) == "server" {
		if c.tools[name] != nil {
			err.Kept = c.plugins[theirs].Path
		}
		c.plugins[mine].Withheld = append(c.plugins[mine].Withheld, err)
		return
	}
	delete(c.tools, name)
	for _, i := range []int{theirs, mine} {
		c.plugins[i].Withheld = append(c.plugins[i].Withheld, err)
	}
}

// offered gives the names of p's tools that can be called, in the order of its manifest.
func (c *catalog) offered(i int) []string {
	var names []string
	for _, t := range c.plugins[i].Tools {
		if name := t.Spec().Name; c.offers(i, name) {
			names = append(names, name)
		}
	}
	return names
}

// offers reports whether a tool is plugin i's and can be called.
func (c *catalog) offers(i int, tool string) bool {
	owner, ok := c.owners[tool]
	return ok && owner == i && c.tools[tool] != nil
}

// claimant gives the plugin that has a tool of this name, offered or not.
func (c *catalog) claimant(tool string) (index int, ok bool) {
	if index, ok = c.owners[tool]; ok {
		return index, true
	}
	for i, p := range c.plugins {
		for _, t := range p.Manifest.Tools {
			if p.Prefix+t.Name == tool {
				return i, true
			}
		}
	}
	return 0, false
}

// withheld gives the reason why plugin i does not offer a tool of its own, or nil.
func (c *catalog) withheld(i int, tool string) error {
	for _, err := range c.plugins[i].Withheld {
		var collision *loader.CollisionError
		var spec *loader.SpecError
		if errors.As(err, &collision) && collision.Name == tool ||
			errors.As(err, &spec) && spec.Tool == tool {
			return err
		}
	}
	return nil
}

// noTool says that nothing has this name, where that was looked for, and what is near.
func (a *app) noTool(c *catalog, name string) error {
	var names []string
	for n := range c.tools {
		names = append(names, n)
	}
	for _, p := range c.plugins {
		if c.tools[p.Name] == nil {
			names = append(names, p.Name)
		}
	}
	return &notFoundError{
		text: fmt.Sprintf("no tool or plugin %q in %s", name, c.origin),
		hint: nearHint(name, names, a.listHint()),
	}
}

func (c *catalog) hasPlugin(name string) bool {
	return slices.ContainsFunc(c.plugins, func(p loader.Plugin) bool { return p.Name == name })
}

// plugin finds a plugin that is there by its name.
func (c *catalog) plugin(name string) (int, error) {
	var found []int
	var paths []string
	for i, p := range c.plugins {
		if p.Name == name {
			found, paths = append(found, i), append(paths, p.Path)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	if last := found[len(found)-1]; c.noun(last) == "server" {
		return 0, &usageError{
			text: fmt.Sprintf("%q is a plugin and an MCP server (%s)", name, c.plugins[last].Path),
			hint: "name the tool, or the plugin's file: " + strings.Join(paths[:len(paths)-1], " or "),
		}
	}
	return 0, &usageError{
		text: fmt.Sprintf("plugin %q is in several directories", name),
		hint: "name the file instead: " + strings.Join(paths, " or "),
	}
}

// isPath tells a file from the name of a tool or plugin.
func isPath(arg string) bool {
	return strings.ContainsAny(arg, `/\`) || strings.HasSuffix(arg, ".wasm")
}
