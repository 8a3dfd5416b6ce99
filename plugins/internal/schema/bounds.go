package schema

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
	maxSchemaNumber = 64      // characters of a number
	maxPatternCode  = 1 << 15 // instructions of all of a schema's patterns together

	// codePerStep is how many instructions, each over one byte of a text, take the time of a step.
	codePerStep = 256
)

// checkNumbers refuses a schema with a number that takes long to compare with: the library and
// math/ big would work out each of the million digits of 1e-1000000.
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
		case len(n) > maxSchemaNumber:
			return fmt.Errorf("a number of %d characters, at most %d", len(n), maxSchemaNumber)
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
	if *p.steps += p.cost(len(s)); *p.steps > maxRareSteps {
		panic(errSteps)
	}
	return p.Regexp.MatchString(s)
}

// matches is what the common road calls.
func (c *checker) matches(p jsonschema.Regexp, s []byte) bool {
	bounded := p.(*boundedPattern)
	c.steps += bounded.cost(len(s))
	return c.steps > maxSchemaSteps || bounded.Regexp.Match(s)
}

// patterns makes the regular expressions of one schema, which have at most maxPatternCode
// instructions together, each text once. They count into steps.
type patterns struct {
	steps *int
	total int
	known map[string]*boundedPattern
	done  bool   // the schema is compiled: what comes now is a value of the format regex
	err   error  // of the last that could not be compiled
	bad   string // the text of that
}

// compile is the library's engine. What the library makes of an error of it buries the reason.
func (p *patterns) compile(text string) (jsonschema.Regexp, error) {
	re, err := p.make(text)
	if err != nil {
		p.err = fmt.Errorf("pattern %s: %w", strconv.Quote(clip(text, maxName)), err)
		p.bad = text
		return nil, p.err
	}
	return re, nil
}

func (p *patterns) make(text string) (*boundedPattern, error) {
	if known := p.known[text]; known != nil {
		return known, nil
	}
	p.count(len(text))
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	code := codeOf(tree)
	if p.total+code > maxPatternCode {
		return nil, fmt.Errorf("the schema's patterns take more than %d instructions",
			maxPatternCode)
	}
	p.count(code)
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	bounded := &boundedPattern{re, code, p.steps}
	if !p.done {
		p.total += code
		p.known[text] = bounded
	}
	return bounded, nil
}

// count counts n instructions or bytes of a pattern that is a value.
func (p *patterns) count(n int) {
	if !p.done {
		return
	}
	if *p.steps += n; *p.steps > maxRareSteps {
		panic(errSteps)
	}
}

// codeOf is how many instructions a pattern takes, about. It writes out no repetition: x{1000} has
// few characters and a thousand instructions.
func codeOf(re *syntax.Regexp) int {
	code := max(1, len(re.Rune))
	if len(re.Sub) > 0 {
		code = 0
	}
	for _, sub := range re.Sub {
		code += codeOf(sub)
	}
	switch re.Op {
	case syntax.OpRepeat:
		code *= max(re.Min, re.Max, 1)
	case syntax.OpAlternate, syntax.OpCapture, syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		code += 1 + len(re.Sub)
	}
	return min(code, 2*maxPatternCode)
}
