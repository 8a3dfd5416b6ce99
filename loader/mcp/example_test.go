package mcp_test

import (
	"context"
	"log"
	"os"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/loader/mcp"
	"github.com/wasmagent/wasmagent/plugins"
)

func Example() {
	ctx := context.Background()
	files, err := mcp.Open(ctx, mcp.Server{
		Name:    "files",
		Command: "npx",
		Args:    []string{"-y", "@modelcontextprotocol/server-filesystem", "/srv/docs"},
		Env: map[string]mcp.Value{
			"PATH": {Text: os.Getenv("PATH")},
			"HOME": {Text: os.Getenv("HOME")},
		},
		Tools: []string{"read_text_file", "list_directory"},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer files.Close()
	read := abi.EffectRead // the operator's word; without it each of them is a write
	registry := plugins.NewRegistry(&plugins.Options{Rules: map[string]plugins.Rule{
		"files_read_text_file": {Effect: &read},
		"files_list_directory": {Effect: &read},
	}})
	if err := registry.Add(files.Tools()...); err != nil {
		log.Fatal(err)
	}
}
