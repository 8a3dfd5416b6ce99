package plugins

import (
	"encoding/json"
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
	MaxSchemaBytes = abi.MaxSchemaBytes // of one schema's text
	maxSchemaDepth = transcode.MaxDepth // objects and arrays of a schema inside one another
	MaxProblems    = 8                  // problems that a SchemaError lists

	// maxSchemaSteps is how many times one check may put a value beside a schema. Schemas that
	// refer to themselves in two places would else take time exponential in the value's depth.
	maxSchemaSteps = 4_000_000

	// maxRareNodes and maxRareSteps are the limits, in values and in steps, of a check against a
	// schema that uses a rare keyword, which takes a slower road.
	maxRareNodes = 100_000
	maxRareSteps = 500_000
)

// anyObject is the schema of a tool that declares none.
const anyObject = `{"type":"object"}`

// schema is a compiled JSON Schema, safe for concurrent use.
type schema struct {
	common *node     // nil when the schema uses a rare keyword
	rare   sync.Pool // of *rareSchema, each for one check at a time
}

// compileSchema compiles a schema's text. Whatever it refers to must lie within it.
func compileSchema(text string) (*schema, error) {
	if len(text) > MaxSchemaBytes {
		return nil, fmt.Errorf("%d bytes, at most %d", len(text), MaxSchemaBytes)
	}
	// The transcoder refuses what is no JSON, too deep, or has a field twice.
	if _, err := transcode.AppendMsgpack(nil, []byte(text)); err != nil {
		return nil, err
	}
	if err := checkNumbers(text); err != nil {
		return nil, err
	}
	first, err := newRareSchema(text)
	if err != nil {
		return nil, err
	}
	common, err := compileCommon(first.schema)
	if err != nil || common != nil {
		return &schema{common: common}, err
	}
	s := &schema{}
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

// check holds a value against the schema.
func (s *schema) check(v abi.Raw) error {
	if s.common != nil {
		return checkCommon(s.common, v)
	}
	switch rare := s.rare.Get().(type) {
	case *rareSchema:
		defer s.rare.Put(rare)
		return rare.check(v)
	case error:
		return HostFault(rare)
	}
	return nil
}

// newSchemaError keeps the first problems, which must be sorted, and counts the others.
func newSchemaError(problems []Problem, more int) *SchemaError {
	if n := len(problems) - MaxProblems; n > 0 {
		problems, more = problems[:MaxProblems], more+n
	}
	return &SchemaError{Pointer: problems[0].Pointer, Problems: problems, More: more}
}

// schemaURL is the base that a schema's references are resolved against.
const schemaURL = "wasmagent:///schema.json"

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

// compact is v's JSON text for an error, cut to a readable length.
func compact(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return clip(string(b), maxName)
}
