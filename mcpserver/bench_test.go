package mcpserver_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wasmagent/wasmagent/mcpserver"
	"github.com/wasmagent/wasmagent/plugins"
)

// BenchmarkCall is what the protocol adds to a call of a Go tool.
func BenchmarkCall(b *testing.B) {
	args := json.RawMessage(`{"x":7}`)
	for _, w := range ways {
		b.Run(strings.ReplaceAll(w.String(), " ", "/"), func(b *testing.B) {
			registry := plugins.NewRegistry(nil)
			if err := registry.Add(testTools(registry)...); err != nil {
				b.Fatal(err)
			}
			s := mcpserver.New(registry, nil)
			defer s.Close()
			c := w.connect(b, s, nil)
			for b.Loop() {
				res, err := c.CallTool(b.Context(), &mcp.CallToolParams{Name: "point", Arguments: args})
				if err != nil || res.IsError {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("registry", func(b *testing.B) {
		registry := plugins.NewRegistry(nil)
		if err := registry.Add(testTools(registry)...); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := registry.Call(b.Context(), plugins.Call{Tool: "point", Input: args}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkStart is from the start of a process to its first answer.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		c := connect(b, &mcp.CommandTransport{Command: peerCommand("stdio")}, sessions, nil)
		if _, err := c.ListTools(b.Context(), nil); err != nil {
			b.Fatal(err)
		}
		c.Close()
	}
}
