package mcpserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
)

// ErrClosed is why a call was cancelled whose server ended.
var ErrClosed = errors.New("the server has ended")

// run carries out one call of a tool of the registry: of a client's own, or by call_tool.
func (s *Server) run(ctx context.Context, req *mcp.CallToolRequest, tool string,
	args json.RawMessage) (plugins.Result, error) {
	session := sessionOf(ctx)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(session.life, func() { cancel(ErrClosed) })()
	leave, err := s.gate.enter(ctx, session.calls)
	if err != nil {
		return plugins.Result{}, err
	}
	report := s.newReport(ctx, req, tool)
	defer report.close()
	defer leave() // before the report, which may wait for the client
	return s.registry.Call(ctx, plugins.Call{
		ID:       "mcp-" + rand.Text(),
		Tool:     tool,
		Input:    orNothing(args),
		Progress: report.progress(),
		Log:      report.log,
	})
}

// call carries out a call of a tool that clients see, or else of one that the registry has: it came
// a moment ago, or is one of so many that clients search for them. The protocol's library would look
// into its own list, which cannot change as a whole.
func (s *Server) call(ctx context.Context, req *mcp.CallToolRequest) (mcp.Result, error) {
	res, err := s.byName(ctx, req, req.Params.Name)
	if err != nil {
		return nil, err
	}
	if p := req.Session.InitializeParams(); p == nil || p.ProtocolVersion >= statelessFrom {
		return complete(res), nil
	}
	return res, nil
}

func (s *Server) byName(ctx context.Context, req *mcp.CallToolRequest, name string) (
	*mcp.CallToolResult, error) {
	offers := *s.shown.Load()
	if o, ok := offers[name]; ok {
		return o.handle(ctx, req)
	}
	res, err := s.run(ctx, req, name, req.Params.Arguments)
	if _, ok := errors.AsType[*plugins.UnknownToolError](err); ok {
		_, search := offers[searchTools]
		return nil, unknown(name, search)
	}
	return s.answer(ctx, name, res, err)
}

// complete marks a result as one that asks for nothing more, as the era without sessions wants it.
// The library has no other way to do so for a result that is not of a handler of its own.
func complete(res *mcp.CallToolResult) *mcp.CallToolResult {
	marked := &mcp.CallToolResult{}
	if err := json.Unmarshal([]byte(`{"resultType":"complete"}`), marked); err != nil {
		panic(err) // a mistake in this file
	}
	marked.Meta, marked.Content = res.Meta, res.Content
	marked.StructuredContent, marked.IsError = res.StructuredContent, res.IsError
	return marked
}

// answer is what a client gets for a call: a result, also for a failure that a model can read. It
// has no structured content.
func (s *Server) answer(ctx context.Context, tool string, res plugins.Result, err error) (
	*mcp.CallToolResult, error) {
	if err != nil {
		return s.failed(ctx, tool, err)
	}
	return result(sessionOf(ctx), res, nil, false), nil
}

// orNothing takes null for arguments that are left out, as many clients mean it.
func orNothing(args json.RawMessage) json.RawMessage {
	if bytes.Equal(bytes.TrimSpace(args), []byte("null")) {
		return nil
	}
	return args
}

// failed is the answer to a call that gave no result: what a model can read as a result, and a
// cancelled call as a protocol error, which nobody waits for.
func (s *Server) failed(ctx context.Context, tool string, err error) (*mcp.CallToolResult, error) {
	if errors.Is(err, errBusy) {
		return failure(err.Error(), errorMeta{Cause: "busy", Fault: plugins.FaultWorld.String()}), nil
	}
	_, isTool := errors.AsType[*plugins.ToolError](err)
	ended := ctx.Err() != nil || errors.Is(err, ErrClosed)
	if ended && !isTool {
		return nil, err
	}
	if plugins.FaultOf(err) == plugins.FaultHost {
		s.log.ErrorContext(ctx, "a call could not be carried out", "tool", tool, "err", err)
	}
	return failure(plugins.ModelText(err), metaOf(err)), nil
}

// unknown is the protocol's error for a tool that is not there.
func unknown(tool string, search bool) error {
	text := fmt.Sprintf("unknown tool %q", abi.CleanText(tool, maxWord))
	if search {
		text += fmt.Sprintf("; %s finds the tools that there are, and %s calls one", searchTools,
			callTool)
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: text}
}
