package schema

import "slices"

// words replaces the keywords of one schema that its draft does not know, or no longer.
func (n *normaliser) words(v *value, pointer string, as role) {
	n.nulls(v)
	if as == alone && isBool(v.get("required")) {
		v.drop("required")
		n.changed = true
	}
	if n.in(0, 3) {
		n.anyType(v, pointer)
		n.rename(v, "divisibleBy", "multipleOf")
	}
	if n.in(3) {
		n.draft3(v, pointer)
	}
	if !n.in(3, 4) {
		n.exclusive(v, "minimum", "exclusiveMinimum")
		n.exclusive(v, "maximum", "exclusiveMaximum")
		n.examples(v)
	}
	if n.in(0, 2020) {
		n.tuple(v, pointer)
	}
	n.dependencies(v)
	n.required(v)
}

func isBool(v *value) bool { return v != nil && v.kind == 't' }

func (n *normaliser) rename(v *value, from, to string) {
	if i := v.at(from); i >= 0 && v.at(to) < 0 {
		v.fields[i].name = to
		n.changed = true
	}
}

// notNull are the keywords besides the parts that cannot be null: there it means their absence.
var notNull = []string{"$ref", "$id", "$anchor", "$comment", "type", "title", "description",
	"format", "enum", "required", "pattern", "minimum", "maximum", "exclusiveMinimum",
	"exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems",
	"uniqueItems", "minContains", "maxContains", "minProperties", "maxProperties",
	"dependentRequired", "readOnly", "writeOnly", "deprecated"}

// nulls drops keywords that are null.
func (n *normaliser) nulls(v *value) {
	before := len(v.fields)
	v.fields = slices.DeleteFunc(v.fields, func(m member) bool {
		_, isPart := parts[m.name]
		return m.value.kind == 'n' && (isPart || slices.Contains(notNull, m.name))
	})
	n.changed = n.changed || len(v.fields) < before
}

// anyType turns draft 3's types that are any, or schemas, into today's words.
func (n *normaliser) anyType(v *value, pointer string) {
	t := v.get("type")
	if t == nil {
		return
	}
	isAny := func(t *value) bool { return t.is("any") }
	isSchema := func(t *value) bool { return t.kind == '{' }
	switch {
	case isAny(t), slices.ContainsFunc(t.items, isAny):
		v.drop("type")
		n.changed = true
	case slices.ContainsFunc(t.items, isSchema) && v.get("anyOf") == nil:
		v.fields[v.at("type")] = member{"anyOf", schemasOf(t)}
		n.move(pointer, "type", "anyOf")
	}
}

// schemasOf makes schemas of a list of types, some of which are schemas already.
func schemasOf(types *value) *value {
	schemas := list()
	for _, t := range types.items {
		if t.kind == '"' {
			t = object(member{"type", t})
		}
		schemas.items = append(schemas.items, t)
	}
	return schemas
}

// draft3 turns what only draft 3 has into draft 4's words.
func (n *normaliser) draft3(v *value, pointer string) {
	if extends := v.get("extends"); extends != nil && v.get("allOf") == nil {
		to := "allOf"
		if extends.kind != '[' {
			extends, to = list(extends), "allOf/0"
		}
		v.fields[v.at("extends")] = member{"allOf", extends}
		n.move(pointer, "extends", to)
	}
	if disallow := v.get("disallow"); disallow != nil && v.get("not") == nil {
		if disallow.kind != '[' {
			disallow = list(disallow)
		}
		v.fields[v.at("disallow")] = member{"not", object(member{"anyOf", schemasOf(disallow)})}
		n.move(pointer, "disallow", "not/anyOf")
	}
}

// exclusive turns a limit that a boolean makes exclusive into one that is so itself.
func (n *normaliser) exclusive(v *value, limit, word string) {
	flag := v.get(word)
	if !isBool(flag) {
		return
	}
	n.changed = true
	bound := v.get(limit)
	if flag.text == "true" && bound != nil {
		v.set(word, bound)
		v.drop(limit)
		return
	}
	v.drop(word)
}

// examples makes a list of OpenAPI's examples by name.
func (n *normaliser) examples(v *value) {
	examples := v.get("examples")
	if examples == nil || examples.kind == '[' {
		return
	}
	all := list()
	for _, m := range examples.fields {
		if example := m.value.get("value"); example != nil {
			all.items = append(all.items, example)
		} else {
			all.items = append(all.items, m.value)
		}
	}
	if examples.kind != '{' {
		all.items = append(all.items, examples)
	}
	v.set("examples", all)
	n.changed = true
}

// tuple turns the items of a tuple, and what follows them, into today's words.
func (n *normaliser) tuple(v *value, pointer string) {
	items := v.get("items")
	if items == nil || items.kind != '[' || v.get("prefixItems") != nil {
		return
	}
	if len(items.items) > 0 {
		v.fields[v.at("items")].name = "prefixItems"
		n.move(pointer, "items", "prefixItems")
	} else {
		v.drop("items")
		n.changed = true
	}
	if i := v.at("additionalItems"); i >= 0 {
		v.fields[i].name = "items"
		n.move(pointer, "additionalItems", "items")
	}
}

// dependencies makes lists of draft 3's single names.
func (n *normaliser) dependencies(v *value) {
	if deps := v.get("dependencies"); deps != nil {
		for i, m := range deps.fields {
			if m.value.kind == '"' {
				deps.fields[i].value = list(m.value)
				n.changed = true
			}
		}
	}
}

// required gathers the properties that say of themselves that they are required, each once.
func (n *normaliser) required(v *value) {
	names := v.get("required")
	if names != nil && names.kind != '[' {
		return
	}
	var all []*value
	known := map[string]bool{}
	add := func(name *value) {
		if !known[name.text] {
			all = append(all, name)
		}
		known[name.text] = true
	}
	listed := 0
	if names != nil {
		listed = len(names.items)
		for _, name := range names.items {
			add(name)
		}
	}
	hoisted := false
	if properties := v.get("properties"); properties != nil {
		for _, m := range properties.fields {
			if flag := m.value.get("required"); isBool(flag) {
				hoisted = true
				m.value.drop("required")
				if flag.text == "true" {
					add(str(m.name))
				}
			}
		}
	}
	switch {
	case len(all) > 0 && (hoisted || len(all) < listed):
		v.set("required", list(all...))
	case len(all) == 0 && names != nil && n.in(3, 4):
		v.drop("required") // draft 4 wants none or some
	case !hoisted:
		return
	}
	n.changed = true
}
