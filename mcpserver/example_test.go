package mcpserver_test

import (
	"context"
	"log"
	"net"
	"os"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/mcpserver"
	"github.com/wasmagent/wasmagent/plugins"
)

// A tool that is a Go function, for one client on the standard streams and for any number over
// HTTP.
func Example() {
	double, err := plugins.Func(abi.ToolSpec{Name: "double", Effect: abi.EffectRead},
		func(_ context.Context, in struct {
			N int `json:"n"`
		}) (int, error) {
			return 2 * in.N, nil
		})
	if err != nil {
		log.Fatal(err)
	}
	registry := plugins.NewRegistry(nil)
	if err := registry.Add(double); err != nil {
		log.Fatal(err)
	}
	server := mcpserver.New(registry, nil)
	defer server.Close()

	go serveHTTP(server, "127.0.0.1:8080")
	if err := server.ServeStdio(context.Background(), os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func serveHTTP(server *mcpserver.Server, addr string) {
	if err := mcpserver.CheckAddr(addr); err != nil {
		log.Fatal(err)
	}
	token, err := mcpserver.LoadToken("mcp-token")
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		log.Fatal(err)
	}
	log.Print(server.Serve(context.Background(), listener, mcpserver.HTTP{Tokens: []string{token}}))
}
