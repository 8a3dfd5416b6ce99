package schema

import (
	"net/url"
	"strconv"
	"strings"
)

func itoa(i int) string { return strconv.Itoa(i) }

var tokenEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// token is a name as it stands in a pointer.
func token(name string) string { return tokenEscapes.Replace(name) }

// move notes that a keyword of the schema at pointer has become another one, or gone further in.
func (n *normaliser) move(pointer, from, to string) {
	n.changed = true
	n.moves[pointer+"/"+n.origin(pointer, from)] = to
}

// origin is the name that a keyword of the schema at pointer had at first.
func (n *normaliser) origin(pointer, keyword string) string {
	for _, first := range [...]string{"items", "additionalItems", "type", "extends", "disallow"} {
		if now, moved := n.moves[pointer+"/"+first]; moved && now == keyword {
			return first
		}
	}
	return keyword
}

// refs makes the references in v, a schema, follow what has moved, and reports whether there are
// any.
func (n *normaliser) refs(v *value, base string) (any bool) {
	for _, word := range [...]string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if ref := v.get(word); ref != nil && ref.kind == '"' {
			v.set(word, str(n.follow(unquote(ref.text), base)))
			any = true
		}
	}
	n.each(v, func(sub *value, _, _ string, _ role) { any = n.refs(sub, base) || any })
	return any
}

// follow is a reference to where its target is now.
func (n *normaliser) follow(ref, base string) string {
	doc, fragment, _ := strings.Cut(ref, "#")
	if doc != "" && doc != base || !strings.HasPrefix(fragment, "/") {
		return ref
	}
	pointer, err := url.PathUnescape(fragment)
	if err != nil {
		return ref
	}
	var was, now strings.Builder
	for _, token := range strings.Split(pointer[1:], "/") {
		was.WriteString("/" + token)
		if to, moved := n.moves[was.String()]; moved {
			token = to
		}
		now.WriteString("/" + token)
	}
	if now.String() == pointer {
		return ref
	}
	return doc + (&url.URL{Fragment: now.String()}).String()
}

// baseOf is what a schema calls itself.
func baseOf(root *value) string {
	for _, word := range [...]string{"$id", "id"} {
		if id := root.get(word); id != nil && id.kind == '"' {
			base, _, _ := strings.Cut(unquote(id.text), "#")
			return base
		}
	}
	return ""
}

// identify makes the ids of a schema, which declares no draft, what today's drafts call so. Where
// all references are pointers into the whole nobody asks for an id, and there is nothing to do.
func identify(text string) (string, bool) {
	root := parse(text)
	if root.get("$schema") != nil {
		return text, false
	}
	n := &normaliser{}
	n.identify(root)
	return root.String(), n.changed
}

func (n *normaliser) identify(v *value) {
	id := v.get("id")
	if id != nil && id.kind == '"' && v.get("$id") == nil && v.get("$anchor") == nil {
		base, anchor, _ := strings.Cut(unquote(id.text), "#")
		i := v.at("id")
		switch {
		case base != "" && anchor == "":
			v.fields[i] = member{"$id", str(base)}
			n.changed = true
		case base == "" && anchor != "":
			v.fields[i] = member{"$anchor", str(anchor)}
			n.changed = true
		}
	}
	n.each(v, func(sub *value, _, _ string, _ role) { n.identify(sub) })
}
