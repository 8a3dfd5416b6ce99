package loader

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/plugins"
)

// take makes the Dir of what has changed. It reports whether something changed once more meanwhile.
func (w *watcher) take(ctx context.Context, changed []sight) (moved bool, err error) {
	now := map[string]*plugin{}
	for _, p := range w.dir.plugins {
		now[p.Path] = p
	}
	still := make([]bool, len(changed)) // as it was seen
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(w.dir.opts.workers())
	for i, s := range changed {
		if old := now[s.path]; s.p == nil || s.p.Err != nil || old.serves(s.key) {
			still[i] = true
			continue
		}
		group.Go(func() (err error) {
			still[i], err = w.try(gctx, s, now[s.path])
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return false, err
	}
	var good []sight
	for i, s := range changed {
		if !still[i] {
			moved = true
			delete(w.seen, s.path) // whatever it is by now is new
			continue
		}
		good = append(good, s)
	}
	w.apply(good, now)
	w.dir.saveList()
	return moved, nil
}

// serves tells whether a version serves, or any if the key is "".
func (p *plugin) serves(key string) bool {
	return p != nil && p.Err == nil && (key == "" || p.key() == key)
}

// try learns what a new version offers and, where it would replace one that serves, compiles it. It
// reports whether the file is still the one that was seen; what is wrong with that is in p.Err. The
// error is ctx's, or host.ErrClosed.
func (w *watcher) try(ctx context.Context, s sight, old *plugin) (still bool, err error) {
	p := s.p
	if err := p.list(ctx, w.dir.list); err != nil {
		return false, err
	}
	if p.key() != s.key || p.Err == nil && !p.keep() {
		return false, nil
	}
	if p.Err != nil || !old.serves("") {
		return true, nil
	}
	f, err := p.use(ctx)
	switch {
	case err == nil:
		p.shelf.leave(f)
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case errors.Is(err, host.ErrClosed):
		return false, err
	default:
		p.Err = err // which the flight has put in words
	}
	return true, nil
}

// apply puts what has changed in its place, tells it, and lets go of what was there before.
func (w *watcher) apply(changed []sight, now map[string]*plugin) {
	d := w.dir
	var c Change
	var gone []*plugin
	d.mu.Lock()
	before := d.tools()
	for _, s := range changed {
		old := now[s.path]
		if w.taken[s.path] = s.key; s.key == "" {
			delete(w.taken, s.path)
			d.list.drop(s.path)
		}
		switch {
		case s.p != nil && old.serves(s.key): // it was another for a while
			old.Held = nil
		case s.p != nil && s.p.Err != nil && old.serves(""):
			old.Held = s.p.Err
			c.Refused = append(c.Refused, s.p.Err)
		default:
			if old.serves("") {
				gone = append(gone, old)
			}
			if delete(now, s.path); s.p != nil {
				now[s.path] = s.p
			}
			c.note(old, s.p)
		}
	}
	d.plugins = slices.SortedFunc(maps.Values(now), func(a, b *plugin) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Path, b.Path))
	})
	offer(d.plugins, holders(before))
	c.Old, c.New = difference(before, d.tools()), difference(d.tools(), before)
	for _, s := range changed {
		if p := now[s.path]; p != nil && p == s.p {
			c.Refused = append(c.Refused, p.Withheld...)
		}
	}
	d.mu.Unlock()

	for _, names := range [][]string{c.Added, c.Replaced, c.Removed} {
		slices.Sort(names)
	}
	if !c.empty() {
		w.log(&c)
		if w.told != nil {
			w.told(c)
		}
	}
	for _, p := range gone {
		d.shelf.retire(p)
	}
}

// note says what became of one plugin, either of which may be nil.
func (c *Change) note(old, new *plugin) {
	switch {
	case new.serves("") && old.serves(""):
		c.Replaced = append(c.Replaced, new.Name)
	case new.serves(""):
		c.Added = append(c.Added, new.Name)
	case old.serves(""):
		c.Removed = append(c.Removed, old.Name)
	}
	if new != nil && new.Err != nil {
		c.Refused = append(c.Refused, new.Err)
	}
}

// holders says whose file offers a tool, by its name.
func holders(tools []plugins.Tool) map[string]string {
	paths := map[string]string{}
	for _, t := range tools {
		t := t.(*tool)
		paths[t.spec.Name] = t.plugin.Path
	}
	return paths
}

// difference gives the tools of a that are not in b.
func difference(a, b []plugins.Tool) []plugins.Tool {
	in := map[plugins.Tool]bool{}
	for _, t := range b {
		in[t] = true
	}
	var list []plugins.Tool
	for _, t := range a {
		if !in[t] {
			list = append(list, t)
		}
	}
	return list
}

func (w *watcher) log(c *Change) {
	log := w.dir.opts.logger()
	for _, said := range []struct {
		what    string
		plugins []string
	}{{"plugin added", c.Added}, {"plugin replaced", c.Replaced}, {"plugin removed", c.Removed}} {
		for _, name := range said.plugins {
			log.Info(said.what, "plugin", name)
		}
	}
	for _, err := range c.Refused {
		attrs := []any{"error", err}
		if isType[*NotAllowedError](err) {
			attrs = append(attrs, "then", "start this again: what is allowed is read at the start")
		}
		log.Warn("not taken from the plugin directory", attrs...)
	}
}
