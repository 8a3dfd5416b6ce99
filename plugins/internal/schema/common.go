package schema

import (
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// node is a schema of the common keywords, laid out for a check that reads a value's bytes once,
// counts its steps and allocates nothing while the value is right. The library compiles every
// schema; one with a rare keyword in it stays the library's to check.
type node struct {
	never bool // the false schema
	types types
	enum  *enum
	value *enum // const

	refs, all, any, one     []*node
	rare                    []*node // what the library alone holds the same value against
	not, cond, then, orElse *node

	fields     map[string]field
	required   []string // at most maxRequired
	patterns   []pattern
	others     *node // for fields that neither have a name above nor match a pattern; may be nil
	lists      bool  // it lists fields and says nothing of others
	free       bool  // it says what others there may be
	properties count

	prefix []*node
	items  *node
	values count

	chars  count
	regexp jsonschema.Regexp

	limits  []limit
	inPlace bool // refs to not: schemas that take the same value again

	typesOnly bool // there is nothing but types: a value's first byte tells

	settled bool
	allowed types // with all that applies to the same value, spelt out
}

// maxRequired is how many required fields a node tracks.
const maxRequired = 64

// field is the schema of a field, and its place among the required ones or -1.
type field struct {
	node *node // nil allows anything
	bit  int
}

type pattern struct {
	name jsonschema.Regexp
	node *node
}

// count bounds a number of fields, values or characters. The zero count bounds nothing.
type count struct {
	set      bool
	min, max int
}

func newCount(min, max *int) count {
	if min == nil && max == nil {
		return count{}
	}
	c := count{set: true, max: math.MaxInt}
	if min != nil {
		c.min = *min
	}
	if max != nil {
		c.max = *max
	}
	return c
}

// compileCommon lays out s, and reports whether that is all of it: nothing in it is rare.
func compileCommon(s *jsonschema.Schema) (n *node, common bool, err error) {
	c := commonCompiler{done: map[*jsonschema.Schema]*node{}}
	n = c.node(s)
	if err := checkChains(c.done); err != nil {
		return nil, false, err
	}
	for _, n := range c.done {
		n.settle()
	}
	return n, !c.rare, nil
}

// commonCompiler turns the library's schemas into nodes, each once: schemas may form a cycle.
type commonCompiler struct {
	done map[*jsonschema.Schema]*node
	rare bool
}

func (c *commonCompiler) node(s *jsonschema.Schema) *node {
	if s == nil {
		return nil
	}
	if n := c.done[s]; n != nil {
		return n
	}
	n := &node{}
	c.done[s] = n
	if s.Bool != nil {
		n.never = !*s.Bool
		return n
	}
	c.rare = c.rare || isRare(s)
	if s.Types != nil {
		n.types = typesOf(s.Types.ToStrings())
	}
	if s.Enum != nil {
		n.enum = c.enum(s.Enum.Values)
	}
	if s.Const != nil {
		n.value = c.enum([]any{*s.Const})
	}
	if s.Ref != nil {
		n.refs = []*node{c.node(s.Ref)}
	}
	n.all, n.any, n.one = c.nodes(s.AllOf), c.nodes(s.AnyOf), c.nodes(s.OneOf)
	n.not, n.cond, n.then, n.orElse = c.node(s.Not), c.node(s.If), c.node(s.Then), c.node(s.Else)
	n.inPlace = len(n.inPlaces()) > 0

	c.object(n, s)
	c.array(n, s)
	c.rest(n, s)
	n.chars, n.regexp = newCount(s.MinLength, s.MaxLength), s.Pattern
	n.limits = limitsOf(s)
	n.typesOnly = reflect.DeepEqual(n, &node{types: n.types})
	return n
}

func (c *commonCompiler) object(n *node, s *jsonschema.Schema) {
	n.properties = newCount(s.MinProperties, s.MaxProperties)
	n.required = slices.Compact(slices.Sorted(slices.Values(s.Required)))
	if len(s.Properties)+len(n.required) > 0 {
		n.fields = make(map[string]field, len(s.Properties))
	}
	for name, sub := range s.Properties {
		n.fields[name] = field{c.node(sub), -1}
	}
	for re, sub := range s.PatternProperties {
		n.patterns = append(n.patterns, pattern{re, c.node(sub)})
	}
	slices.SortFunc(n.patterns, func(a, b pattern) int {
		return strings.Compare(a.name.String(), b.name.String())
	})
	switch others := s.AdditionalProperties.(type) {
	case bool:
		n.others = &node{never: !others}
		n.others.settle()
	case *jsonschema.Schema:
		n.others = c.node(others)
	}
	n.free = n.others != nil || len(n.patterns) > 0 || s.UnevaluatedProperties != nil
	n.lists = len(s.Properties) > 0 && !n.free
	for bit, name := range n.required {
		f, named := n.fields[name]
		if !named && (len(n.patterns) > 0 || n.others != nil) {
			c.rare = true // such a field is looked at twice; leave it to the library
		}
		f.bit = bit
		n.fields[name] = f
	}
}

func (c *commonCompiler) array(n *node, s *jsonschema.Schema) {
	n.values = newCount(s.MinItems, s.MaxItems)
	n.prefix = c.nodes(s.PrefixItems)
	n.items = c.node(s.Items2020)
	switch items := s.Items.(type) {
	case *jsonschema.Schema:
		n.items = c.node(items)
	case []*jsonschema.Schema:
		n.prefix = c.nodes(items)
		others, _ := s.AdditionalItems.(*jsonschema.Schema)
		n.items = c.node(others)
	}
}

func (c *commonCompiler) nodes(list []*jsonschema.Schema) []*node {
	var nodes []*node
	for _, s := range list {
		nodes = append(nodes, c.node(s))
	}
	return nodes
}

func (c *commonCompiler) enum(values []any) *enum {
	e, ok := newEnum(values)
	c.rare = c.rare || !ok
	return e
}

// isRare reports whether s uses a keyword that nodes do not know.
func isRare(s *jsonschema.Schema) bool {
	_, tuple := s.Items.([]*jsonschema.Schema)
	switch {
	case s.RecursiveRef != nil, s.DynamicRef != nil, s.Format != nil,
		s.PropertyNames != nil, s.UnevaluatedProperties != nil, s.UnevaluatedItems != nil,
		s.Contains != nil, s.ContentEncoding != nil, s.ContentMediaType != nil,
		s.ContentSchema != nil, s.AdditionalItems != nil, tuple, s.UniqueItems:
		return true
	}
	return len(s.Dependencies)+len(s.DependentRequired)+len(s.DependentSchemas) > 0 ||
		len(s.Required) > maxRequired
}
