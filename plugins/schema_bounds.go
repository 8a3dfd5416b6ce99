package plugins

import (
	"encoding/json"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Limits of what a schema's numbers and patterns may cost.
const (
	MaxSchemaNumber = 64      // characters of a number
	MaxPatternCode  = 1 << 15 // instructions of all of a schema's patterns together

	// codePerStep is how many instructions, each over one byte of a text, take the time of a step.
	codePerStep = 256
)

// checkNumbers refuses a schema with a number that takes long to compare with: the library and math/
// big would work out each of the million digits of 1e-1000000.
func checkNumbers(text string) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return nil // the end: it is JSON
		}
		n, ok := token.(json.Number)
		if !ok {
			continue
		}
		f, err := strconv.ParseFloat(n.String(), 64)
		digits, _, _ := strings.Cut(strings.ToLower(n.String()), "e")
		switch {
		case len(n) > MaxSchemaNumber:
			return fmt.Errorf("a number of %d characters, at most %d", len(n), MaxSchemaNumber)
		case err != nil, f == 0 && strings.ContainsAny(digits, "123456789"):
			return fmt.Errorf("no 64-bit float is near the number %s", n)
		}
	}
}

// boundedPattern is a pattern of known cost.
type boundedPattern struct {
	*regexp.Regexp
	code  int
	steps *int // of the check by the library that uses it
}

// cost is how many steps it takes to match a text.
func (p *boundedPattern) cost(length int) int { return 1 + length*p.code/codePerStep }

// MatchString is what the library calls.
func (p *boundedPattern) MatchString(s string) bool {
	if *p.steps += p.cost(len(s)); *p.steps > MaxRareSteps {
		panic(errSteps)
	}
	return p.Regexp.MatchString(s)
}

// matches is what the common road calls.
func (c *checker) matches(p jsonschema.Regexp, s []byte) bool {
	bounded := p.(*boundedPattern)
	c.steps += bounded.cost(len(s))
	return c.steps > MaxSchemaSteps || bounded.Regexp.Match(s)
}

// patterns makes an engine whose patterns count into steps and have at most MaxPatternCode
// instructions together, each pattern once.
func patterns(steps *int) jsonschema.RegexpEngine {
	total, known := 0, map[string]*boundedPattern{}
	return func(text string) (jsonschema.Regexp, error) {
		if p := known[text]; p != nil {
			return p, nil
		}
		tree, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			return nil, err
		}
		program, err := syntax.Compile(tree.Simplify())
		if err != nil {
			return nil, err
		}
		if total += len(program.Inst); total > MaxPatternCode {
			return nil, fmt.Errorf("the schema's patterns take more than %d instructions",
				MaxPatternCode)
		}
		re, err := regexp.Compile(text)
		if err != nil {
			return nil, err
		}
		known[text] = &boundedPattern{re, len(program.Inst), steps}
		return known[text], nil
	}
}
