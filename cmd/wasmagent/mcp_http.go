package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"

	"github.com/adrg/xdg"

	"github.com/wasmagent/wasmagent/mcpserver"
)

// checkHTTP checks the flags that are about HTTP.
func (f *mcpFlags) checkHTTP() error {
	switch {
	case f.http == "" && f.noAuth:
		return &usageError{text: "--no-auth is for --http", hint: "over stdin and stdout nobody is asked"}
	case f.http == "" && len(f.hosts) > 0:
		return &usageError{text: "--host is for --http"}
	case f.http == "":
		return nil
	}
	addr, err := listenAddr(f.http)
	if err != nil {
		return err
	}
	f.http = addr
	err = mcpserver.CheckAddr(addr)
	switch {
	case err == nil:
		return nil
	case f.noAuth:
		return &usageError{text: "--no-auth: " + err.Error(), hint: "clients elsewhere need a token"}
	case len(f.hosts) == 0:
		return &usageError{text: "--http: " + err.Error(),
			hint: "if that is wanted, --host NAME says by which name they address it; put TLS before it"}
	}
	return nil
}

// listenAddr fills in what an address leaves out: the host is this machine's loopback.
func listenAddr(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", &usageError{text: fmt.Sprintf("--http is HOST:PORT or :PORT, not %q", addr)}
	}
	if host == "" {
		host = "127.0.0.1"
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return "", &usageError{text: fmt.Sprintf("--http: %q is no port", port)}
	}
	return net.JoinHostPort(host, port), nil
}

// checkNoAuth refuses to do without a token where the policy grants something, before any server of
// the policy is started.
func (a *app) checkNoAuth(flags *mcpFlags) error {
	operator, err := a.operator()
	if err != nil || !flags.noAuth || !operator.Grants() {
		return err
	}
	what := "what plugins are granted"
	if servers := operator.Servers(); len(servers) > 0 {
		var names []string
		for _, s := range servers {
			names = append(names, s.Name)
		}
		what = "these servers, which are not sandboxed: " + strings.Join(names, ", ")
	}
	return &hinted{
		errors.New("without a token everybody on this machine could use " + what),
		"leave --no-auth out, or name with --config a policy that grants nothing",
	}
}

// tokenFile is where the token is that clients over HTTP need.
func tokenFile() string { return filepath.Join(xdg.StateHome, "wasmagent", "mcp-token") }

// serveHTTP serves on an address and tells which, and where the token is, but never the token.
func (a *app) serveHTTP(ctx context.Context, server *mcpserver.Server, flags *mcpFlags) error {
	operator, err := a.operator()
	if err != nil {
		return err
	}
	h := mcpserver.HTTP{NoAuth: flags.noAuth, Granted: operator.Grants(), Hosts: flags.hosts}
	key := "none is needed"
	if !flags.noAuth {
		token, err := mcpserver.LoadToken(tokenFile())
		if err != nil {
			return err
		}
		h.Tokens, key = []string{token}, "in "+tokenFile()
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", flags.http)
	if err != nil {
		return fmt.Errorf("--http: %w", err)
	}
	if len(flags.hosts) > 0 {
		a.log.Warn("tokens and results cross the network unencrypted unless TLS is before this server",
			"hosts", strings.Join(flags.hosts, ", "))
	}
	fmt.Fprintf(a.err, "serving MCP at http://%s/mcp; bearer token: %s\n", listener.Addr(), key)
	return server.Serve(ctx, listener, h)
}
