package schema

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/wasmagent/wasmagent/abi"
)

// checker holds one value against a node.
type checker struct {
	whole    abi.Reader
	r        *abi.Reader
	steps    int
	quiet    int // above 0: only whether it holds matters
	readers  []*abi.Reader
	inside   int // readers in use
	path     []step
	problems []Problem
	more     int
	odd      odd
}

// step is one step from a value to a value in it.
type step struct {
	field []byte // nil for an array's value
	index int
}

// Checkers take more than half a kilobyte with their reader, so they are used again.
var checkers = sync.Pool{New: func() any { return new(checker) }}

// checkCommon holds v, whose bytes must be the transcoder's own, against n.
func checkCommon(n *node, v abi.Raw) (odd, error) {
	if n.typesOnly && (n.types == 0 || n.types&typesOfKind[abi.NewReader(v).Kind()] != 0) {
		return 0, nil // what lies inside is well-formed: the transcoder made it
	}
	c := checkers.Get().(*checker)
	c.whole = *abi.NewReader(v)
	c.r = &c.whole
	c.check(n)
	odd, err := c.odd, c.verdict()
	clear(c.path[:cap(c.path)]) // it must not hold on to the value
	*c = checker{path: c.path[:0]}
	checkers.Put(c)
	return odd, err
}

func (c *checker) verdict() error {
	switch {
	case c.steps > maxSchemaSteps:
		return newInvalid([]Problem{{"", "checking it takes too many steps"}}, 0)
	case len(c.problems) > 0:
		return newInvalid(c.problems, c.more)
	}
	return nil
}

// check takes the next value and reports whether n allows it. Nil allows anything.
func (c *checker) check(n *node) bool {
	c.steps++
	switch {
	case c.steps > maxSchemaSteps:
		return true // the check is over; its answer is that one, whatever is still said
	case n == nil:
		c.skip()
		return true
	case n.never:
		c.skip()
		return c.problem(nothing)
	}
	if !n.inPlace {
		return c.own(n)
	}
	// Other schemas take the same value: each starts a reader of it anew.
	v, err := c.r.Raw()
	if err != nil {
		return c.problem(err.Error())
	}
	c.bytes(len(v))
	after := c.r
	if c.inside == len(c.readers) {
		c.readers = append(c.readers, new(abi.Reader))
	}
	reader := c.readers[c.inside]
	c.inside++
	ok := c.inPlace(n, func() *checker {
		*reader = *abi.NewReader(v)
		c.r = reader
		return c
	})
	c.inside--
	c.r = after
	return ok
}

// bytesPerStep is how many bytes of a value are passed over in the time of a step.
const bytesPerStep = 32

// bytes counts a pass over n bytes.
func (c *checker) bytes(n int) { c.steps += n / bytesPerStep }

// skip passes over the next value.
func (c *checker) skip() {
	before := c.r.Offset()
	_ = c.r.Skip()
	c.bytes(c.r.Offset() - before)
}

// inPlace holds the value against n and the schemas that n applies to the same value.
func (c *checker) inPlace(n *node, again func() *checker) bool {
	ok := again().own(n)
	for _, sub := range n.refs {
		ok = again().check(sub) && ok
	}
	for _, sub := range n.all {
		if !ok && c.quiet > 0 {
			return false
		}
		ok = again().check(sub) && ok
	}
	if n.any != nil {
		ok = c.anyOf(n.any, again) && ok
	}
	if n.one != nil {
		ok = c.oneOf(n.one, again) && ok
	}
	if n.not != nil && c.holds(n.not, again) {
		ok = c.problem("it has a form that is not allowed here")
	}
	if n.cond != nil {
		then := n.then
		if !c.holds(n.cond, again) {
			then = n.orElse
		}
		ok = again().check(then) && ok
	}
	return ok
}

// holds reports whether n allows the value, without a word.
func (c *checker) holds(n *node, again func() *checker) bool {
	c.quiet++
	defer func() { c.quiet-- }()
	return again().check(n)
}

func (c *checker) anyOf(list []*node, again func() *checker) bool {
	for _, sub := range list {
		if c.holds(sub, again) {
			return true
		}
	}
	return c.noneOf(list, again)
}

func (c *checker) oneOf(list []*node, again func() *checker) bool {
	matches := 0
	for _, sub := range list {
		if c.holds(sub, again) {
			matches++
		}
	}
	switch matches {
	case 0:
		return c.noneOf(list, again)
	case 1:
		return true
	}
	return c.problem(fmt.Sprintf("it has %d of the %d forms it may have one of", matches, len(list)))
}

// noneOf says why none of the forms fits. When the value's type leaves but one, that one's problems
// are the answer.
func (c *checker) noneOf(list []*node, again func() *checker) bool {
	if c.quiet > 0 {
		return false
	}
	v := takeScalar(again().r)
	var near []*node
	var want types
	for _, sub := range list {
		want |= sub.types
		if sub.types.admit(v) {
			near = append(near, sub)
		}
	}
	switch len(near) {
	case 0:
		return c.problem(fmt.Sprintf("want %s, have %s", want, KindText(v.kind)))
	case 1:
		return again().check(near[0])
	}
	return c.problem(fmt.Sprintf("it has none of the %d forms it may have", len(list)))
}

// own takes the next value and holds it against n's own keywords.
func (c *checker) own(n *node) bool {
	v := takeScalar(c.r)
	c.steps += n.enum.cost() + n.value.cost()
	if n.chars.set || n.enum != nil || n.value != nil {
		c.bytes(len(v.text))
	}
	switch {
	case !n.types.admit(v):
		return c.refuse(v, fmt.Sprintf("want %s, have %s", n.types, KindText(v.kind)))
	case n.enum != nil && !n.enum.has(v):
		return c.refuse(v, "want "+n.enum.want)
	case n.value != nil && !n.value.has(v):
		return c.refuse(v, "want "+n.value.want)
	}
	switch v.kind {
	case abi.KindMap:
		return c.object(n)
	case abi.KindArray:
		return c.array(n)
	case abi.KindString:
		return c.text(n, v.text)
	case abi.KindFloat:
		if n.types&(typeInteger|typeNumber) == typeInteger {
			c.odd |= oddNumber
		}
		return c.number(n, v.number)
	case abi.KindInt, abi.KindUint:
		return c.number(n, v.number)
	}
	return true
}

// refuse notes what is wrong with v and passes over what of it is still to come.
func (c *checker) refuse(v scalar, detail string) bool {
	if v.kind == abi.KindMap || v.kind == abi.KindArray {
		c.skip()
	}
	return c.problem(detail)
}

func (c *checker) object(n *node) bool {
	size, err := c.r.Map()
	if err != nil {
		return c.problem(err.Error())
	}
	ok, found := true, uint64(0)
	for range size {
		name, err := c.r.StrBytes()
		if err != nil {
			return c.problem(err.Error())
		}
		c.bytes(len(name))
		f, known := n.fields[string(name)]
		if known && f.bit >= 0 {
			found |= 1 << f.bit
		}
		if !known && n.lists {
			c.odd |= oddField
		}
		c.path = append(c.path, step{field: name})
		ok = c.field(n, f.node, known, name) && ok
		c.path = c.path[:len(c.path)-1]
	}
	for bit := range n.required {
		if found&(1<<bit) == 0 {
			ok = c.problem(missing(n.required[bit]))
		}
	}
	return c.count(n.properties, size, "fields") && ok
}

// field takes the value of a field that has a schema of its own if known, and may match patterns.
func (c *checker) field(n, own *node, known bool, name []byte) bool {
	if len(n.patterns) == 0 {
		switch {
		case known:
			return c.check(own)
		case n.others != nil && n.others.never:
			c.skip()
			return c.unknown(n, name)
		}
		return c.check(n.others)
	}
	var list []*node
	if known {
		list = append(list, own)
	}
	for _, p := range n.patterns {
		if c.matches(p.name, name) {
			list = append(list, p.node)
		}
	}
	if len(list) == 0 {
		list = append(list, n.others)
	}
	return c.check(&node{all: list, inPlace: true})
}

// unknown notes a field that n does not have, and those that it has.
func (c *checker) unknown(n *node, name []byte) bool {
	if c.quiet > 0 || len(c.problems) == MaxProblems || len(n.fields) == 0 {
		return c.problem(unknownField)
	}
	names := slices.Sorted(maps.Keys(n.fields))
	return c.problem(unknownField + "; " + declared(string(name), names, "there are"))
}

func (c *checker) array(n *node) bool {
	size, err := c.r.Array()
	if err != nil {
		return c.problem(err.Error())
	}
	ok := true
	for i := range size {
		sub := n.items
		if i < len(n.prefix) {
			sub = n.prefix[i]
		}
		c.path = append(c.path, step{index: i})
		ok = c.check(sub) && ok
		c.path = c.path[:len(c.path)-1]
	}
	return c.count(n.values, size, "values") && ok
}

func (c *checker) text(n *node, s []byte) bool {
	ok := true
	if n.chars.set {
		ok = c.count(n.chars, utf8.RuneCount(s), "characters")
	}
	if n.regexp != nil && !c.matches(n.regexp, s) {
		ok = c.problem("want text that matches " + strconv.Quote(clip(n.regexp.String(), maxName)))
	}
	return ok
}

func (c *checker) number(n *node, v number) bool {
	ok := true
	for i := range n.limits {
		l := &n.limits[i]
		c.steps += l.cost
		if !l.holds(v, l.exact) {
			ok = c.problem(fmt.Sprintf("want %s, have %s", l.want, v))
		}
	}
	return ok
}

func (c *checker) count(want count, have int, of string) bool {
	switch {
	case !want.set:
		return true
	case have < want.min:
		return c.problem(fmt.Sprintf("want at least %s, have %d", counted(want.min, of), have))
	case have > want.max:
		return c.problem(fmt.Sprintf("want at most %s, have %d", counted(want.max, of), have))
	}
	return true
}

// counted is a number of things, whose noun is given in the plural.
func counted(n int, of string) string {
	if n == 1 {
		of = strings.TrimSuffix(of, "s")
	}
	return fmt.Sprintf("%d %s", n, of)
}

// problem notes what is wrong where the checker is, and is always false.
func (c *checker) problem(detail string) bool {
	switch {
	case c.quiet > 0:
	case len(c.problems) == MaxProblems:
		c.more++
	default:
		c.problems = append(c.problems, Problem{c.pointer(), detail})
	}
	return false
}

func (c *checker) pointer() string {
	var b strings.Builder
	for _, s := range c.path {
		b.WriteByte('/')
		if s.field == nil {
			b.WriteString(strconv.Itoa(s.index))
		} else {
			b.WriteString(escapePointer(string(s.field)))
		}
	}
	return b.String()
}
