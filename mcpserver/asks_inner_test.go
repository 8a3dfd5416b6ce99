package mcpserver

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wasmagent/wasmagent/plugins"
)

// isBusy reports whether an error says that there is too much of something.
func isBusy(err error) bool {
	wire, ok := errors.AsType[*jsonrpc.Error](err)
	return ok && wire.Code == codeBusy
}

// TestAsksAreBounded pins that lists and calls of the server's own tools wait for those of the same
// session, and for nothing else.
func TestAsksAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(plugins.NewRegistry(nil), &Options{Discover: true})
		defer s.Close()
		mine, other := newSession(s.life, 1), newSession(s.life, 1)
		list := func(of *session) error {
			_, err := s.admit(func(context.Context, string, mcp.Request) (mcp.Result, error) {
				return &mcp.ListToolsResult{}, nil
			})(withSession(t.Context(), of), "tools/list", &mcp.ListToolsRequest{})
			return err
		}
		read := func(of *session) *mcp.CallToolResult {
			res, err := (*s.shown.Load())[readMore].handle(withSession(t.Context(), of),
				&mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Arguments: []byte(`{"handle":"x"}`)}})
			if err != nil {
				t.Fatal(err)
			}
			return res
		}
		cause := func(res *mcp.CallToolResult) string { return res.Meta[MetaError].(errorMeta).Cause }
		enter(t, s.gate, mine.calls)
		for range MaxSessionAsks - 1 {
			enter(t, s.asks, mine.asks)
		}
		if err := list(mine); err != nil {
			t.Errorf("the last that may be: %v", err)
		}
		if have := cause(read(mine)); have == "busy" {
			t.Error("the last that may be is refused")
		}
		enter(t, s.asks, mine.asks)
		began := time.Now()
		if err := list(mine); !isBusy(err) || time.Since(began) != MaxWait {
			t.Errorf("one more: %v", err)
		}
		if have := cause(read(mine)); have != "busy" || time.Since(began) != 2*MaxWait {
			t.Errorf("one more: %s", have)
		}
		if err := list(other); err != nil {
			t.Errorf("another session: %v", err)
		}
	})
}

// TestListensAreBounded pins how many streams of changes one session has open.
func TestListensAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(plugins.NewRegistry(nil), nil)
		defer s.Close()
		ctx, cancel := context.WithCancel(withSession(t.Context(), newShared(s.life, 1)))
		handle := s.admit(func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		ended := make(chan error, MaxListens)
		for range MaxListens {
			go func() {
				_, err := handle(ctx, methodListen, nil)
				ended <- err
			}()
		}
		synctest.Wait()
		if len(ended) > 0 {
			t.Errorf("one that may be: %v", <-ended)
		}
		if _, err := handle(ctx, methodListen, nil); !isBusy(err) {
			t.Errorf("one more: %v", err)
		}
		cancel()
		synctest.Wait()
		if _, err := handle(ctx, methodListen, nil); isBusy(err) {
			t.Errorf("after the others: %v", err)
		}
	})
}
