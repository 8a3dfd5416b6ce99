package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ServeStdio serves one client over a pair of streams until the client closes in, the server is
// closed or ctx is done. It gives nil, or ctx's cause. When the client closes in, what it asked for
// before is carried out and answered, for FinishTime at most; else calls are cancelled, in is closed
// if it can be, and a client that does not read what is left for it is given up after ShutdownGrace.
// Nothing else may write to out.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	closer, ok := in.(io.ReadCloser)
	if !ok {
		closer = io.NopCloser(in)
	}
	life, end := context.WithCancel(s.life)
	defer end()
	begun := newSession(life, s.opts.SessionCalls)
	client, err := s.mcp.Connect(withSession(ctx, begun), lines{closer, out}, nil)
	if err != nil {
		return fmt.Errorf("mcp: %w", err)
	}
	gone := make(chan error, 1)
	go func() { gone <- client.Wait() }()
	select {
	case err := <-gone:
		if !hasGone(err) && ctx.Err() == nil && s.life.Err() == nil {
			return err
		}
	case <-ctx.Done():
	case <-life.Done():
	}
	end()
	within(ShutdownGrace, func() { client.Close() })
	return context.Cause(ctx)
}

// within waits for f, but not longer than that.
func within(d time.Duration, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(d):
	}
}

// hasGone reports whether err only says that the client has closed its end.
func hasGone(err error) bool {
	if err == nil {
		return true
	}
	for _, end := range []error{io.EOF, io.ErrClosedPipe, os.ErrClosed, syscall.EPIPE,
		mcp.ErrConnectionClosed} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}
