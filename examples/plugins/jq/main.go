// Jq runs jq filters over JSON values, so that an agent can pick, reshape and count data without
// reading all of it.
package main

import (
	"github.com/wasmagent/wasmagent/pdk"
)

func init() {
	pdk.Plugin("jq", "1.0.0")
	pdk.Register(pdk.Tool{
		Name: "jq",
		Description: "Run a jq filter on a JSON value and return all its results. Use it to pick " +
			"fields, filter, group, count or reshape JSON. The language is jq 1.7 without " +
			"modules, input and environment variables; integers are exact.",
		Effect: pdk.Read,
	}, run)
}

func main() {}

// Input is the arguments of jq.
type Input struct {
	Filter string         `json:"filter" doc:"jq program, for example: .items | map(select(.price > $min)) | length"`
	Input  any            `json:"input" doc:"the JSON value that the filter gets as '.'; null if it needs none"`
	Args   map[string]any `json:"args,omitempty" doc:"variables for the filter: {\"min\": 3} defines $min"`
}

// Output is the result of jq.
type Output struct {
	Results []any `json:"results" doc:"the values that the filter gave, in order; none is an empty list"`
}

func run(c *pdk.Call, in Input) (Output, error) {
	code, values, err := compile(in.Filter, in.Args)
	if err != nil {
		return Output{}, err
	}
	input, err := fromWire(in.Input)
	if err != nil {
		return Output{}, pdk.InvalidInput("/input", err.Error())
	}
	budget := newBudget(c.Cancelled)
	results, err := collect(code.RunWithContext(budget, input, values...))
	if err != nil {
		return Output{}, err
	}
	return Output{Results: results}, nil
}
