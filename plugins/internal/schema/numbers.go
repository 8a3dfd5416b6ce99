package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/wasmagent/wasmagent/abi"
)

// number is a number of a value: an integer or a float, as it travels.
type number struct {
	kind abi.Kind // KindInt, KindUint or KindFloat
	i    int64
	u    uint64
	f    float64
}

// scalar is a value that holds no others, or only the kind of one that does.
type scalar struct {
	kind   abi.Kind
	truth  bool
	text   []byte
	number number
}

// takeScalar takes the next value unless it is an array or an object.
func takeScalar(r *abi.Reader) scalar {
	v := scalar{kind: r.Kind()}
	v.number.kind = v.kind
	switch v.kind {
	case abi.KindBool:
		v.truth, _ = r.Bool()
	case abi.KindString:
		v.text, _ = r.StrBytes()
	case abi.KindInt:
		v.number.i, _ = r.Int()
	case abi.KindUint:
		v.number.u, _ = r.Uint()
	case abi.KindFloat:
		v.number.f, _ = r.Float()
	case abi.KindMap, abi.KindArray:
	default:
		_ = r.Skip()
	}
	return v
}

// rat is the number that n's shortest decimal form denotes, exactly.
func (n number) rat() *big.Rat {
	switch n.kind {
	case abi.KindInt:
		return new(big.Rat).SetInt64(n.i)
	case abi.KindUint:
		return new(big.Rat).SetUint64(n.u)
	}
	r, _ := new(big.Rat).SetString(strconv.FormatFloat(n.f, 'g', -1, 64))
	return r
}

func (n number) integral() bool { return n.kind != abi.KindFloat || n.f == math.Trunc(n.f) }

func (n number) String() string {
	switch n.kind {
	case abi.KindInt:
		return strconv.FormatInt(n.i, 10)
	case abi.KindUint:
		return strconv.FormatUint(n.u, 10)
	}
	return FloatText(n.f)
}

// exact is a number of a schema, laid out so that comparing with it costs the same whatever its
// digits are.
type exact struct {
	rat     *big.Rat
	i       int64
	integer bool // i is the number
	near    float64
	tie     int // how near itself compares with the number
}

func newExact(r *big.Rat) exact {
	e := exact{rat: r}
	if r.IsInt() && r.Num().IsInt64() {
		e.i, e.integer = r.Num().Int64(), true
	}
	e.near, _ = r.Float64()
	e.tie = number{kind: abi.KindFloat, f: e.near}.rat().Cmp(r)
	return e
}

// compare orders n and e exactly. Rounding keeps the order of what it keeps apart, so the slow way
// is for integers that are as near to e as can be, and then both are short.
func (n number) compare(e exact) int {
	switch {
	case n.kind == abi.KindInt && e.integer:
		return cmp.Compare(n.i, e.i)
	case n.kind == abi.KindFloat && n.f == e.near:
		return e.tie
	}
	if f := n.float(); f != e.near {
		return cmp.Compare(f, e.near)
	}
	return n.rat().Cmp(e.rat)
}

// float is the float that is nearest to n.
func (n number) float() float64 {
	switch n.kind {
	case abi.KindInt:
		return float64(n.i)
	case abi.KindUint:
		return float64(n.u)
	}
	return n.f
}

// multipleOf reports whether n is a whole multiple of e.
func (n number) multipleOf(e exact) bool {
	if n.kind == abi.KindInt && e.integer {
		return n.i%e.i == 0
	}
	return new(big.Rat).Quo(n.rat(), e.rat).IsInt()
}

// limit is a keyword about numbers.
type limit struct {
	exact
	holds func(n number, e exact) bool
	want  string // what the keyword asks, with the number
	cost  int    // steps it takes
}

func limitsOf(s *jsonschema.Schema) []limit {
	var limits []limit
	add := func(r *big.Rat, want string, holds func(number, exact) bool) {
		if r != nil {
			limits = append(limits, limit{newExact(r), holds, want + " " + ratText(r), 1})
		}
	}
	add(s.Minimum, "at least", func(n number, e exact) bool { return n.compare(e) >= 0 })
	add(s.Maximum, "at most", func(n number, e exact) bool { return n.compare(e) <= 0 })
	add(s.ExclusiveMinimum, "more than", func(n number, e exact) bool { return n.compare(e) > 0 })
	add(s.ExclusiveMaximum, "less than", func(n number, e exact) bool { return n.compare(e) < 0 })
	if r := s.MultipleOf; r != nil {
		add(r, "a multiple of", number.multipleOf)
		limits[len(limits)-1].cost += (r.Num().BitLen() + r.Denom().BitLen()) / bitsPerStep
	}
	return limits
}

// bitsPerStep is how many bits of a number are divided by in the time of a step.
const bitsPerStep = 32

func ratText(r *big.Rat) string {
	if r.IsInt() {
		return clip(r.Num().String(), maxName)
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// enum is a list of values that are not arrays and not objects.
type enum struct {
	null, yes, no bool
	texts         map[string]struct{}
	numbers       []exact
	want          string
}

func newEnum(values []any) (*enum, bool) {
	e := &enum{texts: map[string]struct{}{}, want: "one of " + compact(values)}
	if len(values) == 1 {
		e.want = compact(values[0])
	}
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			e.null = true
		case bool:
			e.yes, e.no = e.yes || v, e.no || !v
		case string:
			e.texts[v] = struct{}{}
		case json.Number:
			r, ok := new(big.Rat).SetString(v.String())
			if !ok {
				return nil, false
			}
			e.numbers = append(e.numbers, newExact(r))
		default:
			return nil, false
		}
	}
	return e, true
}

// cost is how many steps a look-up takes.
func (e *enum) cost() int {
	if e == nil {
		return 0
	}
	return len(e.numbers) / 8
}

func (e *enum) has(v scalar) bool {
	switch v.kind {
	case abi.KindNil:
		return e.null
	case abi.KindBool:
		return v.truth && e.yes || !v.truth && e.no
	case abi.KindString:
		_, ok := e.texts[string(v.text)]
		return ok
	case abi.KindInt, abi.KindUint, abi.KindFloat:
		for i := range e.numbers {
			if v.number.compare(e.numbers[i]) == 0 {
				return true
			}
		}
	}
	return false
}

// types is a set of JSON types.
type types uint8

const (
	typeNull types = 1 << iota
	typeBool
	typeInteger
	typeNumber // integers too
	typeString
	typeArray
	typeObject
)

var typeNames = [...]struct {
	word string
	t    types
	text string
}{
	{"object", typeObject, "an object"},
	{"array", typeArray, "an array"},
	{"string", typeString, "a string"},
	{"number", typeNumber, "a number"},
	{"integer", typeInteger, "an integer"},
	{"boolean", typeBool, "a boolean"},
	{"null", typeNull, "null"},
}

func typesOf(words []string) types {
	var set types
	for _, word := range words {
		for _, name := range typeNames {
			if name.word == word {
				set |= name.t
			}
		}
	}
	return set
}

// admit reports whether a value's type is in the set; the empty set admits any.
func (set types) admit(v scalar) bool {
	switch {
	case set == 0:
		return true
	case set&typeInteger != 0 && v.kind == abi.KindFloat && v.number.integral():
		return true
	}
	return set&typesOfKind[v.kind] != 0
}

var typesOfKind = [...]types{
	abi.KindNil:    typeNull,
	abi.KindBool:   typeBool,
	abi.KindInt:    typeInteger | typeNumber,
	abi.KindUint:   typeInteger | typeNumber,
	abi.KindFloat:  typeNumber,
	abi.KindString: typeString,
	abi.KindArray:  typeArray,
	abi.KindMap:    typeObject,
	abi.KindBad:    0, // the last kind: the transcoder makes none of the others
}

func (set types) String() string {
	text := ""
	for _, name := range typeNames {
		switch {
		case set&name.t == 0:
		case text == "":
			text = name.text
		default:
			text = fmt.Sprintf("%s or %s", text, name.text)
		}
	}
	return text
}
