package main

import (
	"context"
	"os"
	"os/exec"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// grpcService is the service's name; its methods are the tools, from JSON to JSON as bytes.
const grpcService = "wasmagent.bench.Tools"

// childVariable makes this very program the plugin, and is go-plugin's handshake.
const childVariable = "WASMAGENT_BENCH_CHILD"

var handshake = plugin.HandshakeConfig{MagicCookieKey: childVariable, MagicCookieValue: "grpc"}

// isChild reports whether this process was started to be the plugin.
func isChild() bool { return os.Getenv(childVariable) == handshake.MagicCookieValue }

// grpcTools joins both ends to go-plugin.
type grpcTools struct{ plugin.NetRPCUnsupportedPlugin }

func (grpcTools) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	desc := grpc.ServiceDesc{ServiceName: grpcService, HandlerType: (*any)(nil)}
	for _, tool := range tools {
		desc.Methods = append(desc.Methods, grpc.MethodDesc{MethodName: tool, Handler: handler(tool)})
	}
	s.RegisterService(&desc, struct{}{})
	return nil
}

func handler(tool string) grpc.MethodHandler {
	return func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (
		any, error) {
		var in wrapperspb.BytesValue
		if err := decode(&in); err != nil {
			return nil, err
		}
		out, err := serveJSON(tool, in.Value)
		return wrapperspb.Bytes(out), err
	}
}

func (grpcTools) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (
	any, error) {
	return conn, nil
}

// serveGRPC is the child's life.
func serveGRPC() {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: handshake,
		Plugins:         plugin.PluginSet{"tools": grpcTools{}},
		GRPCServer:      plugin.DefaultGRPCServer,
		Logger:          hclog.NewNullLogger(),
	})
}

// goPlugin is a native child, started once, that is asked over gRPC.
type goPlugin struct {
	ctx    context.Context
	client *plugin.Client
	conn   *grpc.ClientConn
	pid    int
}

func newGRPC(ctx context.Context, _ *arena) (contender, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self) // go-plugin sets the variable
	client := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  handshake,
		Plugins:          plugin.PluginSet{"tools": grpcTools{}},
		Cmd:              cmd,
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		Logger:           hclog.NewNullLogger(),
	})
	protocol, err := client.Client()
	if err != nil {
		client.Kill()
		return nil, err
	}
	conn, err := protocol.Dispense("tools")
	if err != nil {
		client.Kill()
		return nil, err
	}
	return &goPlugin{ctx, client, conn.(*grpc.ClientConn), cmd.Process.Pid}, nil
}

func (c *goPlugin) Name() string { return nameGRPC }

func (c *goPlugin) Call(p *payload) ([]byte, error) {
	var out wrapperspb.BytesValue
	err := c.conn.Invoke(c.ctx, "/"+grpcService+"/"+p.tool, wrapperspb.Bytes(p.json), &out)
	return out.Value, err
}

func (c *goPlugin) PIDs() []int { return []int{c.pid} }

func (c *goPlugin) Close() error {
	c.client.Kill()
	return nil
}
