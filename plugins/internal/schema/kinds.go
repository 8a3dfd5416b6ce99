package schema

import (
	"fmt"
	"strconv"
)

// anyType is the set of all types, where each member is spelt out: numbers that are no integers and
// integers.
const anyType = typeNull | typeBool | typeInteger | typeNumber | typeString | typeArray | typeObject

// spelt is a set as a schema has it, where a number may be an integer and the empty set is any.
func (set types) spelt() types {
	switch {
	case set == 0:
		return anyType
	case set&typeNumber != 0:
		return set | typeInteger
	}
	return set
}

// kinds is the set of the types of an enum's values.
func (e *enum) kinds() types {
	var set types
	add := func(has bool, t types) {
		if has {
			set |= t
		}
	}
	add(e.null, typeNull)
	add(e.yes || e.no, typeBool)
	add(len(e.texts) > 0, typeString)
	for i := range e.numbers {
		add(e.numbers[i].rat.IsInt(), typeInteger)
		add(!e.numbers[i].rat.IsInt(), typeNumber)
	}
	return set
}

// settle finds what types n allows, by its own word and by those of the schemas that take the same
// value. No chain of those is endless.
func (n *node) settle() types {
	if n == nil {
		return anyType
	}
	if n.settled {
		return n.allowed
	}
	set := n.types.spelt()
	if n.never {
		set = 0
	}
	for _, e := range [...]*enum{n.enum, n.value} {
		if e != nil {
			set &= e.kinds()
		}
	}
	for _, list := range [...][]*node{n.refs, n.all} {
		for _, sub := range list {
			set &= sub.settle()
		}
	}
	for _, list := range [...][]*node{n.any, n.one} {
		if list != nil {
			set &= oneOfThem(list)
		}
	}
	n.allowed, n.settled = set, true
	return set
}

func oneOfThem(list []*node) types {
	var set types
	for _, sub := range list {
		set |= sub.settle()
	}
	return set
}

// noObject tells where and why n allows no object; why is "" when it may allow some.
func (n *node) noObject() (at, why string) {
	switch {
	case n.allowed&typeObject != 0:
		return "", ""
	case n.never:
		return "", nothing
	case n.types.spelt()&typeObject == 0:
		return "", fmt.Sprintf("want %s", n.types)
	case n.enum != nil && n.enum.kinds()&typeObject == 0:
		return "", "want " + n.enum.want
	case n.value != nil && n.value.kinds()&typeObject == 0:
		return "", "want " + n.value.want
	}
	for _, sub := range n.refs {
		if at, why = sub.noObject(); why != "" {
			return "/$ref" + at, why
		}
	}
	for i, sub := range n.all {
		if at, why = sub.noObject(); why != "" {
			return "/allOf/" + strconv.Itoa(i) + at, why
		}
	}
	if n.any != nil && oneOfThem(n.any)&typeObject == 0 {
		return "/anyOf", "none of its forms is an object"
	}
	return "/oneOf", "none of its forms is an object"
}
