package mcp_test

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// peers are the kinds of server that the test binary can be.
var peers = map[string]func(){
	"good": func() { _ = good().Run(context.Background(), &sdk.StdioTransport{}) },
}
