package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// session is one life of a server: from a start to a crash or the source's end.
type session struct {
	mcp  *sdk.ClientSession
	conn sdk.Connection
	proc *process      // nil over HTTP
	over chan struct{} // closed when it can be used no more
	vain atomic.Bool   // nobody ever had it: whoever starts the server is told why
	told atomic.Bool   // a call has told the end of its stderr

	doubt chan struct{} // closed when a ping has shown whether it still answers; nil: no doubt
}

// close ends the session. The library waits for answers that may never come, so a command is ended
// beside it.
func (c *session) close() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.mcp.Close()
	}()
	closesWithin(done, CloseGrace)
	c.drop()
	<-done
}

// closesWithin waits for a channel to be closed, but not longer than d.
func closesWithin(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// drop ends the connection at this end.
func (c *session) drop() {
	if c.proc != nil {
		c.proc.stop(CloseGrace)
		c.proc.stdout.Close()
		return
	}
	c.conn.Close()
}

// tail is the end of what the command printed; "" over HTTP.
func (c *session) tail() string {
	if c == nil || c.proc == nil {
		return ""
	}
	return c.proc.stderr.String()
}

// abort ends a session whose server does not even read.
func (c *session) abort() {
	if c.proc != nil {
		c.proc.kill()
		return
	}
	c.conn.Close()
}

// probe pings a command that let a call's time pass, and ends it if it does not answer that either:
// it would let every call's time pass. Calls that come meanwhile wait.
func (s *Source) probe(c *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || c.proc == nil || c.doubt != nil || c.isOver() {
		return
	}
	doubt := make(chan struct{})
	c.doubt = doubt
	s.jobs.Go(func() {
		if !s.answers(c) && s.life.Err() == nil {
			s.log.Warn("the server let a call's time pass and answers no ping: it is ended; the next " +
				"call starts it again")
			c.abort()
			closesWithin(c.over, CloseGrace)
		}
		s.mu.Lock()
		c.doubt = nil
		s.mu.Unlock()
		close(doubt)
	})
}

// answers tells whether a session answers a ping in time. An error is an answer too.
func (s *Source) answers(c *session) bool {
	ctx, cancel := context.WithTimeout(s.life, s.pace.ping)
	defer cancel()
	var err error
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		err = c.mcp.Ping(ctx, nil)
	}()
	if !closesWithin(answered, s.pace.ping+stuckGrace) {
		c.abort() // it does not even read
		<-answered
	}
	return err == nil || wireError(err) != nil
}

func (c *session) isOver() bool {
	select {
	case <-c.over:
		return true
	default:
		return false
	}
}

// flight is a start that any number of calls wait for.
type flight struct {
	done    chan struct{}
	session *session
	err     error
}

// starts counts what a server does to itself.
type starts struct {
	row  int       // in a row without a good answer between
	last time.Time // when the last one was
}

// pace is how soon a server that crashes is started again.
type pace struct {
	wait, giveUp time.Duration
	ping         time.Duration // for an answer of one that may hang
}

// delay is how long a start has to wait; hopeless: calls do not wait for it.
func (p pace) delay(s starts) (d time.Duration, hopeless bool) {
	since := time.Since(s.last)
	switch {
	case s.row <= 1:
		return 0, false
	case s.row >= MaxStarts:
		return p.giveUp - since, since < p.giveUp
	}
	return p.wait<<(s.row-2) - since, false
}

// use gives a session that works, and starts one if need be. One start serves all who wait; who
// leaves does not end it for the others.
func (s *Source) use(ctx context.Context) (*session, error) {
	s.mu.Lock()
	for s.session != nil && s.session.doubt != nil {
		doubt := s.session.doubt
		s.mu.Unlock()
		select {
		case <-doubt:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		s.mu.Lock()
	}
	if s.closed {
		s.mu.Unlock()
		return nil, ErrClosed
	}
	if s.session != nil && !s.session.isOver() {
		defer s.mu.Unlock()
		return s.session, nil
	}
	if s.flight == nil {
		wait, hopeless := s.pace.delay(s.starts)
		if hopeless {
			defer s.mu.Unlock()
			return nil, s.hopeless(wait)
		}
		f := &flight{done: make(chan struct{})}
		s.flight = f
		s.jobs.Go(func() { s.fly(f, wait) })
	}
	f := s.flight
	s.mu.Unlock()
	select {
	case <-f.done:
		return f.session, f.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *Source) hopeless(wait time.Duration) error {
	return &ServerError{Server: s.server.Name, Stage: "start", Tail: s.session.tail(),
		Err: fmt.Errorf("it was started %d times in a row without a good answer; it is started again "+
			"in %v at the earliest", s.starts.row, wait.Round(time.Second))}
}

// fly starts the server, after the wait that its crashes have earned it.
func (s *Source) fly(f *flight, wait time.Duration) {
	timer := time.NewTimer(wait)
	select {
	case <-timer.C:
	case <-s.life.Done():
		timer.Stop()
	}
	f.session, f.err = s.start()
	s.mu.Lock()
	s.flight = nil
	s.starts.row++
	s.starts.last = time.Now()
	if f.err == nil {
		s.session = f.session
	}
	late := s.closed && f.err == nil
	s.mu.Unlock()
	if late {
		f.session.close()
		f.session, f.err = nil, ErrClosed
	}
	close(f.done)
}

// good notes an answer, whatever it says: the server works.
func (s *Source) good() {
	s.mu.Lock()
	s.starts.row = 0
	s.mu.Unlock()
}

// oldEra is the newest version of the protocol that begins with a handshake.
const oldEra = "2025-11-25"

// start connects and lists. A server of the older era may not answer a question of the newer one at
// all, so silence is asked again in the older way.
func (s *Source) start() (*session, error) {
	if s.life.Err() != nil {
		return nil, ErrClosed
	}
	ctx, cancel := context.WithTimeout(s.life, s.server.Limits.Start)
	defer cancel()
	first, end := context.WithTimeout(ctx, s.server.Limits.Start/2)
	c, err := s.connect(first, "")
	if err != nil && first.Err() != nil && ctx.Err() == nil {
		c, err = s.connect(ctx, oldEra)
	}
	end()
	if err != nil {
		return nil, s.startFault(ctx, err)
	}
	if err := s.relist(ctx, c); err != nil {
		c.vain.Store(true)
		c.close()
		return nil, s.startFault(ctx, s.fault("list", err, c))
	}
	s.log.Debug("the server is there", "protocol", c.mcp.InitializeResult().ProtocolVersion)
	return c, nil
}

func (s *Source) startFault(ctx context.Context, err error) error {
	if s.life.Err() != nil {
		return ErrClosed
	}
	if e, ok := errors.AsType[*ServerError](err); ok && ctx.Err() != nil {
		e.Err = &scrubbed{fmt.Sprintf("it listed no tools within %v (limits.start)",
			s.server.Limits.Start), e.Err}
	}
	return err
}

// connect makes a session of a new connection.
func (s *Source) connect(ctx context.Context, version string) (*session, error) {
	link, err := s.dial(ctx)
	if err != nil {
		return nil, s.fault("start", err, nil)
	}
	c := &session{proc: link.proc, over: make(chan struct{})}
	kept := &keptTransport{Transport: link.transport}
	c.mcp, err = s.newClient().Connect(ctx, kept, &sdk.ClientSessionOptions{ProtocolVersion: version})
	c.conn = kept.conn
	if err != nil {
		err = s.fault("start", err, c)
		if kept.conn != nil {
			c.drop()
		}
		return nil, err
	}
	s.quieten(ctx, c)
	s.jobs.Go(func() {
		err := c.mcp.Wait()
		close(c.over)
		if s.life.Err() == nil && !c.vain.Load() {
			var why []any
			if err != nil {
				why = []any{"err", s.shown(err.Error(), MaxLineChars)}
			}
			s.log.Warn("the session has ended; the next call starts another", why...)
		}
		c.drop()
	})
	return c, nil
}

// keptTransport keeps the connection, since not every failure to connect closes it.
type keptTransport struct {
	sdk.Transport
	conn sdk.Connection
}

func (t *keptTransport) Connect(ctx context.Context) (conn sdk.Connection, err error) {
	t.conn, err = t.Transport.Connect(ctx)
	return t.conn, err
}

// fault is a server that is not there, or no more.
func (s *Source) fault(stage string, err error, c *session) error {
	if _, ok := errors.AsType[*ServerError](err); ok {
		return err
	}
	text, tail := s.shown(s.withoutPath(err.Error()), MaxFailureChars), c.tail()
	if c != nil && c.proc != nil && c.proc.endsWithin(stuckGrace) {
		text, tail = "the server ended: "+ended(c.proc.state), c.tail()
	} else if errors.Is(err, io.EOF) {
		text = "the server ended its connection"
	}
	if stage == "call" && c != nil && c.told.Swap(true) {
		tail = "" // another call has told it
	}
	return &ServerError{Server: s.server.Name, Stage: stage, Tail: tail,
		Err: &scrubbed{text, err}}
}

func ended(state error) string {
	if state == nil {
		return "exit status 0"
	}
	return state.Error()
}

// say logs a line that comes from the server.
func (s *Source) say(text, stream string) {
	text = s.shown(text, MaxLineChars)
	s.lines.write(func(dropped int64) { logLine(s.log, slog.LevelInfo, text, stream, dropped) })
}
