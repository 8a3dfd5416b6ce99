package schema

import (
	"fmt"
	"maps"
	"slices"
)

// stranger notes a field that no schema of its object knows, if any of those lists fields and none
// says what other ones there may be.
func (f *fitter) stranger(around []*node, name string) {
	var names []string
	for _, n := range around {
		for _, hint := range [...]*node{n.not, n.cond} {
			if hint != nil && hint.knows(name) {
				return
			}
		}
		if n.free {
			return
		}
		if n.lists {
			names = slices.AppendSeq(names, maps.Keys(n.fields))
		}
		f.work += len(n.fields)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	switch {
	case len(names) == 0 || f.tired():
	case len(f.unknown) == MaxUnknown:
		f.more++
	default:
		f.unknown = append(f.unknown, f.place()+"the tool does not declare this field; "+
			declared(name, names, "it has"))
	}
}

func (n *node) knows(name string) bool {
	_, ok := n.fields[name]
	return ok
}

func (f *fitter) unknownNotes() []string {
	if f.more > 0 {
		return append(f.unknown, fmt.Sprintf("and %s that the tool does not declare",
			counted(f.more, "more fields")))
	}
	return f.unknown
}
