package pdk_test

import (
	"fmt"

	"github.com/wasmagent/wasmagent/pdk"
	"github.com/wasmagent/wasmagent/pdk/pdktest"
)

type divideInput struct {
	A      float64 `json:"a" doc:"The dividend."`
	B      float64 `json:"b" doc:"The divisor, not 0."`
	Digits int     `json:"digits" doc:"Digits after the point." min:"0" max:"15" default:"2"`
}

type divideOutput struct {
	Quotient string `json:"quotient"`
}

func init() {
	pdk.Plugin("calculator", "1.0.0")
	pdk.Register(pdk.Tool{
		Name:        "divide",
		Description: "Divide one number by another. Use it when digits matter.",
		Effect:      pdk.Read,
	}, divide)
}

func divide(_ *pdk.Call, in divideInput) (divideOutput, error) {
	if in.B == 0 {
		return divideOutput{}, pdk.InvalidInput("/b", "the divisor is 0")
	}
	return divideOutput{fmt.Sprintf("%.*f", in.Digits, in.A/in.B)}, nil
}

// A plugin is a main package that registers its tools in an init function; its main is empty and
// not run. Its tools are called here as a test of the plugin would.
func Example() {
	fmt.Println(pdktest.Call("divide", `{"a": 1, "b": 3}`))
	fmt.Println(pdktest.Call("divide", `{"a": 1, "b": 0}`))
	// Output:
	// {"quotient":"0.33"} <nil>
	//  invalid_input: at /b: the divisor is 0
}
