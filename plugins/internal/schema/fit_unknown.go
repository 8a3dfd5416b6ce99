package schema

import (
	"fmt"
	"maps"
	"slices"
)

// stranger notes a field that no schema of its object knows, if any of those lists fields and none
// says what other ones there may be.
func (f *fitter) stranger(around []*node, name string) {
	lists := false
	for _, n := range around {
		if n.free || n.not.knows(name) || n.cond.knows(name) {
			return
		}
		lists = lists || n.lists
	}
	f.work += len(around)
	switch {
	case !lists:
	case len(f.unknown) == MaxUnknown:
		f.more++
	default:
		f.unknown = append(f.unknown, f.place()+"the tool does not declare this field; "+
			declared(name, namesOf(around), "it has"))
	}
}

func (n *node) knows(name string) bool {
	if n == nil {
		return false
	}
	_, ok := n.fields[name]
	return ok
}

// namesOf lists the fields that some schemas list, sorted, each once.
func namesOf(nodes []*node) []string {
	var names []string
	for _, n := range nodes {
		if n.lists {
			names = slices.AppendSeq(names, maps.Keys(n.fields))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (f *fitter) unknownNotes() []string {
	switch {
	case f.tired():
		return append(f.unknown, tooMuch)
	case f.more > 0:
		return append(f.unknown, fmt.Sprintf("and %s that the tool does not declare",
			counted(f.more, "more fields")))
	}
	return f.unknown
}

// tooMuch is the note of arguments that are not looked through, or not to their end.
const tooMuch = "there may be fields that the tool does not declare: " +
	"the arguments are too much to be looked through"
