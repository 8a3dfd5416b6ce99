// Plugin gopdk counts the words of a text. It is written with Extism's kit for Go.
package main

import (
	"strconv"
	"strings"

	"github.com/extism/go-pdk"
)

type request struct {
	Text string `json:"text"`
}

type count struct {
	Words int `json:"words"`
	Least int `json:"least"`
}

// words counts those that have as many bytes as the setting "least" says, or more.
//
//go:wasmexport words
func words() int32 {
	var in request
	if err := pdk.InputJSON(&in); err != nil {
		return failed(err)
	}
	out := count{Least: 1}
	if least, ok := pdk.GetConfig("least"); ok {
		var err error
		if out.Least, err = strconv.Atoi(least); err != nil {
			return failed(err)
		}
	}
	for word := range strings.FieldsSeq(in.Text) {
		if len(word) >= out.Least {
			out.Words++
		}
	}
	if err := pdk.OutputJSON(out); err != nil {
		return failed(err)
	}
	return 0
}

func failed(err error) int32 {
	pdk.SetError(err)
	return 1
}

func main() {}
