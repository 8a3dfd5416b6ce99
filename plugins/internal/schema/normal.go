package schema

import (
	"slices"
	"strings"
)

// emptyObject is the schema of a tool that declares none.
const emptyObject = `{"type":"object","properties":{}}`

// A normaliser says in one of today's drafts what a schema's author said in the words of an older
// one or of OpenAPI, where nothing is lost by that. It changes keywords only where a schema is,
// never in an enum, a const, a default or the name of a field. A schema that declares its draft
// keeps to that draft's own words.
type normaliser struct {
	draft   int  // 3, 4, 6, 7, 2019 or 2020; 0: none is declared, and it is read as 2020
	changed bool // something needed a change

	// moves holds where a keyword has gone, by the pointer to it that references use.
	moves map[string]string
	inner bool // a part of the schema has an identity of its own, which references may use
}

// normalise returns the schema's text, the very same when it needs no change, and whether that is
// so.
func normalise(text string, arguments bool) (string, bool) {
	root := parse(text)
	if arguments && (root.kind == 'n' || root.text == "true" || root.kind == '{' &&
		len(root.fields) == 0) {
		return emptyObject, true
	}
	n := &normaliser{draft: draftOf(root), moves: map[string]string{}}
	if n.draft < 0 {
		return text, false
	}
	n.declare(root)
	if arguments && root.get("nullable") != nil {
		root.drop("nullable")
		n.changed = true
	}
	n.schema(root, "", alone)
	if arguments && root.kind == '{' {
		n.top(root)
	}
	if len(n.moves) > 0 {
		if followed := n.refs(root, baseOf(root)); n.inner && followed {
			return text, false // whose pointers are they?
		}
	}
	if !n.changed {
		return text, false
	}
	return root.String(), true
}

// drafts are the words that $schema has for them.
var drafts = map[string]int{
	"json-schema.org/draft-03/schema":              3,
	"json-schema.org/draft-04/schema":              4,
	"json-schema.org/draft-05/schema":              4, // the same under another name
	"json-schema.org/draft-06/schema":              6,
	"json-schema.org/draft-07/schema":              7,
	"json-schema.org/draft/2019-09/schema":         2019,
	"json-schema.org/draft/2020-12/schema":         2020,
	"json-schema.org/schema":                       2020,
	"spec.openapis.org/oas/3.1/dialect/base":       2020, // with annotations of its own
	"spec.openapis.org/oas/3.1/dialect/2024-10-25": 2020,
}

// draftOf is the draft that a schema declares, 0 for none and -1 for one that nobody here knows.
func draftOf(root *value) int {
	declared := root.get("$schema")
	if declared == nil || declared.kind != '"' {
		return 0
	}
	if draft, ok := drafts[draftName(declared)]; ok {
		return draft
	}
	return -1
}

func draftName(declared *value) string {
	name := strings.TrimSuffix(unquote(declared.text), "#")
	name = strings.TrimPrefix(name, "http://")
	return strings.TrimPrefix(name, "https://")
}

// declare makes the declaration one that the library knows.
func (n *normaliser) declare(root *value) {
	i := root.at("$schema")
	switch {
	case i < 0 || n.draft == 0:
		return
	case strings.HasPrefix(draftName(root.fields[i].value), "spec.openapis.org/"):
		root.drop("$schema")
	case n.draft == 3, strings.Contains(root.fields[i].value.text, "draft-05"):
		root.set("$schema", str("http://json-schema.org/draft-04/schema#"))
	default:
		return
	}
	n.changed = true
}

// in reports whether the draft is one of these.
func (n *normaliser) in(drafts ...int) bool { return slices.Contains(drafts, n.draft) }

// top makes a schema of arguments, which always are an object, say so.
func (n *normaliser) top(root *value) {
	switch t := root.get("type"); {
	case t == nil:
		root.fields = slices.Insert(root.fields, 0, member{"type", str("object")})
		n.changed = true
	case t.kind == '[' && slices.ContainsFunc(t.items, func(v *value) bool { return v.is("object") }):
		root.set("type", str("object"))
		n.changed = true
	}
	if root.get("properties") == nil {
		root.set("properties", object())
		n.changed = true
	}
}

// role is how a schema stands to the one around it.
type role int

const (
	combined role = iota // it applies to the same value, or is only referred to
	property             // of a field that has a name
	alone                // of a whole, an item or any other field: there is nothing to require it of
)

// parts are the keywords whose values are schemas, objects or lists of those.
var parts = map[string]struct {
	role role
	all  bool // the values of an object are schemas, not it
}{
	"properties":            {property, true},
	"patternProperties":     {combined, true},
	"definitions":           {combined, true},
	"$defs":                 {combined, true},
	"dependentSchemas":      {combined, true},
	"dependencies":          {combined, true},
	"items":                 {alone, false},
	"prefixItems":           {alone, false},
	"additionalItems":       {alone, false},
	"unevaluatedItems":      {alone, false},
	"contains":              {alone, false},
	"additionalProperties":  {alone, false},
	"unevaluatedProperties": {alone, false},
	"propertyNames":         {combined, false},
	"contentSchema":         {combined, false},
	"allOf":                 {combined, false},
	"anyOf":                 {combined, false},
	"oneOf":                 {combined, false},
	"not":                   {combined, false},
	"if":                    {combined, false},
	"then":                  {combined, false},
	"else":                  {combined, false},
}

// schema normalises what is at pointer, if it is a schema, and all that is in it.
func (n *normaliser) schema(v *value, pointer string, as role) {
	if v.kind != '{' {
		return
	}
	if pointer != "" {
		if v.get("$schema") != nil {
			n.inner = true
			return // another draft's
		}
		n.inner = n.inner || v.get("$id") != nil || n.in(3, 4) && v.get("id") != nil
	}
	n.words(v, pointer, as)
	n.each(v, func(sub *value, keyword, rest string, as role) {
		n.schema(sub, pointer+"/"+n.origin(pointer, keyword)+rest, as)
	})
	if nullable := v.get("nullable"); nullable != nil && nullable.text == "true" {
		n.nullable(v, pointer)
	}
}

// each calls f for all schemas that are right inside v, with the keyword and the rest of their
// pointers.
func (n *normaliser) each(v *value, f func(sub *value, keyword, rest string, as role)) {
	for _, m := range slices.Clone(v.fields) {
		part, ok := parts[m.name]
		switch {
		case !ok && m.name == "components": // where OpenAPI has what is referred to
			if schemas := m.value.get("schemas"); schemas != nil {
				for _, s := range schemas.fields {
					f(s.value, m.name, "/schemas/"+token(s.name), combined)
				}
			}
		case !ok:
		case part.all:
			for _, s := range m.value.fields {
				f(s.value, m.name, "/"+token(s.name), part.role)
			}
		case m.value.kind == '[':
			for i, item := range m.value.items {
				f(item, m.name, "/"+itoa(i), part.role)
			}
		default:
			f(m.value, m.name, "", part.role)
		}
	}
}
