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
	"github.com/wasmagent/wasmagent/host/internal/mount"
	"github.com/wasmagent/wasmagent/host/internal/wasi"
)

// Module is a compiled plugin under one policy. It is safe for concurrent use.
type Module struct {
	engine   *Engine
	code     *code
	digest   digest // of all its bytes
	policy   Policy
	limits   *Limits // policy.Limits, none of them zero
	manifest abi.Manifest
	image    *image // nil when every call has a new instance
	loaded   State  // of a dialect's functions, after loading; nil where each instance loads
	env      []string
	files    *mount.Set          // nil without mounts
	scrub    func(string) string // nil without secrets
	lines    *rate.Limiter       // log lines, all instances together
	slots    chan struct{}       // held by each instance

	killed context.Context // done when running guests must end
	kill   context.CancelFunc

	mu      sync.Mutex
	closed  bool
	running int           // Calls, queued ones too
	closing chan struct{} // closed with closed
	idle    chan struct{} // closed when closed and nothing runs
	free    []*instance   // restored, the one used last at the end
	used    int64         // when that was, by Engine.uses
	gone    bool          // nothing is kept any more
	drop    func()        // gives up what the module holds, once
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
	m.drop = sync.OnceFunc(func() {
		m.kill()
		e.forget(m)
		m.empty()
		e.release(c)
	})
	return m
}

// grant readies what the policy grants.
func (m *Module) grant() (err error) {
	g := &m.policy.Grants
	m.scrub = g.scrubber()
	if m.env, err = g.environment(); err != nil {
		return err
	}
	m.files, err = openMounts(g.Files)
	return err
}

func newLimiter(perSecond int) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(perSecond), perSecond)
}

// Manifest is what the plugin says of itself.
func (m *Module) Manifest() abi.Manifest { return m.manifest }

// Digest is the SHA-256 of the module's bytes, in hex.
func (m *Module) Digest() string { return fmt.Sprintf("%x", m.digest) }

// Size is what the module keeps while nothing runs, in bytes: its code, and the pages of its
// snapshot that are not zero. Machine code is measured where it comes from Config.CacheDir or a
// compiler command, else estimated. Modules of the same bytes share their code, and each counts it.
func (m *Module) Size() int64 {
	size := m.code.size
	if m.image != nil {
		size += m.image.memory.Stored()
	}
	return size
}

// Road says how the module's calls get their fresh state, and why not by a snapshot, if so.
func (m *Module) Road() (road Road, blockers []string) {
	if m.image == nil {
		return Instantiated, m.code.blockers
	}
	return Restored, nil
}

// Call runs one call in a fresh state and appends the guest's reply, unscanned msgpack, to dst.
// Without an error there is a reply. req's DeadlineMS is set by Call.
//
// The errors are *TrapError, *ExitError, *LimitError and *ContractError for what the guest did,
// ErrClosed, and the cause and the error of ctx, wrapped, when the caller gave up. Any other error
// is the host's fault. Waiting for an instance counts against ctx only; Limits.Time begins when
// there is one.
func (m *Module) Call(ctx context.Context, req abi.Request, obs *Observer, dst []byte) (
	reply []byte, stats CallStats, err error) {
	in, err := m.take(ctx, &stats)
	if err != nil {
		return dst, stats, err
	}
	ended := false
	defer func() {
		if broken := m.give(in, ended); broken != nil && ended {
			reply, err = dst, errors.Join(err, broken)
		}
	}()
	reply, err = in.answer(ctx, &req, obs, dst, &stats)
	ended = true
	if err != nil {
		reply = dst
	}
	return reply, stats, err
}

// take gives a call an instance. Without an error it must be given back.
func (m *Module) take(ctx context.Context, stats *CallStats) (in *instance, err error) {
	if err := m.begin(); err != nil {
		return nil, err
	}
	stats.Wait, err = m.takeSlot(ctx)
	if err != nil {
		m.end()
		return nil, err
	}
	if in = m.pop(); in == nil {
		began := time.Now()
		in, err = m.acquire(ctx)
		stats.Wait += time.Since(began)
	}
	if err != nil {
		<-m.slots
		m.end()
		return nil, err
	}
	return in, nil
}

// give takes an instance back, unless the call did not end: an observer ended its goroutine. The
// error is that of a restore, under Verify.
func (m *Module) give(in *instance, ended bool) (err error) {
	defer m.end()
	defer func() { <-m.slots }()
	if !ended {
		in.unlock()
		_ = in.settle(false)
		in.close()
		return nil
	}
	broken := m.release(in)
	if broken != nil && !m.engine.verify {
		m.engine.logger.Error("instance dropped", "digest", m.Digest(), "error", broken)
		return nil
	}
	return broken
}

// answer lets the instance carry out a call.
func (in *instance) answer(ctx context.Context, req *abi.Request, obs *Observer, dst []byte,
	stats *CallStats) ([]byte, error) {
	m, r := in.module, &in.run
	in.begin(ctx, stageCall, obs)
	r.limit, r.maxReply, r.reply = m.limits.Time, m.limits.Output, dst
	if err := in.ask(req); err != nil {
		return dst, err
	}
	err := in.enter(in.call)
	if !r.began.IsZero() {
		stats.Time = time.Since(r.began)
	}
	stats.Fuel = in.fuelUsed()
	stats.Memory = in.memory.Size()
	stats.Stderr = in.stderr.text()
	stats.Dropped = r.dropped
	stats.Effects, stats.Note = r.effects, r.note
	if err == nil && !r.replied {
		err = &ContractError{Detail: "returned without a reply", NoReply: true,
			Stderr: stats.Stderr}
	}
	if err != nil {
		_ = in.settle(false) // keeps nothing, and so has nothing to say
		return dst, err
	}
	if m.scrub != nil {
		r.reply = append(r.reply[:len(dst)], scrubReply(r.reply[len(dst):], m.scrub)...)
	}
	return r.reply, in.settle(succeeded(r.reply[len(dst):]))
}

// ask readies the bytes that the guest will read. The guest's deadline is its own limit or the
// caller's, whichever comes first.
func (in *instance) ask(req *abi.Request) error {
	limits := in.module.limits
	left := limits.Time
	if deadline, ok := in.run.caller.Deadline(); ok {
		left = min(left, time.Until(deadline))
	}
	if in.module.policy.Fixed != nil {
		left = limits.Time
	}
	req.DeadlineMS = max(left.Milliseconds(), 1)
	in.request = abi.AppendRequest(in.request[:0], req)
	if in.module.policy.Grease {
		in.request = grease(in.request)
	}
	if size := int64(len(in.request)); size > limits.Request {
		return &LimitError{Limit: "request", Max: limits.Request, Asked: size}
	}
	in.run.request = in.request
	return nil
}

// fixed is the time and randomness of a first instance, nil for real ones.
func (m *Module) fixed() *wasi.Fixed {
	if m.policy.Fixed == nil {
		return nil
	}
	return &wasi.Fixed{Wall: m.policy.Fixed.Time.UnixNano(), Mono: 1, Seed: m.policy.Fixed.Seed}
}

// takeSlot waits for one of the instances that there may be, and tells how long.
func (m *Module) takeSlot(ctx context.Context) (time.Duration, error) {
	if ctx.Err() != nil {
		return 0, cancelled(ctx)
	}
	select {
	case m.slots <- struct{}{}:
		return 0, nil
	default:
	}
	began := time.Now()
	select {
	case m.slots <- struct{}{}:
		return time.Since(began), nil
	case <-ctx.Done():
		return time.Since(began), cancelled(ctx)
	case <-m.closing:
		return time.Since(began), ErrClosed
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
	m.drop()
	return nil
}

// empty closes the instances that idle, and the image.
func (m *Module) empty() {
	m.mu.Lock()
	free := m.free
	m.free, m.gone = nil, true
	m.mu.Unlock()
	for _, in := range free {
		in.close()
	}
	if m.image != nil {
		if err := m.image.memory.Close(); err != nil {
			m.engine.logger.Warn("closing a snapshot", "digest", m.Digest(), "error", err)
		}
	}
	if m.files != nil {
		if err := m.files.Close(); err != nil {
			m.engine.logger.Warn("closing mounts", "digest", m.Digest(), "error", err)
		}
	}
}

// logLine writes what no observer takes to the engine's log.
func (m *Module) logLine(stage string, level abi.Level, text string) {
	levels := [...]slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}
	m.engine.logger.Log(context.Background(), levels[level], "guest: "+text,
		"plugin", m.manifest.Name, "digest", m.Digest(), "during", stage)
}
