package mcp

import (
	"context"
	"io"
	"time"
)

// OpenOver opens a source whose server is at the other end of two pipes, which dial makes anew at
// each start.
func OpenOver(ctx context.Context, server Server, opts *Options,
	dial func() (io.ReadCloser, io.WriteCloser)) (*Source, error) {
	server.Limits = server.Limits.orDefaults()
	s := newSource(server, opts)
	s.pace = pace{time.Millisecond, time.Hour, PingTime}
	s.dial = func(ctx context.Context) (*link, error) {
		if _, err := s.values(ctx, server.Env); err != nil {
			return nil, err
		}
		in, out := dial()
		return &link{transport: &lines{sieve: s.sieve(), in: in, out: out}}, nil
	}
	return s.open(ctx)
}

// Hurry makes restarts come at once, all but the one after MaxStarts.
func (s *Source) Hurry() { s.pace.wait = time.Millisecond }

// Impatient has a ping answered soon or not at all.
func (s *Source) Impatient(d time.Duration) { s.pace.ping = d }
