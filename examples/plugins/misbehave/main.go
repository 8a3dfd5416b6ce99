// Plugin misbehave fails in every way there is.
package main

import "github.com/wasmagent/wasmagent/pdk"

func init() {
	pdk.Plugin("misbehave", "1.0.0")
	pdk.Register(pdk.Tool{Name: "echo", Description: "Give back the value.", Effect: pdk.Read}, echo)
}

func main() {}

type echoInput struct {
	Value any `json:"value" doc:"Anything."`
}

func echo(_ *pdk.Call, in echoInput) (any, error) { return in.Value, nil }
