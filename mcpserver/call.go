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
	leave, err := s.gate.enter(ctx, session)
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

// answer is what a client gets for a call: a result, also for a failure that a model can read.
func (s *Server) answer(ctx context.Context, tool string, res plugins.Result, err error,
	show shape) (*mcp.CallToolResult, error) {
	if err != nil {
		return s.failed(ctx, tool, err)
	}
	return result(sessionOf(ctx), res, show), nil
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
func unknown(tool string) error {
	return &jsonrpc.Error{
		Code:    jsonrpc.CodeInvalidParams,
		Message: fmt.Sprintf("unknown tool %q", tool),
	}
}
