package mcpserver

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/semaphore"

	"github.com/wasmagent/wasmagent/plugins/excerpt"
)

// session is what the calls of one client share. Over HTTP, clients of the era without sessions
// share one for each token.
type session struct {
	outputs excerpt.Store
	running *semaphore.Weighted // a unit for each call
	counted bool                // against Options.Sessions
	life    context.Context     // calls end with it
}

func newSession(life context.Context, calls int) *session {
	return &session{
		outputs: excerpt.Store{Secret: true, Age: HandleAge, Keep: SessionKeep},
		running: semaphore.NewWeighted(int64(calls)),
		life:    life,
	}
}

// sessionKey is where the context of a request has its session. The protocol's library makes the
// contexts of a session's requests from the one that the session began with.
type sessionKey struct{}

func withSession(ctx context.Context, s *session) context.Context {
	return context.WithValue(ctx, sessionKey{}, s)
}

func sessionOf(ctx context.Context) *session { return ctx.Value(sessionKey{}).(*session) }

// codeBusy is the JSON-RPC error of a session that does not begin because there are too many.
const codeBusy = -32000

// admit counts the sessions that begin.
func (s *Server) admit(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method != "initialize" || !sessionOf(ctx).counted {
			return next(ctx, method, req)
		}
		if s.sessions.Add(1) > int64(s.opts.Sessions) {
			s.sessions.Add(-1)
			s.log.WarnContext(ctx, "session refused: too many", "max", s.opts.Sessions)
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
}
