package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/wasmagent/wasmagent/mcpserver"
)

// mcpVerb serves tools. Its stdout belongs to the protocol, also when it fails.
const mcpVerb = "mcp"

// mcpFlags are the flags of a server.
type mcpFlags struct {
	shown shownFlags

	http   string   // address; "" is stdio
	hosts  []string // names by which clients may address it
	noAuth bool
}

// shownFlags say which tools clients see, and how.
type shownFlags struct {
	discover bool
	direct   int
	watch    bool
}

func (s *shownFlags) add(f *pflag.FlagSet) {
	f.BoolVar(&s.discover, "discover", false,
		"show search_tools and call_tool in place of the tools, however few there are")
	f.IntVar(&s.direct, "direct-tools", mcpserver.DefaultDirectTools,
		"show up to this `number` of tools one by one; of more, clients search")
	f.BoolVar(&s.watch, "watch", true,
		"follow what happens to the plugin directories; --watch=false serves what is there at the start")
}

func (s *shownFlags) check() error {
	if s.direct < 1 {
		return &usageError{text: fmt.Sprintf("--direct-tools is a positive number, not %d", s.direct),
			hint: "--discover shows none of them one by one"}
	}
	return nil
}

func (a *app) mcpCommand() *cobra.Command {
	var flags mcpFlags
	cmd := &cobra.Command{
		Use:   mcpVerb,
		Short: "Serve the tools to MCP clients",
		Long: `Serve the tools of the plugin directories to a client of the Model Context Protocol, over
stdin and stdout until stdin ends, or with --http over streamable HTTP. Both versions of the
protocol are spoken, the one with sessions and the one without. What was asked before stdin
ends is answered.

Clients start this command by themselves: "mcp install CLIENT" writes it into a client's
settings, and "mcp config CLIENT" prints what belongs there. Nothing but the protocol is
written to stdout; the log and errors go to stderr.

A server may be started several times at once. Plugins may come, change and go while it runs:
a running call finishes on the version that it found, and a version that does not load leaves
the one before serving. What the policy says of plugins, their grants, limits, keys and
effects, holds here as in a call; what changes in it takes a new start.

docs/mcp.md tells what a client sees.`,
		Example: `  wasmagent mcp install claude-code -p ./plugins
  wasmagent mcp config vscode -p ./plugins
  wasmagent mcp -p ./plugins
  wasmagent mcp -p ./plugins --http 127.0.0.1:7070`,
		Args: a.noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), &flags) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&flags.http, "http", "",
		"serve HTTP at this `address`, HOST:PORT, :PORT for this machine only, port 0 for any")
	f.StringArrayVar(&flags.hosts, "host", nil,
		"a `name` by which clients on other machines address the server, repeatable; needed for an "+
			"address that they can reach")
	f.BoolVar(&flags.noAuth, "no-auth", false,
		"ask clients over HTTP for no token: only on this machine, and only where nothing is granted")
	flags.shown.add(f)
	a.ledgerFlag(f, "the `file` of the ledger that records calls with a key")
	cmd.AddCommand(a.mcpConfigCommand(), a.mcpInstallCommand())
	return cmd
}

// serve serves until the client leaves, or somebody ends the command, which is no failure.
func (a *app) serve(ctx context.Context, flags *mcpFlags) error {
	if err := errors.Join(flags.shown.check(), flags.checkHTTP()); err != nil {
		return err
	}
	if err := a.checkNoAuth(flags); err != nil {
		return err
	}
	c, servers, err := a.openPlugins(ctx)
	if err != nil {
		return err
	}
	tools, dirs := a.served(c)
	defer a.join(ctx, tools, servers, flags.shown.watch)()
	switch n := len(slices.Collect(tools.registry.Specs())); {
	case n == 0:
		a.log.Warn("there are no tools to serve", "plugins", c.origin)
	case n > flags.shown.direct && !flags.shown.discover:
		a.log.Warn("more tools than are shown one by one: clients search for them", "tools", n,
			"shown", flags.shown.direct, "then", fmt.Sprintf("--direct-tools %d shows them all", n))
	}
	server := mcpserver.New(tools.registry, &mcpserver.Options{
		Version: versions().Version, Logger: a.log,
		Discover: flags.shown.discover, DirectTools: flags.shown.direct,
	})
	defer server.Close()
	if flags.shown.watch {
		defer a.follow(ctx, tools, dirs)()
	}
	if flags.http != "" {
		err = a.serveHTTP(ctx, server, flags)
	} else {
		err = a.serveStdio(ctx, server)
	}
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), errTimeout) {
		return nil
	}
	return err
}

func (a *app) serveStdio(ctx context.Context, server *mcpserver.Server) error {
	signal.Ignore(syscall.SIGPIPE) // a client that is gone must not end calls half-way
	if in, ok := a.in.(*os.File); ok && term.IsTerminal(int(in.Fd())) {
		fmt.Fprintln(a.err, `waiting for JSON-RPC on stdin; "wasmagent mcp install CLIENT" has a `+
			"client start this command by itself")
	}
	return server.ServeStdio(ctx, a.in, a.out)
}
