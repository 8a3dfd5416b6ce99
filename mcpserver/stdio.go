package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ServeStdio serves one client over a pair of streams until the client closes in or ctx is done.
// It gives nil for a client that has gone, and ctx's cause otherwise. When ctx is done, in is
// closed if it can be. Nothing else may write to out.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	closer, ok := in.(io.ReadCloser)
	if !ok {
		closer = io.NopCloser(in)
	}
	return s.serve(ctx, &mcp.IOTransport{
		Reader: closer, Writer: nopCloser{out}, MaxLineLength: MaxMessage,
	})
}

func (s *Server) serve(ctx context.Context, transport mcp.Transport) error {
	life, end := context.WithCancel(s.life)
	defer end()
	begun := newSession(life, s.opts.SessionCalls)
	client, err := s.mcp.Connect(withSession(ctx, begun), transport, nil)
	if err != nil {
		return fmt.Errorf("mcp: %w", err)
	}
	defer context.AfterFunc(ctx, func() {
		end()
		client.Close()
	})()
	err = client.Wait()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case s.life.Err() != nil, hasGone(err):
		return nil
	}
	return err
}

// hasGone reports whether err only says that the client has closed its end.
func hasGone(err error) bool {
	for _, end := range []error{io.EOF, io.ErrClosedPipe, os.ErrClosed, syscall.EPIPE,
		mcp.ErrConnectionClosed} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
