// Starlark runs small scripts, so that an agent computes instead of guessing: exact integers,
// loops, functions and tables, the same answer every time.
package main

import (
	"fmt"

	"github.com/wasmagent/wasmagent/pdk"
)

func init() {
	pdk.Plugin("starlark", "1.0.0")
	pdk.Register(pdk.Tool{
		Name: "starlark",
		Description: "Run a script in Starlark, a small Python: functions, recursion, while, " +
			"comprehensions; no import, class, try, f-strings or **. Use it for every " +
			"calculation that must be right. Built in: sum, round, pow, sorted, zip and so on, " +
			"modules math, json, time (UTC, no clock), struct. Integers are exact at any size. " +
			"The result is the script's last expression, else the variable result.",
		Effect: pdk.Read,
	}, run)
}

func main() {}

// Input is the arguments of starlark.
type Input struct {
	Code    string         `json:"code" doc:"the script, for example: rate = 0.05\nround(1000 * pow(1 + rate, years), 2)"`
	Globals map[string]any `json:"globals,omitempty" doc:"variables for the script, for example {\"years\": 10}"`
}

// Output is the result of starlark.
type Output struct {
	Result  any    `json:"result" doc:"value of the last expression, else of the variable result, else null"`
	Printed string `json:"printed" doc:"what print wrote"`
	Cut     bool   `json:"printed_cut,omitempty" doc:"more was printed than is returned"`
	Steps   uint64 `json:"steps" doc:"instructions that the script took"`
}

func run(c *pdk.Call, in Input) (Output, error) {
	if len(in.Code) > maxCodeBytes {
		return Output{}, pdk.InvalidInput("/code",
			fmt.Sprintf("%d bytes, at most %d", len(in.Code), maxCodeBytes))
	}
	names, err := predeclare(in.Globals)
	if err != nil {
		return Output{}, err
	}
	s := newScript(c.Cancelled)
	value, err := s.run(in.Code, names)
	if err != nil {
		return Output{}, err
	}
	nodes := maxNodes
	result, err := toWire(value, "result", maxDepth, &nodes)
	if err != nil {
		return Output{}, failure("bad_result", err.Error())
	}
	return Output{
		Result:  result,
		Printed: s.printed.String(),
		Cut:     s.cut,
		Steps:   s.thread.ExecutionSteps(),
	}, nil
}

// failure is permanent: a script does the same every time.
func failure(code, message string) *pdk.Failure {
	return &pdk.Failure{Code: code, Message: message, Permanent: code != "cancelled"}
}
