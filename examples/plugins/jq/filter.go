package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/itchyny/gojq"

	"github.com/wasmagent/wasmagent/pdk"
)

// Limits of one call.
const (
	maxFilterBytes = 64 << 10   // bytes of a filter
	maxArgs        = 100        // variables
	maxResults     = 10_000     // values that a filter may give
	maxNodes       = 500_000    // values in all results, counted at every depth
	maxDepth       = 60         // levels of one result
	maxSteps       = 10_000_000 // instructions of the interpreter: about 5 s in a sandbox
)

// varName is what jq allows after the $ of a variable.
var varName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// compile reads a filter and its variables; values are in the order that the code wants.
func compile(filter string, args map[string]any) (code *gojq.Code, values []any, err error) {
	if len(filter) > maxFilterBytes {
		return nil, nil, pdk.InvalidInput("/filter",
			fmt.Sprintf("%d bytes, at most %d", len(filter), maxFilterBytes))
	}
	if len(args) > maxArgs {
		return nil, nil, pdk.InvalidInput("/args",
			fmt.Sprintf("%d variables, at most %d", len(args), maxArgs))
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if !varName.MatchString(name) {
			return nil, nil, pdk.InvalidInput("/args", fmt.Sprintf("%.70q cannot name a variable: "+
				"up to 64 letters, digits and _, not beginning with a digit", name))
		}
		v, err := fromWire(args[name])
		if err != nil {
			return nil, nil, pdk.InvalidInput("/args/"+name, err.Error())
		}
		names, values = append(names, "$"+name), append(values, v)
	}
	query, err := gojq.Parse(filter)
	if err != nil {
		return nil, nil, parseFailure(filter, err)
	}
	code, err = gojq.Compile(query, gojq.WithVariables(names))
	if err != nil {
		return nil, nil, failure("bad_filter", err.Error())
	}
	return code, values, nil
}

// parseFailure says where in the filter the parser stopped.
func parseFailure(filter string, err error) error {
	var parse *gojq.ParseError
	if !errors.As(err, &parse) {
		return failure("bad_filter", err.Error())
	}
	if parse.Token == "" && parse.Offset >= len(filter) {
		return failure("bad_filter", "the filter ends too early: "+err.Error())
	}
	before := filter[:max(0, min(parse.Offset-len(parse.Token), len(filter)))]
	line := 1 + strings.Count(before, "\n")
	column := len([]rune(before[strings.LastIndex(before, "\n")+1:])) + 1
	return failure("bad_filter", fmt.Sprintf("line %d, column %d: %v", line, column, err))
}

// collect takes all results, within the limits.
func collect(iter gojq.Iter) ([]any, error) {
	results := []any{}
	nodes := maxNodes
	for {
		v, ok := iter.Next()
		if !ok {
			return results, nil
		}
		if err, isErr := v.(error); isErr {
			var halt *gojq.HaltError
			if errors.As(err, &halt) && halt.Value() == nil {
				return results, nil
			}
			return nil, runFailure(err, len(results))
		}
		if len(results) == maxResults {
			return nil, failure("too_many_results", fmt.Sprintf("more than %d results; narrow "+
				"the filter, or take some of them with limit(100; …)", maxResults))
		}
		out, err := toWire(v, maxDepth, &nodes)
		if err != nil {
			return nil, err
		}
		results = append(results, out)
	}
}

// runFailure tells how the filter failed, and after how many results.
func runFailure(err error, results int) error {
	code := "filter_error"
	text := err.Error()
	var halt *gojq.HaltError
	switch {
	case errors.Is(err, errSteps):
		code = "too_many_steps"
	case errors.Is(err, context.Canceled):
		code = "cancelled"
	case errors.As(err, &halt):
		code = "halted"
		if s, ok := halt.Value().(string); ok {
			text = strings.TrimSpace(s)
		}
	}
	if results > 0 {
		text += fmt.Sprintf(" (after %d results)", results)
	}
	return failure(code, text)
}

// failure is permanent: a filter does the same to the same input every time.
func failure(code, message string) error {
	return &pdk.Failure{Code: code, Message: message, Permanent: code != "cancelled"}
}
