package schema

import "slices"

// beside are the keywords that stay where they are when the others move into an anyOf.
var beside = []string{"$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$comment", "title",
	"description", "default", "example", "examples", "deprecated", "readOnly", "writeOnly", "$defs",
	"definitions", "components"}

// nullable makes a schema that is OpenAPI's nullable allow null.
func (n *normaliser) nullable(v *value, pointer string) {
	n.changed = true
	v.drop("nullable")
	if v.get("enum") != nil && v.get("const") != nil {
		n.wrap(v, pointer)
		return
	}
	for _, word := range [...]string{"$ref", "$dynamicRef", "$recursiveRef", "allOf", "not", "if"} {
		if v.get(word) != nil {
			n.wrap(v, pointer)
			return
		}
	}
	if one := v.get("oneOf"); one != nil && !slices.ContainsFunc(one.items, isNull) {
		if slices.ContainsFunc(one.items, mayTakeNull) {
			n.wrap(v, pointer)
			return
		}
		one.items = append(one.items, justNull())
	}
	if any := v.get("anyOf"); any != nil && !slices.ContainsFunc(any.items, isNull) {
		any.items = append(any.items, justNull())
	}
	if t := v.get("type"); t != nil {
		v.set("type", withNull(t, str("null")))
	}
	if enum := v.get("enum"); enum != nil && enum.kind == '[' {
		v.set("enum", withNull(enum, null()))
	}
	if c := v.get("const"); c != nil && c.kind != 'n' {
		v.fields[v.at("const")] = member{"enum", list(c, null())}
	}
}

func null() *value { return &value{kind: 'n', text: "null"} }

func justNull() *value { return object(member{"type", str("null")}) }

// withNull is a value, or a list of such, with null among them.
func withNull(v, null *value) *value {
	if v.kind != '[' {
		v = list(v)
	}
	same := func(v *value) bool { return v.text == null.text }
	if slices.ContainsFunc(v.items, same) {
		return v
	}
	return list(append(slices.Clone(v.items), null)...)
}

// isNull reports whether a schema is that of null.
func isNull(v *value) bool {
	t := v.get("type")
	return t != nil && (t.is("null") || slices.ContainsFunc(t.items, func(t *value) bool {
		return t.is("null")
	}))
}

// mayTakeNull reports whether a schema does not plainly refuse null.
func mayTakeNull(v *value) bool { return v.get("type") == nil || isNull(v) }

// wrap moves what a schema asks into one of two forms, the other of which is null.
func (n *normaliser) wrap(v *value, pointer string) {
	inside := object()
	var outside []member
	for _, m := range v.fields {
		if slices.Contains(beside, m.name) {
			outside = append(outside, m)
			continue
		}
		inside.fields = append(inside.fields, m)
		n.move(pointer, m.name, "anyOf/0/"+m.name)
	}
	v.fields = append(outside, member{"anyOf", list(inside, justNull())})
}
