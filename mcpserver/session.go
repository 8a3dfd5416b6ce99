package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wasmagent/wasmagent/plugins/excerpt"
)

// session is what the calls of one client share. Over HTTP, clients of the era without sessions
// share one for each token.
type session struct {
	outputs excerpt.Store
	calls   *lane           // through Server.gate
	asks    *lane           // through Server.asks
	listens atomic.Int64    // open streams of changes
	given   given           // the output schemas that it knows
	counted bool            // against Options.Sessions
	life    context.Context // calls end with it
}

func newSession(life context.Context, calls int) *session {
	return &session{
		outputs: excerpt.Store{Secret: true, Age: HandleAge, Keep: SessionKeep},
		calls:   newLane(calls, MaxSessionWaiting),
		asks:    newLane(MaxSessionAsks, MaxSessionWaiting),
		life:    life,
	}
}

// newShared makes the session of all clients of a token that have none of their own.
func newShared(life context.Context, calls int) *session {
	s := newSession(life, calls)
	s.calls.room, s.asks.room = MaxSharedWaiting, MaxSharedWaiting
	s.asks.free = MaxSharedAsks
	s.given.shared = true
	return s
}

// sessionKey is where the context of a request has its session. The protocol's library makes the
// contexts of a session's requests from the one that the session began with.
type sessionKey struct{}

func withSession(ctx context.Context, s *session) context.Context {
	return context.WithValue(ctx, sessionKey{}, s)
}

func sessionOf(ctx context.Context) *session { return ctx.Value(sessionKey{}).(*session) }

// codeBusy is the JSON-RPC error of what is refused because there is too much of it.
const codeBusy = -32000

// methods are those that the server has, besides notifications. The protocol's library also answers
// for prompts and resources, of which there are none.
var methods = []string{"initialize", "ping", "server/discover", methodListen, "logging/setLevel",
	"tools/list", "tools/call"}

// methodListen opens a stream of changes.
const methodListen = "subscriptions/listen"

// admit lets the server's methods through, and counts the sessions that begin.
func (s *Server) admit(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch {
		case !slices.Contains(methods, method) && !strings.HasPrefix(method, "notifications/"):
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound,
				Message: fmt.Sprintf("method %q not found", method)}
		case method == "initialize" && sessionOf(ctx).counted:
			return s.begin(ctx, method, req, next)
		case method == "tools/list":
			return s.list(ctx, method, req, next)
		case method == "tools/call":
			return s.call(ctx, req.(*mcp.CallToolRequest))
		case method == methodListen:
			return s.listen(ctx, method, req, next)
		}
		return next(ctx, method, req)
	}
}

// list answers with the tools, and remembers which output schemas the client has seen with them.
func (s *Server) list(ctx context.Context, method string, req mcp.Request,
	next mcp.MethodHandler) (mcp.Result, error) {
	session := sessionOf(ctx)
	leave, err := s.asks.enter(ctx, session.asks)
	if errors.Is(err, errBusy) {
		return nil, &jsonrpc.Error{Code: codeBusy, Message: err.Error()}
	}
	if err != nil {
		return nil, err
	}
	defer leave()
	res, err := next(ctx, method, req)
	if list, ok := res.(*mcp.ListToolsResult); ok && err == nil {
		session.given.note(list.Tools)
	}
	return res, err
}

// listen keeps a stream of changes open, unless there are too many.
func (s *Server) listen(ctx context.Context, method string, req mcp.Request,
	next mcp.MethodHandler) (mcp.Result, error) {
	open := &sessionOf(ctx).listens
	defer open.Add(-1)
	if open.Add(1) > MaxListens {
		return nil, &jsonrpc.Error{Code: codeBusy, Message: fmt.Sprintf(
			"there are %d open streams of changes, as many as may be; close one", MaxListens)}
	}
	return next(ctx, method, req)
}

// begin counts a session, until it ends, unless there are too many.
func (s *Server) begin(ctx context.Context, method string, req mcp.Request,
	next mcp.MethodHandler) (mcp.Result, error) {
	if s.sessions.Add(1) > int64(s.opts.Sessions) {
		s.sessions.Add(-1)
		s.refusals.warn("session refused: too many", "max", s.opts.Sessions)
		return nil, &jsonrpc.Error{Code: codeBusy, Message: fmt.Sprintf(
			"there are %d sessions, as many as may be; try again later", s.opts.Sessions)}
	}
	res, err := next(ctx, method, req)
	if err != nil {
		s.sessions.Add(-1)
		return nil, err
	}
	session := req.GetSession().(*mcp.ServerSession)
	go func() {
		_ = session.Wait() // why it ended does not matter
		s.sessions.Add(-1)
	}()
	return res, nil
}
