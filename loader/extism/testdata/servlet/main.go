// Servlet is a plugin as mcp.run and the first version of hyper-mcp have them.
package main

import (
	"errors"
	"os"
	"strings"

	"github.com/extism/go-pdk"
)

type tool struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	InputSchema map[string]any `json:"inputSchema"`
}

type request struct {
	Params struct {
		Name      string         `json:"name"`
		Arguments map[string]any `json:"arguments"`
	} `json:"params"`
}

type content struct {
	Type string  `json:"type"`
	Text *string `json:"text,omitempty"`
}

type result struct {
	Content []content `json:"content"`
	IsError *bool     `json:"isError,omitempty"`
}

// seen is all that the guest is given besides its input.
func seen() string {
	region, ok := pdk.GetConfig("region")
	if !ok {
		region = "unset"
	}
	_, err := os.ReadFile("/data/file")
	mounted := "unmounted"
	if err == nil {
		mounted = "mounted"
	}
	return strings.Join([]string{region, mounted, "env " + os.Getenv("WHERE")}, ", ")
}

//go:wasmexport describe
func describe() int32 {
	return answer(map[string][]tool{"tools": {
		{Name: "say-hello", Description: "sees " + seen(), InputSchema: map[string]any{
			"type": "object", "required": []string{"name"},
			"properties": map[string]any{"name": map[string]any{"type": "string"}},
		}},
		{Name: "sees", InputSchema: map[string]any{"type": "object"}},
		{Name: "counts", InputSchema: map[string]any{"type": "object"}},
		{Name: "fails", InputSchema: map[string]any{"type": "object"}},
		{Name: "breaks", InputSchema: map[string]any{"type": "object"}},
		{Name: "panics", InputSchema: map[string]any{"type": "object"}},
	}})
}

var calls int

//go:wasmexport call
func call() int32 {
	var in request
	if err := pdk.InputJSON(&in); err != nil {
		return failed(err)
	}
	calls++
	text := ""
	isError := false
	switch in.Params.Name {
	case "say-hello":
		text = "Hello, " + in.Params.Arguments["name"].(string)
	case "sees":
		text = seen()
	case "counts":
		text = strings.Repeat("1", calls)
	case "fails":
		text, isError = "the disk is full", true
	case "breaks":
		return failed(errors.New("no such luck"))
	case "panics":
		panic("oh no")
	}
	return answer(result{Content: []content{{"text", &text}}, IsError: &isError})
}

func failed(err error) int32 {
	pdk.SetError(err)
	return -1
}

func answer(v any) int32 {
	if err := pdk.OutputJSON(v); err != nil {
		return failed(err)
	}
	return 0
}

func main() {}
