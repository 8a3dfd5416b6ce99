package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/wasmagent/wasmagent/abi"
)

// rareSchema is a schema that the library checks. It counts the steps of the one check that uses
// it, which the library itself does not bound.
type rareSchema struct {
	text    string
	schema  *jsonschema.Schema
	longest int // values of its longest enum
	steps   int
}

// errSteps ends a check from inside the library.
var errSteps = errors.New("the schema takes too many steps")

func newRareSchema(text string) (*rareSchema, error) {
	c, err := newCompiler(text)
	if err != nil {
		return nil, err
	}
	s := &rareSchema{text: text, longest: 1}
	patterns := &patterns{steps: &s.steps, known: map[string]*boundedPattern{}}
	c.UseRegexpEngine(patterns.compile)
	c.RegisterVocabulary(&jsonschema.Vocabulary{
		URL: "wasmagent:///steps",
		Compile: func(_ *jsonschema.CompilerContext, obj map[string]any) (
			jsonschema.SchemaExt, error) {
			if enum, ok := obj["enum"].([]any); ok {
				s.longest = max(s.longest, len(enum))
			}
			return &stepCount{s, weight(obj)}, nil
		},
	})
	c.AssertVocabs()
	s.schema, err = c.Compile(schemaURL)
	patterns.done = true
	switch {
	case err != nil && patterns.err != nil:
		return nil, patternError(text, patterns)
	case err != nil:
		return nil, compileError(text, err)
	}
	return s, nil
}

// stepCount is a keyword that every schema has: it counts.
type stepCount struct {
	of     *rareSchema
	weight int
}

func (c *stepCount) Validate(_ *jsonschema.ValidatorContext, v any) {
	c.of.steps += c.weight
	switch v := v.(type) {
	case map[string]any:
		c.of.steps += c.weight * len(v)
	case string:
		c.of.steps += len(v) / rareBytesPerStep
	}
	if c.of.steps > maxRareSteps {
		panic(errSteps)
	}
}

// rareBytesPerStep is how many bytes of a string the library passes over in the time of a step.
const rareBytesPerStep = 128

// weight is how many things of a schema a value is compared with.
func weight(obj map[string]any) int {
	w := 1
	for _, word := range [...]string{"required", "patternProperties", "dependentRequired",
		"dependentSchemas", "dependencies"} {
		switch list := obj[word].(type) {
		case []any:
			w += len(list)
		case map[string]any:
			w += len(list)
		}
	}
	return w
}

func (s *rareSchema) check(v abi.Raw) (err error) {
	nodes := 0
	value := decode(abi.NewReader(v), &nodes)
	if nodes > maxRareNodes {
		return newInvalid([]Problem{{"", fmt.Sprintf(
			"%d values are too many to be checked against this schema, at most %d", nodes,
			maxRareNodes)}}, 0)
	}
	defer func() {
		if p := recover(); p == errSteps {
			err = newInvalid([]Problem{{"", "checking it takes too many steps"}}, 0)
		} else if p != nil {
			panic(p)
		}
	}()
	s.steps = nodes * (s.longest / 8) // an enum that does not match ends a step uncounted
	if s.steps > maxRareSteps {
		panic(errSteps)
	}
	invalid, ok := errors.AsType[*jsonschema.ValidationError](s.schema.Validate(value))
	if !ok {
		return nil
	}
	found := newInvalid(problemsOf(invalid, ""), 0)
	s.nameFields(invalid, found.Problems)
	return found
}

func compareProblems(a, b Problem) int {
	if c := strings.Compare(a.Pointer, b.Pointer); c != 0 {
		return c
	}
	return strings.Compare(a.Detail, b.Detail)
}

// decode makes the library's form of a value: numbers as the tool will see them.
func decode(r *abi.Reader, nodes *int) any {
	*nodes++
	switch r.Kind() {
	case abi.KindBool:
		v, _ := r.Bool()
		return v
	case abi.KindInt:
		v, _ := r.Int()
		return v
	case abi.KindUint:
		v, _ := r.Uint()
		return v
	case abi.KindFloat:
		v, _ := r.Float()
		return v
	case abi.KindString:
		v, _ := r.Str()
		return v
	case abi.KindArray:
		n, _ := r.Array()
		list := make([]any, n)
		for i := range list {
			list[i] = decode(r, nodes)
		}
		return list
	case abi.KindMap:
		n, _ := r.Map()
		obj := make(map[string]any, n)
		for range n {
			name, _ := r.Str()
			obj[name] = decode(r, nodes)
		}
		return obj
	}
	_ = r.Skip() // nil is what is left
	return nil
}

var english = message.NewPrinter(language.English)

// problemsOf gives the innermost problems of an error of the library, sorted, each once. at is
// where the value lies.
func problemsOf(e *jsonschema.ValidationError, at string) []Problem {
	problems := appendProblems(nil, e, at)
	slices.SortFunc(problems, compareProblems)
	return slices.Compact(problems)
}

func appendProblems(dst []Problem, e *jsonschema.ValidationError, at string) []Problem {
	for _, cause := range e.Causes {
		dst = appendProblems(dst, cause, at)
	}
	if len(e.Causes) > 0 {
		return dst
	}
	var ptr strings.Builder
	ptr.WriteString(at)
	for _, token := range e.InstanceLocation {
		ptr.WriteString("/" + escapePointer(token))
	}
	detail := ""
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			dst = append(dst, Problem{ptr.String(), missing(name)})
		}
		return dst
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			dst = append(dst, Problem{ptr.String() + "/" + escapePointer(name), unknownField})
		}
		return dst
	case *kind.Type:
		detail = fmt.Sprintf("want %s, have %s", typesOf(k.Want), typesOf([]string{k.Got}))
	case *kind.FalseSchema:
		if detail = nothing; strings.HasSuffix(e.SchemaURL, unevaluated) {
			detail = unknownField
		}
	case *kind.Enum:
		detail = "want one of " + compact(k.Want)
	default:
		detail = clip(k.LocalizedString(english), 2*maxName)
	}
	return append(dst, Problem{ptr.String(), detail})
}
