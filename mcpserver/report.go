//lint:file-ignore SA1019 Clients of the older era hear what a tool logs in no other way.

package mcpserver

import (
	"context"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wasmagent/wasmagent/abi"
)

func capabilities() *mcp.ServerCapabilities {
	return &mcp.ServerCapabilities{
		Logging: &mcp.LoggingCapabilities{},
		Tools:   &mcp.ToolCapabilities{ListChanged: true},
	}
}

// report passes on what a tool says while it runs. The tool never waits for the client: of its
// progress the newest is kept until it can be sent, of its lines the first few.
type report struct {
	server *Server
	tool   string
	token  any // of the client that wants to hear of progress; nil: it does not
	send   func(*mcp.ProgressNotificationParams, []*mcp.LoggingMessageParams)

	mu      sync.Mutex
	last    float64 // the progress that was taken last: it must grow
	newest  *mcp.ProgressNotificationParams
	lines   []*mcp.LoggingMessageParams
	started bool
	closed  bool
	wake    chan struct{} // something is there to send
	stop    chan struct{}
	sent    sync.WaitGroup
}

func (s *Server) newReport(ctx context.Context, req *mcp.CallToolRequest, tool string) *report {
	r := &report{
		server: s, tool: tool, token: req.Params.GetProgressToken(), last: math.Inf(-1),
		wake: make(chan struct{}, 1), stop: make(chan struct{}),
	}
	r.send = func(p *mcp.ProgressNotificationParams, lines []*mcp.LoggingMessageParams) {
		for _, line := range lines {
			_ = req.Session.Log(ctx, line) // a client that has gone hears nothing
		}
		if p != nil {
			_ = req.Session.NotifyProgress(ctx, p)
		}
	}
	return r
}

// progress is what the tool calls, or nil when the client does not want to hear of it.
func (r *report) progress() func(abi.Progress) {
	if r.token == nil {
		return nil
	}
	return r.step
}

func (r *report) step(p abi.Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !(p.Done > r.last) || math.IsInf(p.Done, 0) || r.closed {
		return
	}
	r.last = p.Done
	r.newest = &mcp.ProgressNotificationParams{
		ProgressToken: r.token, Progress: p.Done,
		Message: abi.CleanText(p.Message, MaxProgressChars),
	}
	if p.Total > 0 && !math.IsInf(p.Total, 0) {
		r.newest.Total = p.Total
	}
	r.something()
}

var levels = [...]struct {
	ours   slog.Level
	theirs mcp.LoggingLevel
}{
	abi.LevelDebug: {slog.LevelDebug, "debug"},
	abi.LevelInfo:  {slog.LevelInfo, "info"},
	abi.LevelWarn:  {slog.LevelWarn, "warning"},
	abi.LevelError: {slog.LevelError, "error"},
}

func (r *report) log(level abi.Level, text string) {
	text = abi.CleanText(text, MaxLogChars)
	l := levels[min(level, abi.LevelError)]
	r.server.log.Log(context.Background(), l.ours, text, "tool", r.tool)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || len(r.lines) == maxPendingLogs {
		return
	}
	r.lines = append(r.lines, &mcp.LoggingMessageParams{Logger: r.tool, Level: l.theirs, Data: text})
	r.something()
}

// something tells the sender that there is something to send. The lock is held.
func (r *report) something() {
	if !r.started {
		r.started = true
		r.sent.Go(r.run)
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// run sends what there is, and then rests a little.
func (r *report) run() {
	for {
		select {
		case <-r.wake:
			r.flush()
		case <-r.stop:
			r.flush()
			return
		}
		select {
		case <-time.After(ProgressEvery):
		case <-r.stop:
		}
	}
}

func (r *report) flush() {
	r.mu.Lock()
	newest, lines := r.newest, r.lines
	r.newest, r.lines = nil, nil
	r.mu.Unlock()
	r.send(newest, lines)
}

// close sends what is left. After it nothing more is sent, since the call's result is next.
func (r *report) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	close(r.stop)
	r.sent.Wait()
}
