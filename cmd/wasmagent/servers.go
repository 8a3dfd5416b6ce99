package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/loader/mcp"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/policy"
)

// server is an MCP server among the plugins of a catalog.
type server struct {
	*policy.Server
	source *mcp.Source // nil when it could not be had
}

// serverToolError is a tool that a server has and that is not offered.
type serverToolError struct {
	server *policy.Server
	mcp.Withheld
}

func (e *serverToolError) Error() string {
	return fmt.Sprintf("server %q (%s): %s", e.server.Name, e.server.At, e.Withheld)
}

// openAll opens the plugin directories and the servers of the policy; they close with the command.
// Of servers only those are started that name could mean, a tool's, a server's or SERVER:TOOL; "" are
// all. What cannot be had is in the catalog with its reason.
func (a *app) openAll(ctx context.Context, name string) (*catalog, error) {
	c, servers, err := a.openPlugins(ctx)
	if err != nil {
		return nil, err
	}
	owner, _, _ := strings.Cut(name, ":")
	_, isPlugins := c.owners[name] // and before a server's
	servers = slices.DeleteFunc(servers, func(s *policy.Server) bool {
		return name != "" && s.Name != owner && (isPlugins || !s.MayOffer(name))
	})
	a.openServers(ctx, c, servers)
	return c, context.Cause(ctx)
}

// openPlugins opens the plugin directories, which may be none if there are servers. Of servers none
// is started.
func (a *app) openPlugins(ctx context.Context) (*catalog, []*policy.Server, error) {
	c, err := a.openDirs(ctx)
	none, noDirs := errors.AsType[*noDirsError](err)
	if err != nil && !noDirs {
		return nil, nil, err
	}
	operator, err := a.operator()
	if err != nil {
		return nil, nil, err
	}
	servers := operator.Servers()
	switch {
	case noDirs && len(servers) == 0:
		return nil, nil, none
	case noDirs:
		c = newCatalog()
		c.origin = a.policyFile()
	}
	return c, servers, nil
}

// openServers starts servers side by side, and takes them in by their names.
func (a *app) openServers(ctx context.Context, c *catalog, servers []*policy.Server) {
	sources, errs := make([]*mcp.Source, len(servers)), make([]error, len(servers))
	var group sync.WaitGroup
	for i, s := range servers {
		group.Go(func() { sources[i], errs[i] = s.Open(ctx, a.log) })
	}
	group.Wait()
	for i, s := range servers {
		if sources[i] != nil {
			a.closeAtEnd("server "+s.Name, sources[i].Close)
		}
		c.addServer(server{s, sources[i]}, errs[i])
	}
}

// addServer takes in a server, as if it were a plugin that lies in its section of the policy.
func (c *catalog) addServer(s server, err error) {
	p := loader.Plugin{Name: s.Name, Path: s.At}
	if err != nil {
		p.Err = fmt.Errorf("%s: %w", s.At, err)
	} else {
		p.Tools, p.Withheld = s.source.Tools(), s.withheld()
		for _, t := range p.Tools {
			p.Manifest.Tools = append(p.Manifest.Tools, t.Spec())
		}
	}
	c.servers[len(c.plugins)] = s
	c.addPlugin(p)
}

// serversName is what a server calls a tool where that is not the tool's name; its rule and include
// go by it.
func serversName(t plugins.Tool) string {
	own, ok := t.(interface{ OwnName() string })
	if !ok || own.OwnName() == t.Spec().Name {
		return ""
	}
	return own.OwnName()
}

func (s server) withheld() []error {
	var all []error
	for _, w := range s.source.Withheld() {
		all = append(all, &serverToolError{s.Server, w})
	}
	return all
}

// lost is the error of a server that is not there and could have a tool of this name, or nil.
func (c *catalog) lost(tool string) error {
	for i := range c.plugins {
		if s, ok := c.servers[i]; ok && s.source == nil && s.MayOffer(tool) {
			return c.plugins[i].Err
		}
	}
	return nil
}

// noun is what the catalog's entry is.
func (c *catalog) noun(i int) string {
	if _, ok := c.servers[i]; ok {
		return "server"
	}
	return "plugin"
}

// inspectServer shows a server.
func (a *app) inspectServer(j pluginJSON) error {
	if a.form != "text" {
		return writeJSON(a.out, a.form, j)
	}
	paint := a.paint(a.out)
	t := newTable(a.out)
	t.row("server", "%s", j.Name)
	t.row("kind", "MCP server, NOT sandboxed")
	t.row("from", "%s", j.Source)
	t.row("policy", "%s", j.Path)
	if err := t.Flush(); err != nil {
		return err
	}
	if j.Error != nil {
		fmt.Fprintf(a.out, "\n%s %s\n", paint.red("not offered:"), visible(j.Error.Message))
	}
	for _, text := range j.Withheld {
		fmt.Fprintf(a.out, "\n%s %s\n", paint.yellow("not offered:"), visible(text))
	}
	for _, tool := range j.Tools {
		fmt.Fprintln(a.out)
		tool.print(a.out, paint)
	}
	return nil
}
