package mcpserver

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wasmagent/wasmagent/plugins"
)

// Options of a Server. Nil and zero fields are the documented defaults.
type Options struct {
	Name, Version string       // how the server introduces itself; "" is wasmagent and dev
	Logger        *slog.Logger // host faults, refused requests, tools' own lines; nil discards

	Discover    bool // clients always search for tools, however few there are
	DirectTools int  // more tools than this are searched for; 0: DefaultDirectTools

	Calls        int // that run at once; 0: DefaultCalls
	SessionCalls int // of one session that run at once; 0: DefaultSessionCalls
	Sessions     int // over HTTP; 0: DefaultSessions
}

// Server offers the tools of a registry. It is safe for concurrent use.
type Server struct {
	registry *plugins.Registry
	own      *plugins.Registry // search_tools, call_tool and read_more
	mcp      *mcp.Server
	log      *slog.Logger
	opts     Options
	gate     *gate // of the registry's tools
	asks     *gate // of lists and of own
	refusals *refusals
	shown    atomic.Pointer[map[string]offer] // what clients see, by name
	sessions atomic.Int64                     // over HTTP, that were initialised
	found    atomic.Pointer[index]

	offered map[string]string   // each offer's print, by name; only for sync
	warned  map[string]struct{} // names that are there and were warned of; only for sync

	life    context.Context // ends with Close; calls and sessions end with it
	end     context.CancelFunc
	watcher sync.WaitGroup
}

// New makes a server for the registry's tools, and follows the registry's changes until Close.
func New(registry *plugins.Registry, opts *Options) *Server {
	s := &Server{registry: registry, offered: map[string]string{}, warned: map[string]struct{}{}}
	if opts != nil {
		s.opts = *opts
	}
	o := &s.opts
	orDefault(&o.Name, "wasmagent")
	orDefault(&o.Version, "dev")
	orDefault(&o.Logger, slog.New(slog.DiscardHandler))
	orDefault(&o.DirectTools, DefaultDirectTools)
	orDefault(&o.Calls, DefaultCalls)
	orDefault(&o.SessionCalls, DefaultSessionCalls)
	orDefault(&o.Sessions, DefaultSessions)
	s.log = o.Logger
	s.gate, s.asks = newGate(o.Calls), newGate(MaxAsks)
	s.own = newOwn(s)
	s.life, s.end = context.WithCancel(context.Background())
	s.refusals = newRefusals(s.life, s.log)
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: o.Name, Version: o.Version}, &mcp.ServerOptions{
		Instructions: instructions,
		Logger:       s.refusals.library(),
		Capabilities: capabilities(),
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) {
			c.CacheScope = "private" // what there is depends on who may ask
		},
	})
	s.mcp.AddReceivingMiddleware(s.admit)
	changed := registry.Changed()
	s.sync()
	s.watcher.Go(func() { s.watch(changed) })
	return s
}

// Close ends all sessions and cancels the calls that run. It waits for them, for ShutdownGrace at
// most: a client may not read its answers. It may be called twice.
func (s *Server) Close() error {
	s.end()
	s.watcher.Wait()
	within(ShutdownGrace, func() {
		var all sync.WaitGroup
		for session := range s.mcp.Sessions() {
			all.Go(func() { session.Close() })
		}
		all.Wait()
	})
	return nil
}

const instructions = "A result with isError tells in its text what to do differently. Where a " +
	"text says that a part of it is left out, read_more reads on."

func orDefault[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}
