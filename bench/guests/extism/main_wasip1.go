// Plugin extism is the Go guest of guests/pdk written with extism's kit.
package main

import (
	"strings"

	"github.com/extism/go-pdk"
)

type text struct {
	Text string `json:"text"`
}

//go:wasmexport echo
func echo() int32 { return serve(func(s string) string { return s }) }

//go:wasmexport upper
func upper() int32 { return serve(strings.ToUpper) }

func serve(f func(string) string) int32 {
	var in text
	if err := pdk.InputJSON(&in); err != nil {
		pdk.SetError(err)
		return 1
	}
	if err := pdk.OutputJSON(text{f(in.Text)}); err != nil {
		pdk.SetError(err)
		return 1
	}
	return 0
}

func main() {}
