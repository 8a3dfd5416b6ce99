package policy

import (
	"maps"
	"slices"
	"strings"
)

// Variables lists the environment's variables that secrets come from, sorted: secrets of the plugins
// that are served, by their names, and those of every server. Whoever starts a process that is to
// use the policy has to give it these.
func (p *Policy) Variables(served func(plugin string) bool) []string {
	names := map[string]bool{}
	add := func(from string) {
		if name, ok := strings.CutPrefix(from, "env:"); ok {
			names[name] = true
		}
	}
	for plugin, s := range p.doc.Plugins {
		if !served(plugin) {
			continue
		}
		for _, secret := range s.Secrets {
			add(secret.From)
		}
	}
	for _, s := range p.doc.Servers {
		add(s.Bearer)
		for _, values := range []map[string]serverValue{s.Env, s.Headers} {
			for _, v := range values {
				add(v.from)
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}
