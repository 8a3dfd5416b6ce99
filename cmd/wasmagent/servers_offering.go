package main

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

// offering is the tools that are offered while their sources come, change and go. A name that
// several sources have is offered by one of them at most, whichever came first:
//
//   - A plugin's tool goes before a server's.
//   - Of servers, the first by name has it.
//   - Of plugin directories, the one that has it keeps it. When none has, because they all came with
//     it or it was another's, none gets it.
//
// The others wait: when what goes before them is gone, they are offered.
type offering struct {
	registry *plugins.Registry
	lost     func(...error)         // is told of names that are not offered, and why
	wanted   func(tool string) bool // nil: all are

	mu      sync.Mutex
	sources []*supply // directories first, in their order, then servers by name
	holders map[string]holder
	told    map[string]string // by name: why some source does not offer it
}

// supply is one source of tools.
type supply struct {
	dir    *loader.Dir // nil: a server
	server string      // its name
	at     string      // where it is
	tools  map[string]plugins.Tool
}

// holder is who offers a name, and what.
type holder struct {
	*supply
	tool plugins.Tool
}

func newOffering(registry *plugins.Registry, lost func(...error)) *offering {
	return &offering{registry: registry, lost: lost, holders: map[string]holder{},
		told: map[string]string{}}
}

// addDirs takes in directories as they are, all at once.
func (o *offering) addDirs(dirs []*loader.Dir) []*supply {
	o.mu.Lock()
	defer o.mu.Unlock()
	names := map[string]bool{}
	for _, dir := range dirs {
		s := &supply{dir: dir, tools: map[string]plugins.Tool{}}
		o.sources = append(o.sources, s)
		for _, t := range dir.Tools() {
			name := t.Spec().Name
			s.tools[name], names[name] = t, true
		}
	}
	o.settle(names)
	return slices.Clone(o.sources)
}

// addServer takes in a server, which has no tools yet.
func (o *offering) addServer(name, at string) *supply {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := &supply{server: name, at: at, tools: map[string]plugins.Tool{}}
	o.sources = append(o.sources, s)
	slices.SortStableFunc(o.sources, func(a, b *supply) int { return cmp.Compare(a.server, b.server) })
	return s
}

// change takes in what is new at a source.
func (o *offering) change(s *supply, old, new []plugins.Tool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	names := map[string]bool{}
	for _, t := range old {
		names[t.Spec().Name] = true
		delete(s.tools, t.Spec().Name)
	}
	for _, t := range new {
		names[t.Spec().Name] = true
		s.tools[t.Spec().Name] = t
	}
	o.settle(names)
}

// settle decides anew who offers these names. The lock is held.
func (o *offering) settle(names map[string]bool) {
	var gone, come []plugins.Tool
	var lost []error
	next := map[string]holder{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if o.wanted != nil && !o.wanted(name) {
			continue
		}
		has, gets := o.holders[name], o.heir(name)
		if has.tool != gets.tool {
			if has.tool != nil {
				gone = append(gone, has.tool)
			}
			if gets.tool != nil {
				come = append(come, gets.tool)
			}
			next[name] = gets
		}
		if err := o.collision(name, gets); err == nil {
			delete(o.told, name)
		} else if text := err.Error(); o.told[name] != text {
			o.told[name] = text
			lost = append(lost, err)
		}
	}
	err := o.registry.Replace(gone, come)
	for name, gets := range next {
		switch {
		case refused(err, name):
		case gets.tool == nil:
			delete(o.holders, name) // a server may think of names for ever
		default:
			o.holders[name] = gets
		}
	}
	o.lost(append(lost, err)...)
}

// refused reports whether err has a tool of this name that was not added, so that what was there
// before is still there.
func refused(err error, name string) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return slices.ContainsFunc(joined.Unwrap(), func(err error) bool { return refused(err, name) })
	}
	e, ok := errors.AsType[*plugins.AddError](err)
	return ok && e.Tool == name
}

// heir is who is to offer a name. The lock is held.
func (o *offering) heir(name string) holder {
	var first *supply
	dirs := 0
	for _, s := range o.sources {
		switch {
		case s.tools[name] == nil:
		case s.dir == nil && first == nil:
			return holder{s, s.tools[name]}
		case s.dir == nil:
		case s == o.holders[name].supply:
			return holder{s, s.tools[name]}
		default:
			dirs++
			first = cmp.Or(first, s)
		}
	}
	if dirs != 1 {
		return holder{}
	}
	return holder{first, first.tools[name]}
}

// collision is why some source does not offer a name that it has, or nil. The lock is held.
func (o *offering) collision(name string, gets holder) error {
	e := &loader.CollisionError{What: "tool", Name: name}
	for _, s := range o.sources {
		if s.tools[name] != nil {
			e.Paths = append(e.Paths, s.path(name))
		}
	}
	if len(e.Paths) < 2 {
		return nil
	}
	if gets.tool != nil {
		e.Kept = gets.path(name)
	}
	return e
}

// path is where a tool of the source comes from.
func (s *supply) path(tool string) string {
	if s.dir == nil {
		return s.at
	}
	if p := s.plugin(tool); p != nil {
		return p.Path
	}
	return ""
}

// plugin is the plugin of a directory that has a tool.
func (s *supply) plugin(tool string) *loader.Plugin {
	for _, p := range s.dir.Plugins() {
		for _, t := range p.Tools {
			if t.Spec().Name == tool {
				return &p
			}
		}
	}
	return nil
}

// owner is the plugin or the server that offers a tool, or nil.
func (o *offering) owner(tool string) *loader.Plugin {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.holders[tool].supply
	switch {
	case s == nil:
		return nil
	case s.dir == nil:
		return &loader.Plugin{Name: s.server, Path: s.at}
	}
	return s.plugin(tool)
}
