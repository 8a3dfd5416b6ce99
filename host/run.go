package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/time/rate"
)

// run is one entry into a guest, a stage of loading or a call: what the host functions serve it
// from, and what they take from it. It lies in its instance, which serves one run at a time.
type run struct {
	stage    string
	caller   context.Context // asked whether the caller still wants the answer, and nothing else
	limit    time.Duration   // of the guest's own time
	began    time.Time       // when the guest did
	deadline time.Time       // when its time is up
	request  []byte
	maxReply int64 // bytes; 0 where no reply belongs
	obs      *Observer
	reports  *rate.Limiter // of progress; nil until the first

	reply   []byte
	replied bool
	pending []byte // the answer of the last host call, until it is taken
	dropped int
	effects Effects
	note    string
	kv      KVTx    // nil until the guest uses it
	kvUsed  kvUsage // of the space, with what this call wrote

	granted   int64     // fuel so far
	yielded   time.Time // when others were last let run
	cancelled time.Time // when the caller was seen to have given up; zero: not yet
	why       error     // what the guest was stopped for; nil: it was not
}

// The stages of a plugin's life. All but stageCall are stages of loading; the guest runs from
// stageInstantiate on.
const (
	stagePreflight   = "preflight"
	stageContract    = "contract"
	stageCompile     = "compile"
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
)

// errStopped ends a guest from inside a host function.
var errStopped = errors.New("stopped in a host function")

// stop ends the guest. The first reason stands.
func (r *run) stop(why error) {
	if r.why == nil {
		r.why = why
	}
	panic(errStopped)
}

// isCancelled asks whether the caller has given up, and notes when that was first seen.
func (r *run) isCancelled(now time.Time) bool {
	if r.cancelled.IsZero() && r.caller.Err() != nil {
		r.cancelled = now
	}
	return !r.cancelled.IsZero()
}

// end is when the guest must stop: its deadline, or a grace after its caller gave up.
func (r *run) end(grace time.Duration) (at time.Time, why error) {
	if r.cancelled.IsZero() {
		return r.deadline, errTime
	}
	if at = r.cancelled.Add(grace); at.Before(r.deadline) {
		return at, errCancelled
	}
	return r.deadline, errCancelled
}

// look ends the guest if it must end.
func (in *instance) look() {
	r, now := &in.run, time.Now()
	select {
	case <-in.module.killed.Done():
		r.stop(ErrClosed)
	default:
	}
	r.isCancelled(now)
	if at, why := r.end(in.module.limits.Grace); !now.Before(at) {
		r.stop(why)
	}
}

// sleep is what a guest waits by. It gives its turn up, and wakes early for a caller that gives up,
// so that the guest may ask for that.
func (in *instance) sleep(_ context.Context, d time.Duration) error {
	in.look()
	r := &in.run
	at, _ := r.end(in.module.limits.Grace)
	timer := time.NewTimer(min(d, time.Until(at)))
	defer timer.Stop()
	var cancel <-chan struct{}
	if r.cancelled.IsZero() {
		cancel = r.caller.Done()
	}
	in.giveTurn()
	select {
	case <-timer.C:
	case <-cancel:
	case <-in.module.killed.Done():
	}
	in.takeAgain()
	in.look()
	return nil
}

// outside tells an observer or the log something, without the guest's turn.
func (in *instance) outside(tell func()) { in.apart("an observer", tell) }

// away does what the guest waits for, without its turn. The guest's memory may not be written
// meanwhile, nor does away end the guest: what was done is seen to first.
func (in *instance) away(work func()) { in.apart("a host call", work) }

// apart works without the guest's turn. A panic there is not the guest's fault: it ends the guest,
// and the call with an error that is the host's own.
func (in *instance) apart(who string, work func()) {
	in.giveTurn()
	defer func() {
		p := recover()
		in.takeAgain()
		if p != nil {
			in.run.stop(fmt.Errorf("%s panicked: %v", who, p))
		}
	}()
	work()
}

// giveTurn lets others run. A guest without a turn keeps no thread: any number of them may wait.
func (in *instance) giveTurn() {
	in.unwatch()
	in.module.engine.turns.give()
}

// takeAgain waits for a turn, which does not count as the guest's time.
func (in *instance) takeAgain() {
	began := time.Now()
	in.module.engine.turns.again()
	in.run.deadline = in.run.deadline.Add(time.Since(began))
	in.watch()
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
