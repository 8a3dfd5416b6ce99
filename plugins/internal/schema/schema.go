package schema

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/transcode"
)

// Limits of schemas, which may be a stranger's.
const (
	MaxBytes    = abi.MaxSchemaBytes // of one schema's text
	MaxDepth    = transcode.MaxDepth // objects and arrays of a schema inside one another
	MaxProblems = 8                  // problems that an Invalid lists

	// maxSchemaSteps is how many times one check may put a value beside a schema. Schemas that
	// refer to themselves in two places would else take time exponential in the value's depth.
	maxSchemaSteps = 4_000_000

	// maxRareNodes and maxRareSteps are the limits, in values and in steps, of a check against a
	// schema that uses a rare keyword, which takes a slower road.
	maxRareNodes = 100_000
	maxRareSteps = 500_000
)

// Schema is a compiled JSON Schema, safe for concurrent use.
type Schema struct {
	Text string // what it was compiled from: as given, or normalised

	root   *node     // all of it, laid out
	common bool      // the root is enough for a check; else it uses a rare keyword
	rare   sync.Pool // of *rareSchema, each for one check at a time
}

// Compile compiles a schema's text, which it normalises first where nothing is lost by that.
// Whatever the schema refers to must lie within it.
func Compile(text string) (*Schema, error) { return compile(text, false) }

// CompileArguments compiles the schema of a call's arguments, which always are one object. No text
// and null stand for a tool that takes any.
func CompileArguments(text string) (*Schema, error) {
	if text == "" {
		text = emptyObject
	}
	s, err := compile(text, true)
	if err != nil {
		return nil, err
	}
	if at, why := s.root.noObject(); why != "" {
		return nil, fmt.Errorf("arguments are an object, and it allows none: %s",
			Problem{at, why})
	}
	return s, nil
}

func compile(text string, arguments bool) (*Schema, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("%d bytes, at most %d", len(text), MaxBytes)
	}
	// The transcoder refuses what is no JSON, too deep, or has a field twice.
	if _, err := transcode.AppendMsgpack(nil, []byte(text)); err != nil {
		return nil, err
	}
	if err := checkNumbers(text); err != nil {
		return nil, err
	}
	normal, changed := normalise(text, arguments)
	if _, err := transcode.AppendMsgpack(nil, []byte(normal)); err != nil {
		normal, changed = text, false // it has become too deep
	}
	s, err := build(normal)
	if err != nil {
		if identified, ok := identify(normal); ok {
			if again, errAgain := build(identified); errAgain == nil {
				return again, nil
			}
		}
	}
	if err != nil && changed {
		if plain, errPlain := build(text); errPlain == nil {
			return plain, nil
		}
	}
	return s, err
}

// build compiles a schema as it is.
func build(text string) (*Schema, error) {
	first, err := newRareSchema(text)
	if err != nil {
		return nil, err
	}
	s := &Schema{Text: text}
	if s.root, s.common, err = compileCommon(first.schema); err != nil {
		return nil, err
	}
	if s.common {
		return s, nil
	}
	s.rare.New = func() any {
		again, err := newRareSchema(text)
		if err != nil {
			return err // not reached: it compiled before
		}
		return again
	}
	s.rare.Put(first)
	return s, nil
}

// Check holds a value, whose bytes must be the transcoder's own, against the schema. Its error is
// an *Invalid unless the fault is this package's.
func (s *Schema) Check(v abi.Raw) error {
	if s.common {
		_, err := checkCommon(s.root, v)
		return err
	}
	switch rare := s.rare.Get().(type) {
	case *rareSchema:
		defer s.rare.Put(rare)
		return rare.check(v)
	case error:
		return rare
	}
	return nil
}

// schemaURL is what a schema's references are resolved against.
const (
	schemaBase = "wasmagent:///"
	schemaURL  = schemaBase + "schema.json"
)

var errRemote = errors.New("a schema may not refer to another document")

// noRemote is a loader of schemas that loads none.
type noRemote struct{}

func (noRemote) Load(string) (any, error) { return nil, errRemote }

// newCompiler returns a compiler that neither reads files nor the network.
func newCompiler(text string) (*jsonschema.Compiler, error) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noRemote{})
	return c, c.AddResource(schemaURL, doc)
}
