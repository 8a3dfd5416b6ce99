package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2/maybe"

	"github.com/wasmagent/wasmagent/config"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/egress"
	"github.com/wasmagent/wasmagent/loader"
)

// Review is what an operator has to see before a plugin is allowed. Asks are the plugin's own
// words; the rest is not.
type Review struct {
	Plugin   *loader.Plugin
	Asks     []string
	Grants   []string // all that it would have
	Adds     string   // what would be written behind the operator's file; "" is nothing
	First    bool     // it was never allowed
	Changes  []Change // since it was
	Warnings []string // what the grants do, or do not do, beyond their look

	now *approval
}

// Change is something that is not as it was when the plugin was allowed. Was or Now may be empty.
type Change struct{ What, Was, Now string }

// Review tells what it would mean to allow a plugin, with these additions to what the file grants.
// The error is a *loader.NotAllowedError when that is less than the plugin needs, and an *EditError
// when the file cannot be added to. Nothing is written.
func (p *Policy) Review(pl *loader.Plugin, additions *Additions) (*Review, error) {
	if additions == nil {
		additions = &Additions{}
	}
	text, err := add(p.file, p.content, pl.Name, additions)
	if err != nil {
		return nil, err
	}
	then := &Policy{file: p.file, opts: p.opts, clients: map[string]*egress.Client{}}
	defer then.Close()
	if then.doc, then.decoder, err = parse(p.file, p.content+text, p.opts.Kinds); err != nil {
		return nil, p.unwritten(err)
	}
	s := then.section(pl.Name)
	d, b := then.bounds(s)
	if err := then.fill(&d, b, s, pl); err != nil {
		return nil, p.unwritten(err)
	}
	if needs := lacks(&d, pl); len(needs) > 0 {
		return nil, loader.NotAllowed(pl, needs)
	}
	r := &Review{Plugin: pl, Adds: text, now: newApproval(pl, s, d.Host.Grants.Files)}
	r.Asks, r.Grants = needsText(&pl.Manifest.Needs, true), r.now.Grants
	if was := p.approvals.find(pl.Dir, pl.Name); was != nil {
		r.Changes = changes(was, r.now)
	} else {
		r.First = true
	}
	r.Warnings = s.warnings(then, pl, d.Host.Grants.Files)
	return r, nil
}

// unwritten takes the lines that the file does not have out of what is wrong with it and additions.
func (p *Policy) unwritten(err error) error {
	lines := strings.Count(strings.TrimRight(p.content, "\n"), "\n") + 1
	var all []error
	for _, e := range unjoin(err) {
		if bad, ok := e.(*config.Error); ok && bad.Line > lines {
			told := *bad
			told.File, told.Line = bad.File+" with what would be added", 0
			e = &told
		}
		all = append(all, e)
	}
	return errors.Join(all...)
}

// lacks is what a plugin needs and would not have. What only its imports tell is in the error that
// the loader gave it.
func lacks(d *loader.Decision, pl *loader.Plugin) []string {
	needs := d.Host.Missing(&pl.Manifest.Needs)
	if refused, ok := errors.AsType[*loader.NotAllowedError](pl.Err); ok {
		for _, n := range refused.Needs {
			if n == "http" && d.Host.Grants.HTTP == nil || n == "kv" && d.Host.Grants.KV == nil {
				needs = append(needs, n)
			}
		}
	}
	slices.Sort(needs)
	return slices.Compact(needs)
}

func changes(was, now *approval) []Change {
	var all []Change
	if was.File != now.File {
		all = append(all, Change{"file", was.File, now.File})
	}
	if was.Kind != now.Kind {
		all = append(all, Change{"kind", was.Kind, now.Kind})
	}
	lines := func(what string, was, now []string) {
		for _, w := range was {
			if !slices.Contains(now, w) {
				all = append(all, Change{what, w, ""})
			}
		}
		for _, n := range now {
			if !slices.Contains(was, n) {
				all = append(all, Change{what, "", n})
			}
		}
	}
	lines("needs", was.Needs, now.Needs)
	before := len(all)
	lines("grants", was.Grants, now.Grants)
	if was.Policy != now.Policy && len(all) == before {
		all = append(all, Change{"policy", was.Policy, now.Policy})
	}
	return all
}

// Allow writes what a Review said: the additions, then the approval.
func (p *Policy) Allow(r *Review) error {
	if r.Adds != "" {
		if err := p.append(r.Adds); err != nil {
			return err
		}
	}
	return changeApprovals(p.opts.StateDir, func(a *approvals) { a.put(*r.now) })
}

// append writes behind the file, which must be as it was read. A link stays one.
func (p *Policy) append(text string) error {
	file := p.file
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	mode := fs.FileMode(0o600)
	have, err := os.ReadFile(file)
	switch info, serr := os.Stat(file); {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
	case err != nil || serr != nil:
		return errors.Join(err, serr)
	default:
		mode = info.Mode().Perm()
	}
	if string(have) != p.content {
		return &config.Error{File: p.file, Detail: "it was changed meanwhile: look at it again"}
	}
	return maybe.WriteFile(file, []byte(p.content+text), mode)
}

// Revoke takes back that a plugin was allowed. What the file grants it stays there, and is not
// given any more. It reports whether it was allowed.
func (p *Policy) Revoke(directory, plugin string) (was bool, err error) {
	err = changeApprovals(p.opts.StateDir, func(a *approvals) { was = a.remove(directory, plugin) })
	return was, err
}

// Granted tells whether the file grants a plugin anything.
func (p *Policy) Granted(plugin string) bool { return p.section(plugin).grants() }

// Grants tells whether the file grants anything to any plugin, whether that is there or not, or has
// servers, which are not sandboxed at all.
func (p *Policy) Grants() bool {
	if len(p.doc.Servers) > 0 {
		return true
	}
	for _, s := range p.doc.Plugins {
		if s.grants() {
			return true
		}
	}
	return false
}

// warnings are what a section does, or does not do, beyond its look.
func (s *section) warnings(p *Policy, pl *loader.Plugin, mounts []host.Mount) []string {
	var all []string
	for _, w := range egress.Lint(&egress.Options{Rules: s.rules(), Secrets: s.sources}) {
		all = append(all, strings.Replace(w.Field, "rules[", "http[", 1)+": "+w.Text)
	}
	for i, m := range mounts {
		if m.Scratch {
			continue
		}
		for _, k := range p.kept(pl) {
			if !m.Write && (within(k.path, m.Host) || within(m.Host, k.path)) {
				all = append(all, fmt.Sprintf("files[%d]: the plugin can read %s, %s", i, k.what, k.path))
			}
		}
	}
	if s.TrustEffects {
		all = append(all, "trust_effects: the plugin's own word decides whether a call that failed is "+
			"made again")
	}
	if s.Engine == engineSDK && (s.KV || len(s.Files) > 0) {
		all = append(all, "engine: extism-sdk has no kv and no files, so the plugin will not load: take "+
			"them out of the section, or engine")
	}
	if pl.Kind != "" { // which cannot ask, or asks for what its own contract knows
		return all
	}
	needs := &pl.Manifest.Needs
	if s.KV && needs.KV == nil {
		all = append(all, "kv: the plugin does not ask for it")
	}
	if len(s.HTTP) > 0 && len(needs.HTTP) == 0 {
		all = append(all, "http: the plugin does not ask for it")
	}
	return all
}
