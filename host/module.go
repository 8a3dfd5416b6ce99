package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/wasmagent/wasmagent/abi"
)

// Module is a compiled plugin under one policy. It is safe for concurrent use.
type Module struct {
	engine   *Engine
	code     *code
	digest   digest // of all its bytes
	policy   Policy
	limits   *Limits // policy.Limits, none of them zero
	manifest abi.Manifest
	lines    *rate.Limiter // log lines, all instances together
	slots    chan struct{} // held by each instance

	killed context.Context // done when running guests must end
	kill   context.CancelFunc

	mu      sync.Mutex
	closed  bool
	running int           // Calls, queued ones too
	closing chan struct{} // closed with closed
	idle    chan struct{} // closed when closed and nothing runs
	free    func()        // gives up what the module holds, once
}

func newModule(e *Engine, c *code, p Policy) *Module {
	m := &Module{
		engine:  e,
		code:    c,
		policy:  p,
		lines:   newLimiter(p.Limits.LogRate),
		slots:   make(chan struct{}, p.Limits.Instances),
		closing: make(chan struct{}),
		idle:    make(chan struct{}),
	}
	m.limits = &m.policy.Limits
	m.killed, m.kill = context.WithCancel(context.Background())
	m.free = sync.OnceFunc(func() {
		m.kill()
		e.forget(m)
		e.release(c)
	})
	return m
}

func newLimiter(perSecond int) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(perSecond), perSecond)
}

// newRun is a run of a stage of loading. A nil observer is an empty one.
func (m *Module) newRun(stage string, obs *Observer) *run {
	if obs == nil {
		obs = &Observer{}
	}
	return &run{module: m, stage: stage, time: m.limits.Load, obs: obs,
		reports: newLimiter(m.limits.LogRate)}
}

// Manifest is what the plugin says of itself.
func (m *Module) Manifest() abi.Manifest { return m.manifest }

// Digest is the SHA-256 of the module's bytes, in hex.
func (m *Module) Digest() string { return fmt.Sprintf("%x", m.digest) }

// Call runs one call in a fresh instance and appends the guest's reply, unscanned msgpack, to dst.
// Without an error there is a reply. req's DeadlineMS is set by Call.
//
// The errors are *TrapError, *ExitError, *LimitError and *ContractError for what the guest did,
// ErrClosed, and the cause and the error of ctx, wrapped, when the caller gave up. Any other error
// is the host's fault. Waiting for an instance counts against ctx only; Limits.Time begins when
// there is one.
func (m *Module) Call(ctx context.Context, req abi.Request, obs *Observer, dst []byte) (
	reply []byte, stats CallStats, err error) {
	if err := m.begin(); err != nil {
		return dst, stats, err
	}
	defer m.end()

	queued := time.Now()
	if err := m.takeSlot(ctx); err != nil {
		return dst, stats, err
	}
	defer func() { <-m.slots }()
	r := m.newRun(stageCall, obs)
	r.time, r.maxReply, r.reply = m.limits.Time, m.limits.Output, dst
	if r.request, err = m.codeRequest(ctx, req); err != nil {
		return dst, stats, err
	}
	in, err := m.acquire(ctx)
	stats.Wait = time.Since(queued)
	if err != nil {
		return dst, stats, err
	}
	defer m.release(in)

	began := time.Now()
	err = in.enter(ctx, r, abi.ExportCall)
	stats.Time = time.Since(began)
	stats.Memory = int64(in.memory.peak)
	stats.Stderr = in.stderr.text()
	stats.Dropped = r.dropped
	if err == nil && !r.replied {
		err = &ContractError{Detail: "returned without a reply", NoReply: true,
			Stderr: stats.Stderr}
	}
	if err != nil {
		return dst, stats, err
	}
	return r.reply, stats, nil
}

// codeRequest gives the bytes that the guest will read. The guest's deadline is its own limit or
// the caller's, whichever comes first.
func (m *Module) codeRequest(ctx context.Context, req abi.Request) ([]byte, error) {
	left := m.limits.Time
	if deadline, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(deadline))
	}
	req.DeadlineMS = max(left.Milliseconds(), 1)
	b := abi.AppendRequest(nil, &req)
	if size := int64(len(b)); size > m.limits.Request {
		return nil, &LimitError{Limit: "request", Max: m.limits.Request, Asked: size}
	}
	return b, nil
}

// acquire gives an instance in the state that every call begins with. What it says while it
// initialises was heard when the module was loaded.
func (m *Module) acquire(ctx context.Context) (*instance, error) {
	in, err := m.instantiate(ctx, &Observer{Log: func(abi.Level, string) {}})
	if load, ok := errors.AsType[*LoadError](err); ok {
		// It could be loaded once, so the fault is this call's.
		return nil, fmt.Errorf("%s: %w", load.Stage, load.Err)
	}
	return in, err
}

// release takes an instance back after a call.
func (m *Module) release(in *instance) { in.close() }

func (m *Module) takeSlot(ctx context.Context) error {
	if ctx.Err() != nil {
		return cancelled(ctx)
	}
	select {
	case m.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return cancelled(ctx)
	case <-m.closing:
		return ErrClosed
	}
}

// begin counts a call in, unless the module is closed.
func (m *Module) begin() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	m.running++
	return nil
}

func (m *Module) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running--; m.running == 0 && m.closed {
		close(m.idle)
	}
}

// Close refuses new calls and those that wait for an instance, and waits for the running ones; when
// ctx is done it ends them, with ErrClosed. It may be called twice.
func (m *Module) Close(ctx context.Context) error {
	m.mu.Lock()
	if !m.closed {
		m.closed = true
		close(m.closing)
		if m.running == 0 {
			close(m.idle)
		}
	}
	m.mu.Unlock()

	select {
	case <-m.idle:
	case <-ctx.Done():
		m.kill()
		<-m.idle
	}
	m.free()
	return nil
}

// logLine writes what no observer takes to the engine's log.
func (m *Module) logLine(stage string, level abi.Level, text string) {
	levels := [...]slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}
	m.engine.logger.Log(context.Background(), levels[level], "guest: "+text,
		"plugin", m.manifest.Name, "digest", m.Digest(), "during", stage)
}
