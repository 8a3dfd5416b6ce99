// Plugin pdk is the Go guest that wasmagent, wazero and wasmtime run in the benchmark.
package main

import (
	"strings"

	"github.com/wasmagent/wasmagent/pdk"
)

type text struct {
	Text string `json:"text"`
}

func init() {
	pdk.Plugin("bench", "1.0.0")
	pdk.Register(pdk.Tool{Name: "echo"}, func(_ *pdk.Call, in text) (text, error) { return in, nil })
	pdk.Register(pdk.Tool{Name: "upper"}, func(_ *pdk.Call, in text) (text, error) {
		return text{strings.ToUpper(in.Text)}, nil
	})
}

func main() {}
