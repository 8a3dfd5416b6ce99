package host

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// run is one entry into a guest, a stage of loading or a call: what the host functions serve it
// from and what they take from it. It travels in the context under runKey.
type run struct {
	module   *Module
	stage    string        // as LoadError has it, or "call"
	time     time.Duration // the guest's own
	request  []byte
	maxReply int64 // bytes; 0 where no reply belongs
	obs      *Observer
	reports  *rate.Limiter

	reply     []byte
	replied   bool
	pending   []byte // the answer of the last host call, until it is taken
	dropped   int
	cancelled atomic.Bool     // by the caller
	stop      <-chan struct{} // closed when the guest must end
}

type runKey struct{}

// The stages of a guest's life. All but stageCall are stages of loading.
const (
	stageInstantiate = "instantiate"
	stageInitialize  = "initialize"
	stageDescribe    = "describe"
	stageWarmup      = "warmup"
	stageCall        = "call"
)

func (r *run) inCall() bool { return r.stage == stageCall }

// Why a guest had to end.
var (
	errTime      = errors.New("its own time is up")
	errCancelled = errors.New("the caller cancelled")
	errStopped   = errors.New("stopped in a host function")
)

// within does work in a context that is done when the guest must end: when its own time is up, a
// grace after the caller's context is, or at once when the module is killed. It gives the work's
// error and why the guest was stopped, nil when it was not.
func (r *run) within(ctx context.Context, work func(context.Context) error) (err, why error) {
	inner, stop := context.WithCancelCause(context.WithValue(context.Background(), runKey{}, r))
	defer stop(nil)
	r.stop = inner.Done()

	timer := time.AfterFunc(r.time, func() {
		if r.cancelled.Load() {
			stop(errCancelled) // it was first, and this only shortens the grace
		}
		stop(errTime)
	})
	defer timer.Stop()
	defer context.AfterFunc(r.module.killed, func() { stop(ErrClosed) })()
	defer context.AfterFunc(ctx, func() {
		r.cancelled.Store(true)
		grace := time.NewTimer(r.module.limits.Grace)
		defer grace.Stop()
		select {
		case <-grace.C:
			stop(errCancelled)
		case <-inner.Done():
		}
	})()

	err = guard(func() error { return work(inner) })
	return err, context.Cause(inner)
}

// guard turns a panic of the engine's into an error: no guest's bytes may end the process.
func guard(work func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the engine panicked: %v", p)
		}
	}()
	return work()
}
