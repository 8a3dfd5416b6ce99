package mcp

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/wasmagent/wasmagent/host/egress"
	"github.com/wasmagent/wasmagent/plugins"
)

// Server is the operator's word on one server: a command to run or a URL to reach, exactly one of
// both.
type Server struct {
	Name string // small letters, digits and underscores, at most 40

	Command string           // run with stdin and stdout as the connection; NOT sandboxed
	Args    []string         //
	Env     map[string]Value // all of its environment: it gets no other variable
	Dir     string           // "" is this program's own

	URL     string           // https, or http to this machine
	Headers map[string]Value // of each request
	Bearer  string           // name of the secret that is sent as a bearer token; "": none

	Prefix string   // of the offered names, before an underscore; "" is Name
	Bare   bool     // offer names without a prefix
	Tools  []string // the only tools that are offered, by the server's own names; nil: all
	Limits Limits

	// Rules say what counts for tools, by the server's own names. A rule for a tool that the server
	// does not have at the start is a mistake: the one that was meant would be called without it.
	Rules map[string]plugins.Rule
}

// Value is a text, or the name of a secret in its place. It is the operator's, and never expanded.
type Value struct{ Text, Secret string }

// Options of a Source. Nil and zero fields are the documented defaults.
type Options struct {
	Logger *slog.Logger // what happens to the server and what it says itself; nil discards

	// Secret gives the value of a secret. It is asked at each start; nil: there are none.
	Secret func(ctx context.Context, name string) (string, error)

	// HTTP carries the requests to a URL; nil is a transport of the source's own, with the proxy
	// of this program's environment.
	HTTP http.RoundTripper
}

// Source is a server as a source of tools. It is safe for concurrent use.
type Source struct {
	server Server
	opts   Options
	log    *slog.Logger
	dial   func(context.Context) (*link, error)
	pace   pace
	clean  atomic.Pointer[egress.Scrubber] // takes secrets out of texts; nil before there are any
	known  map[string][]string             // the secrets so far, by their names; a start's alone
	free   func()                          // what the source's own transport keeps open

	calls  *semaphore.Weighted
	tokens atomic.Int64
	ears   sync.Map      // *ear by progress token: the calls that run
	stale  chan struct{} // the server says that its tools have changed
	lines  *lineLimit    // of its log

	life context.Context
	end  context.CancelFunc
	jobs sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	session *session // nil before the first start
	flight  *flight  // the start that runs, or nil
	starts  starts
	tools   map[string]*tool
	held    []Withheld
	unmet   []string              // tools that have a rule and that the server does not have
	meant   string                // what the first of them may stand for
	seen    map[string]definition // of tools with a rule, by the server's names: when first listed
	news    *news
	changed chan struct{} // closed at the next change; nil when nobody asked for it
}

var serverName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

// Open starts or reaches a server and lists its tools. What it gives has to be closed. A server that
// cannot be had is a *ServerError, one that is not well described a *ConfigError.
func Open(ctx context.Context, server Server, opts *Options) (*Source, error) {
	if err := server.Check(); err != nil {
		return nil, err
	}
	server.Limits = server.Limits.orDefaults()
	s := newSource(server, opts)
	if server.Command != "" {
		s.dial = s.dialCommand
	} else {
		s.dial = s.dialURL()
	}
	return s.open(ctx)
}

func newSource(server Server, opts *Options) *Source {
	s := &Source{
		server: server, pace: pace{RestartWait, GiveUpTime, PingTime},
		calls: semaphore.NewWeighted(int64(server.Limits.Calls)),
		stale: make(chan struct{}, 1), lines: newLineLimit(), free: func() {},
		known: map[string][]string{}, seen: map[string]definition{}, news: newNews(),
	}
	if opts != nil {
		s.opts = *opts
	}
	s.log = s.opts.Logger
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.log = s.log.With("server", server.Name)
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

func (s *Source) open(ctx context.Context) (*Source, error) {
	s.jobs.Go(s.follow)
	if _, err := s.use(ctx); err != nil {
		s.Close()
		return nil, err
	}
	s.mu.Lock()
	unmet, meant := s.unmet, s.meant
	s.mu.Unlock()
	if len(unmet) > 0 {
		s.Close()
		return nil, &ConfigError{s.server.Name, "tools", fmt.Sprintf(
			"there is a rule for %q, and %s%s", unmet[0], noSuchTool, meant)}
	}
	return s, nil
}

// Name is the server's name.
func (s *Source) Name() string { return s.server.Name }

// Tools are the tools that the server offers now, sorted by name. They stay usable when a later list
// has them no more, and after a crash: the next call starts the server again.
func (s *Source) Tools() []plugins.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]plugins.Tool, 0, len(s.tools))
	for _, name := range slices.Sorted(maps.Keys(s.tools)) {
		list = append(list, s.tools[name])
	}
	return list
}

// Withheld are the tools that the server has and the source does not offer, sorted by name.
func (s *Source) Withheld() []Withheld {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.held)
}

// Changed gives a channel that is closed when the tools next change. Who asks for it before he looks
// at the tools misses no change.
func (s *Source) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// Close ends the calls that run, the session, and the command with all that it has started. It
// waits for them, and may be called twice.
func (s *Source) Close() error {
	s.mu.Lock()
	s.closed = true
	session := s.session
	s.mu.Unlock()
	s.end()
	s.settle()
	if session != nil {
		session.close()
	}
	s.jobs.Wait()
	s.free()
	return nil
}

// settle waits for the calls that run to leave, and for the server to be told so: the library sends
// that on its own after a call has left, and not at all once the session is closed.
func (s *Source) settle() {
	all := int64(s.server.Limits.Calls)
	if s.calls.TryAcquire(all) {
		s.calls.Release(all) // nobody calls
		return
	}
	within, cancel := context.WithTimeout(context.Background(), 2*stuckGrace)
	defer cancel()
	if s.calls.Acquire(within, all) == nil {
		s.calls.Release(all)
	}
	time.Sleep(cancelGrace)
}

// Check tells what is wrong with the operator's word, without starting anything: a *ConfigError, or
// nil.
func (s *Server) Check() error {
	wrong := func(field, detail string) error { return &ConfigError{s.Name, field, detail} }
	switch {
	case !serverName.MatchString(s.Name):
		return wrong("name", "want one like "+serverName.String())
	case (s.Command == "") == (s.URL == ""):
		return wrong("command", "want either a command or a URL")
	case s.URL != "" && (s.Args != nil || s.Env != nil || s.Dir != ""):
		return wrong("url", "args, env and dir are a command's")
	case s.Command != "" && (s.Headers != nil || s.Bearer != ""):
		return wrong("command", "headers and a bearer token are a URL's")
	case s.Prefix != "" && !serverName.MatchString(s.Prefix):
		return wrong("prefix", "want one like "+serverName.String())
	case s.Prefix != "" && s.Bare:
		return wrong("prefix", "bare names have none")
	case s.Dir != "" && !filepath.IsAbs(s.Dir):
		return wrong("dir", "want an absolute path")
	}
	if detail := s.Limits.check(); detail != "" {
		return wrong("limits", detail)
	}
	if s.URL != "" {
		if detail := checkURL(s.URL); detail != "" {
			return wrong("url", detail)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		if err := checkHeader(name); err != nil {
			return wrong("headers", name+": "+err.Error())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return wrong("env", "a variable's name is empty or has a = in it")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Rules)) {
		if len(s.Tools) > 0 && !slices.Contains(s.Tools, name) {
			return wrong("tools", fmt.Sprintf("%q is not offered: a rule for it does nothing", name))
		}
	}
	return nil
}

// MayOffer tells whether the server could offer a tool of this name, as far as the operator's word
// on its names goes.
func (s *Server) MayOffer(tool string) bool {
	return s.Bare || strings.HasPrefix(tool, s.prefix()+"_")
}

func (s *Server) prefix() string {
	if s.Bare {
		return ""
	}
	return cmp.Or(s.Prefix, s.Name)
}
