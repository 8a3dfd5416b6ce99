package schema

import (
	"fmt"
	"slices"
	"strings"
)

// fitter goes through a value beside the schemas that apply to it.
type fitter struct {
	work    int
	path    []string // tokens of a pointer
	taken   []string // a note for each value that was taken for another; at most one past MaxTaken
	unknown []string // a note for each unknown field; at most MaxUnknown
	more    int      // unknown fields that are not noted
}

// scope is what is known of the schemas that a value is held against.
type scope struct {
	sure  []*node // each of them applies
	maybe []*node // these, and which of them apply is open: whether a form fits is not tried
}

func (f *fitter) tired() bool { return f.work > maxFitWork }

// value takes v for what sc wants, in its place, and goes on inside it.
func (f *fitter) value(v *value, sc scope) {
	if len(sc.maybe) == 0 || f.tired() || len(f.taken) > MaxTaken {
		return
	}
	allowed := anyType
	for _, n := range sc.sure {
		allowed &= n.allowed
	}
	if meant := meaning(v, allowed); meant != nil {
		f.note("%s taken as %s", clip(v.String(), maxName), clip(meant.String(), maxName))
		*v = *meant
	}
	if v.kind != '{' && v.kind != '[' {
		return
	}
	sc = scope{f.applied(sc.sure, v), f.applicable(sc.maybe)}
	if v.kind == '[' {
		f.array(v, sc)
		return
	}
	f.object(v, sc)
}

// applied adds to schemas all that they apply to the same value v: of several forms, the one that
// v's type leaves.
func (f *fitter) applied(nodes []*node, v *value) []*node {
	all := slices.Clone(nodes)
	for i := 0; i < len(all) && !f.tired(); i++ {
		n := all[i]
		subs := slices.Concat(n.refs, n.all)
		for _, forms := range [...][]*node{n.any, n.one} {
			if form := onlyForm(forms, v); form != nil {
				subs = append(subs, form)
			}
		}
		all = f.join(all, subs)
	}
	return all
}

func onlyForm(forms []*node, v *value) *node {
	var only *node
	for _, form := range forms {
		if form.allowed&v.types() == 0 {
			continue
		}
		if only != nil {
			return nil
		}
		only = form
	}
	return only
}

// applicable adds to schemas all that may apply to the same value.
func (f *fitter) applicable(nodes []*node) []*node {
	all := slices.Clone(nodes)
	for i := 0; i < len(all) && !f.tired(); i++ {
		n := all[i]
		all = f.join(all, slices.Concat(n.refs, n.all, n.any, n.one, n.rare))
		all = f.join(all, []*node{n.then, n.orElse})
	}
	return all
}

// join appends what list does not have.
func (f *fitter) join(list, more []*node) []*node {
	for _, n := range more {
		f.work += 1 + len(list)/16
		if n != nil && !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list
}

func (f *fitter) array(v *value, sc scope) {
	for i, item := range v.items {
		at := func(nodes []*node) (subs []*node) {
			for _, n := range nodes {
				sub := n.items
				if i < len(n.prefix) {
					sub = n.prefix[i]
				}
				subs = f.join(subs, []*node{sub})
			}
			return subs
		}
		f.path = append(f.path, itoa(i))
		f.value(item, scope{at(sc.sure), at(sc.maybe)})
		f.path = f.path[:len(f.path)-1]
	}
}

func (f *fitter) object(v *value, sc scope) {
	v.fields = slices.DeleteFunc(v.fields, func(m member) bool {
		f.path = append(f.path, m.name)
		defer func() { f.path = f.path[:len(f.path)-1] }()
		sub := scope{f.field(sc.sure, m.name), f.field(sc.maybe, m.name)}
		if m.value.kind == 'n' && leftOut(sc.sure, sub.sure, m.name) {
			f.note("null left out, since the field is optional")
			return true
		}
		if len(sub.maybe) == 0 {
			f.stranger(sc.maybe, m.name)
		}
		f.value(m.value, sub)
		return false
	})
}

// field lists the schemas of a field by those of the object around it.
func (f *fitter) field(nodes []*node, name string) []*node {
	var subs []*node
	for _, n := range nodes {
		var found []*node
		if own, ok := n.fields[name]; ok {
			found = append(found, own.node)
			if own.node == nil { // only required
				found[0] = anything
			}
		}
		for _, p := range n.patterns {
			re := p.name.(*boundedPattern)
			f.work += re.cost(len(name))
			if re.Regexp.MatchString(name) {
				found = append(found, p.node)
			}
		}
		if len(found) == 0 {
			found = append(found, n.others)
		}
		subs = f.join(subs, found)
	}
	return subs
}

// anything is a schema that allows anything.
var anything = &node{allowed: anyType, settled: true}

// leftOut reports whether a field that is null says no more than one that is not there: it has a
// schema that does not allow null, and is not required.
func leftOut(around, own []*node, name string) bool {
	allowed, named := anyType, false
	for _, n := range own {
		allowed &= n.allowed
	}
	for _, n := range around {
		f, ok := n.fields[name]
		if ok && f.bit >= 0 {
			return false
		}
		named = named || ok
	}
	return named && allowed&typeNull == 0
}

func (f *fitter) note(format string, args ...any) {
	f.taken = append(f.taken, f.place()+fmt.Sprintf(format, args...))
}

// place is where the fitter is, for a note.
func (f *fitter) place() string {
	if len(f.path) == 0 {
		return "the arguments: "
	}
	var b strings.Builder
	for _, token := range f.path {
		b.WriteString("/" + escapePointer(token))
	}
	return b.String() + ": "
}
