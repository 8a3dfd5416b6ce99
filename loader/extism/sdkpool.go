package extism

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/loader/extism/internal/sdkwire"
)

// openTime is how long a process may take to begin and to compile a plugin's modules.
const openTime = 2 * host.MaxCompileTime

// Causes of the end of a process that was killed.
var (
	errTime   = errors.New("out of time")
	errClosed = errors.New("closed while it ran")
)

// sdkPool is the processes of one plugin. One that idles is kept.
type sdkPool struct {
	command []string
	opening *sdkwire.Opening
	wasm    []byte // of all modules
	limits  *host.Limits
	slots   chan struct{} // held by each call

	killed context.Context // done when running calls must end
	kill   context.CancelCauseFunc

	mu      sync.Mutex
	closed  bool
	idle    *sdkProcess
	running sync.WaitGroup
}

func newSDKPool(command []string, o *sdkwire.Opening, wasm []byte, limits *host.Limits) *sdkPool {
	p := &sdkPool{command: command, opening: o, wasm: wasm, limits: limits,
		slots: make(chan struct{}, min(limits.Instances, MaxProcesses))}
	p.killed, p.kill = context.WithCancelCause(context.Background())
	return p
}

// try makes an instance, which nothing is called of.
func (p *sdkPool) try(ctx context.Context) error {
	_, err := p.call(ctx, &sdkJob{limit: p.limits.Load, name: "load"})
	if _, told := errors.AsType[*host.LoadError](err); err == nil || told || ctx.Err() != nil {
		return err
	}
	return &host.LoadError{Stage: "instantiate", Err: err}
}

// sdkJob is a call of a function, or with no export the making of an instance.
type sdkJob struct {
	export string
	input  []byte
	limit  time.Duration
	name   string // of the limit
	call   *sdkCall
}

// run calls a function in a fresh instance.
func (p *sdkPool) run(ctx context.Context, export string, input []byte, c *sdkCall) ([]byte, error) {
	return p.call(ctx, &sdkJob{export, input, p.limits.Time, "time", c})
}

func (p *sdkPool) call(ctx context.Context, job *sdkJob) ([]byte, error) {
	asked := time.Now()
	leave, err := p.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	opening, cancelOpening := p.bounded(ctx, openTime)
	defer cancelOpening()
	proc, err := p.take(opening, job)
	if err != nil {
		return nil, p.ended(ctx, opening, err, &host.LimitError{Limit: "compile", Time: openTime})
	}
	began := time.Now()
	running, cancel := p.bounded(ctx, job.limit)
	defer cancel()
	output, verdict, err := proc.call(running, job)
	if c := job.call; c != nil {
		c.stats.Wait, c.stats.Time = began.Sub(asked), time.Since(began)
		verdict.Stderr = c.scrub(verdict.Stderr) // which errors have as well
		c.stats.Memory, c.stats.Stderr = verdict.Memory, verdict.Stderr
	}
	if err != nil {
		proc.end()
		return nil, p.ended(ctx, running, err, &host.LimitError{Limit: job.name, Time: job.limit})
	}
	p.give(proc)
	return output, verdict.Err()
}

// enter waits for a slot.
func (p *sdkPool) enter(ctx context.Context) (leave func(), err error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, host.ErrClosed
	}
	p.running.Add(1)
	p.mu.Unlock()
	select {
	case p.slots <- struct{}{}:
		return func() { <-p.slots; p.running.Done() }, nil
	case <-p.killed.Done():
		p.running.Done()
		return nil, host.ErrClosed
	case <-ctx.Done():
		p.running.Done()
		return nil, host.GaveUp(ctx)
	}
}

// bounded is ctx for what may last so long, and no longer than the pool.
func (p *sdkPool) bounded(ctx context.Context, limit time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(limit, func() { cancel(errTime) })
	stop := context.AfterFunc(p.killed, func() { cancel(errClosed) })
	return ctx, func() {
		timer.Stop()
		stop()
		cancel(nil)
	}
}

// ended says why a process did not do its work: it was killed, or it broke.
func (p *sdkPool) ended(caller, bounded context.Context, err error, limit error) error {
	switch context.Cause(bounded) {
	case nil:
		return err
	case errTime:
		return limit
	case errClosed:
		return host.ErrClosed
	}
	return host.GaveUp(caller)
}

// take gives a process that has the job: the one that idles, unless somebody has ended it meanwhile,
// or another.
func (p *sdkPool) take(ctx context.Context, job *sdkJob) (*sdkProcess, error) {
	p.mu.Lock()
	proc := p.idle
	p.idle = nil
	p.mu.Unlock()
	if proc != nil && proc.send(ctx, job) == nil {
		return proc, nil
	}
	proc, err := startSDK(ctx, p)
	if err != nil {
		return nil, err
	}
	return proc, proc.send(ctx, job)
}

func (p *sdkPool) give(proc *sdkProcess) {
	p.mu.Lock()
	keep := p.idle == nil && !p.closed && !proc.killed
	if keep {
		p.idle = proc
	}
	p.mu.Unlock()
	if !keep {
		proc.end()
	}
}

// close ends the process that idles, and waits for the others, which it ends with ctx.
func (p *sdkPool) close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	proc := p.idle
	p.idle = nil
	p.mu.Unlock()
	if proc != nil {
		proc.end()
	}
	defer p.kill(nil)
	stop := context.AfterFunc(ctx, func() { p.kill(nil) })
	defer stop()
	p.running.Wait()
	return nil
}
