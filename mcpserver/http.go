package mcpserver

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// HTTP says who may use a server over HTTP. The zero value lets nobody.
type HTTP struct {
	// Tokens are the bearer tokens of which each request must have one. A session belongs to the
	// token that it began with.
	Tokens []string

	// NoAuth lets everybody on this machine in without a token. It is refused for addresses that
	// others can reach and when a tool is Granted something.
	NoAuth  bool
	Granted bool // some tool may do more than compute: network, files, secrets

	// Hosts are the names, besides those of this machine's loopback, by which clients may address
	// the server. A web page whose name was made to lead here has another one.
	Hosts []string
}

// sharedPart is how much of Options.Calls the clients of one token may have that have no sessions,
// in percent: the rest is for those that do.
const sharedPart = 75

// statelessFrom is the first version of the protocol that has no sessions.
const statelessFrom = "2026-07-28"

// Handler serves MCP at any path. What it needs of its listener, Serve has: limits of headers and
// of idle connections.
func (s *Server) Handler(h HTTP) (http.Handler, error) {
	guard, err := newGuard(s.refusals, h)
	if err != nil {
		return nil, err
	}
	eras := newEras(s, guard.tokens)
	var handler http.Handler = http.HandlerFunc(eras.serve)
	if !h.NoAuth {
		handler = guard.authenticate(handler)
	}
	handler = guard.admit(http.NewCrossOriginProtection().Handler(handler))
	return bounded(handler), nil
}

// eras serves both eras of the protocol at one address.
type eras struct {
	server              *Server
	stateful, stateless http.Handler
	shared              map[string]*session // of the era without sessions, by the token's owner
}

func newEras(s *Server, tokens tokens) *eras {
	of := func(*http.Request) *mcp.Server { return s.mcp }
	logger, calls := s.refusals.library(), max(1, s.opts.Calls*sharedPart/100)
	e := &eras{
		server: s,
		stateful: mcp.NewStreamableHTTPHandler(of, &mcp.StreamableHTTPOptions{
			Logger: logger, SessionTimeout: SessionIdle, MaxRequestBodyBytes: MaxMessage,
			DisableLocalhostProtection: true, // guard knows more hosts
		}),
		stateless: mcp.NewStreamableHTTPHandler(of, &mcp.StreamableHTTPOptions{
			Logger: logger, Stateless: true, PropagateRequestCancellation: true,
			MaxRequestBodyBytes: MaxMessage, DisableLocalhostProtection: true,
		}),
		shared: map[string]*session{"": newShared(s.life, calls)},
	}
	for _, sum := range tokens {
		e.shared[ownerOf(sum)] = newShared(s.life, calls)
	}
	return e
}

func (e *eras) serve(w http.ResponseWriter, r *http.Request) {
	if !readBody(w, r) {
		return
	}
	if r.Header.Get("Mcp-Protocol-Version") >= statelessFrom {
		owner := ""
		if token := auth.TokenInfoFromContext(r.Context()); token != nil {
			owner = token.UserID
		}
		ctx := withSession(r.Context(), e.shared[owner])
		e.stateless.ServeHTTP(w, r.WithContext(ctx))
		return
	}
	if r.Header.Get("Mcp-Session-Id") == "" { // one may begin
		begun := newSession(e.server.life, e.server.opts.SessionCalls)
		begun.counted = true
		r = r.WithContext(withSession(r.Context(), begun))
	}
	e.stateful.ServeHTTP(w, r)
}

// CheckAddr tells why an address is not only this machine's, and gives nil when it is: a loopback
// address, or localhost. Whoever listens asks it first, unless the operator wants others to get in.
func CheckAddr(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	switch {
	case err != nil:
		return fmt.Errorf("address %q: want HOST:PORT", addr)
	case host == "":
		return fmt.Errorf("address %q is every address of this machine; want 127.0.0.1%s", addr, addr)
	case isLoopback(host):
		return nil
	}
	return fmt.Errorf("address %q can be reached from other machines; want a loopback one, such as "+
		"127.0.0.1", addr)
}

// path is where Serve serves MCP. Whatever else a program asks for is not there.
const path = "/mcp"

// atPath has a handler answer at path only.
func atPath(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			http.Error(w, "not found: MCP is served at "+path, http.StatusNotFound)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// Serve serves MCP at the path /mcp on a listener, which it closes, until ctx is done; then it gives
// ctx's cause.
func (s *Server) Serve(ctx context.Context, listener net.Listener, h HTTP) error {
	defer listener.Close()
	if h.NoAuth {
		if err := CheckAddr(listener.Addr().String()); err != nil {
			return fmt.Errorf("without a token: %w", err)
		}
	}
	handler, err := s.Handler(h)
	if err != nil {
		return err
	}
	var waiting unused
	server := &http.Server{
		Handler:           atPath(handler),
		ConnState:         waiting.note,
		ReadHeaderTimeout: ReadHeaderTimeout,
		IdleTimeout:       IdleTimeout,
		MaxHeaderBytes:    MaxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.refusals.library().Handler(), slog.LevelWarn),
		BaseContext:       func(net.Listener) context.Context { return ctx }, // streams end with it
	}
	server.RegisterOnShutdown(waiting.close)
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), ShutdownGrace)
		defer cancel()
		if server.Shutdown(grace) != nil {
			server.Close()
		}
	})
	err = server.Serve(listener)
	if !stop() {
		<-ended
	}
	if errors.Is(err, http.ErrServerClosed) {
		return context.Cause(ctx)
	}
	return err
}

func ownerOf(sum [sha256.Size]byte) string { return fmt.Sprintf("%x", sum[:8]) }

// patience bounds how long a peer may take for each piece of an answer, however many there are.
type patience struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (p patience) Write(b []byte) (int, error) {
	p.extend()
	return p.ResponseWriter.Write(b)
}

// FlushError writes too.
func (p patience) FlushError() error {
	p.extend()
	return p.control.Flush()
}

func (p patience) Flush() { _ = p.FlushError() }

func (p patience) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// extend sets the deadline anew. A writer that has none, as in a test, does without.
func (p patience) extend() { _ = p.control.SetWriteDeadline(time.Now().Add(WriteTimeout)) }
