package plugins

import (
	"errors"
	"fmt"
	"reflect"
)

// AddError is a tool that was not added.
type AddError struct {
	Tool string
	Err  error // ErrDuplicate, or what is wrong with its name, a schema or its rule
}

func (e *AddError) Error() string { return fmt.Sprintf("tool %q: %s", e.Tool, e.Err) }
func (e *AddError) Unwrap() error { return e.Err }

// ErrDuplicate is a second tool of the same name. The first one stays.
var ErrDuplicate = errors.New("there is a tool of this name already")

// Add adds tools. One that cannot be added does not keep the others out: the error joins an
// *AddError for each of those.
func (r *Registry) Add(tools ...Tool) error { return r.Replace(nil, tools) }

// Remove removes the tools of these names; one that is not there is passed over. Calls that run
// finish, and so do those that have found their tool.
func (r *Registry) Remove(names ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := len(r.entries)
	for _, name := range names {
		delete(r.entries, name)
	}
	if len(r.entries) != before {
		r.tell()
	}
}

// Replace puts new tools in the place of old ones in one step: a call finds either the tools from
// before or those from after, and finishes on the one that it found. An old tool that is not there,
// or whose name another tool has by now, is passed over.
//
// A new tool that cannot be added keeps neither the others out nor the old tool of its name from
// serving on: the error joins an *AddError for each of those.
func (r *Registry) Replace(old, new []Tool) error {
	entries, errs := make([]*entry, len(new)), make([]error, len(new))
	stays := map[string]bool{} // whose new version is not good
	for i, t := range new {
		e, err := r.newEntry(t)
		if err != nil {
			stays[e.spec.Name] = true
			errs[i] = addError(e, err)
			continue
		}
		entries[i] = e
	}
	gone := map[string]Tool{}
	for _, t := range old {
		if name := t.Spec().Name; !stays[name] {
			gone[name] = t
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	changed := false
	for name, t := range gone {
		if e := r.entries[name]; e != nil && same(e.tool, t) {
			delete(r.entries, name)
			changed = true
		}
	}
	for i, e := range entries {
		switch {
		case e == nil:
		case r.entries[e.spec.Name] != nil:
			errs[i] = addError(e, ErrDuplicate)
		default:
			r.put(e)
			changed = true
		}
	}
	if changed {
		r.tell()
	}
	return errors.Join(errs...)
}

func addError(e *entry, err error) error { return &AddError{clip(e.spec.Name, maxName), err} }

// put makes the entry findable. The lock is held.
func (r *Registry) put(e *entry) {
	r.entries[e.spec.Name] = e
	if _, ok := r.opts.Rules[e.spec.Name]; ok {
		r.met[e.spec.Name] = true
	}
}

// same reports whether two tools are one. Tools that cannot be compared are, when they have one
// name, which the caller has looked at.
func same(a, b Tool) bool {
	if !reflect.ValueOf(a).Comparable() || !reflect.ValueOf(b).Comparable() {
		return reflect.TypeOf(a) == reflect.TypeOf(b)
	}
	return a == b
}

// Changed gives a channel that is closed when the tools next change. Who asks for it before looking
// at the tools, and again each time that it was closed, misses no change, and nobody waits for him.
//
//	for {
//		changed := registry.Changed()
//		look(registry.Specs())
//		<-changed
//	}
func (r *Registry) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.changed
}

// tell closes the channel of those who wait for a change. The lock is held.
func (r *Registry) tell() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}
