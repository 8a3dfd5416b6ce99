package policy

import (
	"crypto/x509"
	"errors"
	"io/fs"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"sync"

	"github.com/adrg/xdg"

	"github.com/wasmagent/wasmagent/config"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/egress"
	"github.com/wasmagent/wasmagent/host/kv"
	"github.com/wasmagent/wasmagent/internal/tomlfile"
	"github.com/wasmagent/wasmagent/loader"
)

// File is where the operator's file is when no other is named.
func File() string { return config.UserFile() }

// Options of Open. Nil and zero fields are the documented defaults.
type Options struct {
	Optional bool   // a file that is not there is one that says nothing
	StateDir string // approvals and what plugins keep; "" is the user's state directory
	CacheDir string // of the loader; "" is the user's cache directory
	// Protect lists more directories and files that no plugin may be given to write to: those of
	// plugins, sessions and ledgers.
	Protect []string

	// Kinds are the names of loader.Options.Kinds, so that a file that names another is wrong. Nil: it
	// is the loader that refuses the plugin.
	Kinds []string

	// RootCAs and Resolver are those of the clients that carry plugins' requests; nil is the
	// system's.
	RootCAs  *x509.CertPool
	Resolver *net.Resolver
}

// Policy is an operator's file, and what was allowed under it, both as they were when it was opened.
// It is a loader.Policies, safe for concurrent use.
type Policy struct {
	file      string
	content   string // as it was read; "" when there is none
	doc       *document
	decoder   *decoder // knows the lines
	approvals *approvals
	opts      Options

	mu      sync.Mutex
	clients map[string]*egress.Client // by plugin
	store   *kv.Store                 // nil until a plugin is granted a space
	closed  bool
}

// Open reads the operator's file and the approvals. What is wrong with them are *config.Error,
// joined.
func Open(file string, opts *Options) (*Policy, error) {
	p := &Policy{file: file, clients: map[string]*egress.Client{}}
	if opts != nil {
		p.opts = *opts
	}
	if p.opts.StateDir == "" {
		p.opts.StateDir = filepath.Join(xdg.StateHome, "wasmagent")
	}
	if p.opts.CacheDir == "" {
		p.opts.CacheDir = filepath.Join(xdg.CacheHome, "wasmagent")
	}
	content, err := tomlfile.ReadOwn(file, MaxFile)
	if err != nil && !(p.opts.Optional && errors.Is(err, fs.ErrNotExist)) {
		return nil, &config.Error{File: file, Detail: reason(err), Err: err}
	}
	p.content = content
	if p.doc, p.decoder, err = parse(file, content, p.opts.Kinds); err != nil {
		return nil, err
	}
	if p.approvals, err = readApprovals(p.opts.StateDir); err != nil {
		return nil, err
	}
	return p, nil
}

// Close ends the requests that are under way, and closes what plugins keep. The Dirs that use the
// policy are closed before it. It may be called twice.
func (p *Policy) Close() error {
	p.mu.Lock()
	p.closed = true
	clients, store := slices.Collect(maps.Values(p.clients)), p.store
	p.mu.Unlock()
	var errs []error
	for _, c := range clients {
		errs = append(errs, c.Close())
	}
	if store != nil {
		errs = append(errs, store.Close())
	}
	return errors.Join(errs...)
}

// section gives what the file says of a plugin.
func (p *Policy) section(name string) *section {
	if s := p.doc.Plugins[name]; s != nil {
		return s
	}
	return &section{at: tomlfile.Join("plugins", name)}
}

// Decide implements loader.Policies.
func (p *Policy) Decide(pl *loader.Plugin) (loader.Decision, error) {
	s := p.section(pl.Name)
	d, b := p.bounds(s)
	if pl.Digest == "" {
		return d, nil
	}
	if err := p.fill(&d, b, s, pl); err != nil {
		return loader.Decision{}, err
	}
	if needs := d.Host.Missing(&pl.Manifest.Needs); len(needs) > 0 {
		return loader.Decision{}, loader.NotAllowed(pl, needs)
	}
	if !s.grants() {
		return d, nil
	}
	now := newApproval(pl, s, d.Host.Grants.Files)
	was := p.approvals.find(pl.Dir, pl.Name)
	if was == nil {
		return loader.Decision{}, loader.NotAllowed(pl, nil)
	}
	if changed := was.changed(now); len(changed) > 0 {
		err := loader.NotAllowed(pl, nil)
		err.Changed = changed
		return loader.Decision{}, err
	}
	return d, nil
}

// bounds decides what counts for a plugin before anything of it is read.
func (p *Policy) bounds(s *section) (loader.Decision, bounds) {
	b := boundsOf(s.Limits, p.doc.Defaults.Limits, p.doc.Ceiling.Limits)
	d := loader.Decision{Host: host.Policy{Limits: b.host}, Prefix: s.Prefix}
	if s.Isolation == "instantiate" || s.Isolation == "" && p.doc.Defaults.Isolation == "instantiate" {
		d.Host.Isolation = host.Instantiate
	}
	d.Kind, d.Engine, d.Functions = s.Kind, s.Engine, s.functions()
	l, i := d.Host.Limits, d.Host.Isolation
	if l != (host.Limits{}) || i != host.Snapshot || s.Kind != "" || s.Engine != "" ||
		len(d.Functions) > 0 {
		d.Digest = digest([]any{l, i, s.Kind, s.Engine, d.Functions})
	}
	return d, b
}

// fill decides the rest, for a plugin that is known. Nothing is granted by halves: what cannot be
// granted as the file says is an error.
func (p *Policy) fill(d *loader.Decision, b bounds, s *section, pl *loader.Plugin) error {
	if err := s.checkNames(p.decoder, pl); err != nil {
		return err
	}
	d.Exclude, d.TrustEffects, d.Rules = s.Exclude, s.TrustEffects, rulesOf(s.Tools)
	d.Host.Config = s.config
	g := &d.Host.Grants
	g.Env = s.Env
	var err error
	if g.Files, err = s.mounts(b.mount, p.kept(pl)); err != nil {
		return p.decoder.problem(s.at+".files", "%v", err)
	}
	if s.KV {
		if g.KV, err = p.space(pl); err != nil {
			return err
		}
	}
	if len(s.HTTP) > 0 {
		client, err := p.client(pl, s, b.egress)
		if err != nil {
			return err
		}
		g.HTTP = client
	}
	return nil
}

// checkNames refuses what the file says of tools that the plugin does not have: a mistyped name
// would leave a tool without the rule that its operator wanted.
func (s *section) checkNames(d *decoder, pl *loader.Plugin) error {
	var have []string
	for _, t := range pl.Manifest.Tools {
		have = append(have, t.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Tools)) {
		if !slices.Contains(have, name) {
			return d.problem(tomlfile.Join(s.at+".tools", name),
				"the plugin has no such tool%s", meant(name, have))
		}
	}
	for i, name := range s.Exclude {
		if !slices.Contains(have, name) {
			return d.problem(tomlfile.Index(s.at+".exclude", i),
				"the plugin has no tool %s%s", show(name), meant(name, have))
		}
	}
	return nil
}

// kept lists what no plugin may write to.
func (p *Policy) kept(pl *loader.Plugin) []place {
	plugins := pl.Dir
	if base := filepath.Base(pl.Path); base == "plugin.wasm" || base == "manifest.json" {
		plugins = filepath.Dir(plugins)
	}
	all := []place{
		{"plugins", plugins}, {"the policy", p.file}, {"the state directory", p.opts.StateDir},
		{"the cache", p.opts.CacheDir},
	}
	if p.doc.sessions != "" {
		all = append(all, place{"the sessions", p.doc.sessions})
	}
	for _, dir := range p.opts.Protect {
		all = append(all, place{"something of wasmagent's", dir})
	}
	for _, name := range slices.Sorted(maps.Keys(p.doc.Plugins)) {
		for _, sec := range p.doc.Plugins[name].Secrets {
			for _, file := range sec.files() {
				all = append(all, place{"what a secret comes from", file})
			}
		}
	}
	return all
}

// space gives what the plugin keeps from call to call: a namesake elsewhere has another.
func (p *Policy) space(pl *loader.Plugin) (host.KV, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, host.ErrClosed
	}
	if p.store == nil {
		store, err := kv.Open(filepath.Join(p.opts.StateDir, "kv"))
		if err != nil {
			return nil, err
		}
		p.store = store
	}
	return p.store.Space(scopeOf(pl)), nil
}

// scopeOf names a plugin among all of this machine.
func scopeOf(pl *loader.Plugin) string { return pl.Dir + "#" + pl.Name }

// client gives the plugin's own HTTP client: no connection is ever another's.
func (p *Policy) client(pl *loader.Plugin, s *section, l egress.Limits) (*egress.Client, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, host.ErrClosed
	}
	key := scopeOf(pl)
	if c := p.clients[key]; c != nil {
		return c, nil
	}
	c, err := egress.New(&egress.Options{
		Rules: s.rules(), Secrets: s.sources, Limits: l,
		RootCAs: p.opts.RootCAs, Resolver: p.opts.Resolver,
	})
	if err != nil {
		return nil, err
	}
	p.clients[key] = c
	return c, nil
}
