package schema

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxSchemaChain is how many schemas, each a part of the one before or referred to by it, one value
// may be held against: that many are on the stack at once, for each of the values around it too.
const maxSchemaChain = 256

var (
	errEndless   = errors.New("a part of the schema refers to itself without an end")
	errLongChain = fmt.Errorf("a chain of more than %d schemas applies to one value", maxSchemaChain)
)

// checkChains refuses schemas of which too many apply to one value, each by way of the one before.
func checkChains(all map[*jsonschema.Schema]*node) error {
	lengths := map[*node]int{}
	var long error
	for _, n := range all {
		switch length := chain(n, lengths); {
		case length >= endless:
			return errEndless
		case length > maxSchemaChain:
			long = errLongChain
		}
	}
	return long
}

// endless is the length of a chain that comes back to itself.
const endless = 1 << 30

// chain is the length of the longest chain that begins with n. A node whose length is asked for
// while it is being found is on its own chain; lengths has endless for those meanwhile.
func chain(n *node, lengths map[*node]int) int {
	if length, known := lengths[n]; known {
		return length
	}
	lengths[n] = endless
	longest := 0
	for _, sub := range n.inPlaces() {
		longest = max(longest, chain(sub, lengths))
	}
	lengths[n] = min(longest+1, endless)
	return lengths[n]
}

// inPlaces lists the schemas that take the same value as n.
func (n *node) inPlaces() []*node {
	list := slices.Concat(n.refs, n.all, n.any, n.one, n.rare)
	for _, sub := range []*node{n.not, n.cond, n.then, n.orElse} {
		if sub != nil {
			list = append(list, sub)
		}
	}
	return list
}

// rest lays out what only the library checks, for the sake of its chains.
func (c *commonCompiler) rest(n *node, s *jsonschema.Schema) {
	inPlace := slices.Collect(maps.Values(s.DependentSchemas))
	inPlace = append(inPlace, s.RecursiveRef)
	if s.DynamicRef != nil {
		inPlace = append(inPlace, s.DynamicRef.Ref)
	}
	for _, d := range s.Dependencies {
		if sub, ok := d.(*jsonschema.Schema); ok {
			inPlace = append(inPlace, sub)
		}
	}
	for _, sub := range inPlace {
		if sub != nil {
			n.rare = append(n.rare, c.node(sub))
		}
	}
	tuple, _ := s.Items.([]*jsonschema.Schema)
	others, _ := s.AdditionalItems.(*jsonschema.Schema)
	for _, sub := range append([]*jsonschema.Schema{others, s.PropertyNames, s.Contains,
		s.UnevaluatedProperties, s.UnevaluatedItems, s.ContentSchema}, tuple...) {
		c.node(sub)
	}
}
