package host_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
)

var errMine = errors.New("the user pressed a key")

// patient never ends a call by itself while a test runs.
func patient(grace time.Duration, instances int) host.Policy {
	return host.Policy{Limits: host.Limits{Time: time.Hour, Grace: grace, Instances: instances}}
}

// begin is a guest that says that it runs, and then does what the body says.
func begin(b hosttest.Body) hosttest.Body {
	return hosttest.Then(hosttest.Log(abi.LevelInfo, "running"), b)
}

// onLog is an observer that is told when the guest runs.
func onLog(f func()) *host.Observer {
	return &host.Observer{Log: func(abi.Level, string) { f() }}
}

// A guest that looks for it learns of its caller's cancelling and may still answer; one that does
// not is ended after the grace, with the caller's own cause. Three times each, so that nothing is
// left behind.
func TestCallerCancels(t *testing.T) {
	e := hosttest.Engine(t)
	attentive := plugin(t, e, begin(hosttest.Then(hosttest.UntilCancelled, hosttest.OK)),
		patient(time.Hour, 1))
	stubborn := plugin(t, e, begin(hosttest.Loop), patient(1, 1))
	asleep := plugin(t, e, begin(hosttest.Sleep(1<<62)), patient(1, 1))
	for range 3 {
		ctx, cancel := context.WithCancelCause(t.Context())
		reply, err := call(ctx, attentive, "", onLog(func() { cancel(errMine) }))
		if err != nil || string(reply) != "\x81\xa2ok\xc3" {
			t.Errorf("attentive: %q, %v", reply, err)
		}
		for name, m := range map[string]*host.Module{"stubborn": stubborn, "asleep": asleep} {
			ctx, cancel := context.WithCancelCause(t.Context())
			_, err = call(ctx, m, "", onLog(func() { cancel(errMine) }))
			if !errors.Is(err, errMine) || !errors.Is(err, context.Canceled) ||
				err.Error() != "the caller gave up: "+errMine.Error() {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// The caller's deadline is the caller's, and never told as the plugin's limit.
func TestCallersDeadline(t *testing.T) {
	m := plugin(t, hosttest.Engine(t), hosttest.Loop, patient(1, 1))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := call(ctx, m, "", nil)
	_, limit := errors.AsType[*host.LimitError](err)
	if limit || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	_, err = call(ctx, m, "", nil) // over before it began
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// A call that waits for an instance can be given up alone: the one that runs goes on.
func TestQueuedCallCancelled(t *testing.T) {
	m := plugin(t, hosttest.Engine(t), begin(hosttest.Echo), patient(1, 1))
	running, finish := make(chan struct{}), make(chan struct{})
	var first []byte
	var firstErr error
	var wg sync.WaitGroup
	wg.Go(func() {
		first, firstErr = call(t.Context(), m, "first", onLog(func() { close(running); <-finish }))
	})
	<-running
	ctx, cancel := context.WithCancelCause(t.Context())
	cancelled := time.AfterFunc(time.Millisecond, func() { cancel(errMine) })
	defer cancelled.Stop()
	ran := false
	_, stats, err := m.Call(ctx, request("second"), onLog(func() { ran = true }), nil)
	if !errors.Is(err, errMine) || ran || stats.Memory != 0 {
		t.Errorf("queued: %v, ran: %v, %+v", err, ran, stats)
	}
	close(finish)
	wg.Wait()
	if firstErr != nil || string(first) != okReply("first") {
		t.Errorf("first: %q, %v", first, firstErr)
	}
}

// So many calls run at a time, and not one more.
func TestInstancesAtTheirEdge(t *testing.T) {
	const limit = 3
	m := plugin(t, hosttest.Engine(t), begin(hosttest.Echo), patient(1, limit))
	running, finish := make(chan struct{}, limit+1), make(chan struct{})
	var wg sync.WaitGroup
	for range limit + 1 {
		wg.Go(func() {
			obs := onLog(func() { running <- struct{}{}; <-finish })
			if _, err := call(t.Context(), m, "", obs); err != nil {
				t.Error(err)
			}
		})
	}
	for range limit {
		<-running
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := call(ctx, m, "", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one more ran: %v", err)
	}
	if len(running) != 0 {
		t.Error("more calls run than there may be instances")
	}
	close(finish)
	wg.Wait()
}

// Close waits for what runs, refuses what comes and what waits, and may be called again.
func TestCloseWaits(t *testing.T) {
	for name, closing := range map[string]func(*host.Engine, *host.Module) error{
		"module": func(_ *host.Engine, m *host.Module) error { return m.Close(context.Background()) },
		"engine": func(e *host.Engine, _ *host.Module) error { return e.Close(context.Background()) },
	} {
		e := hosttest.Engine(t)
		m := plugin(t, e, begin(hosttest.Echo), patient(1, 1))
		running, finish := make(chan struct{}), make(chan struct{})
		results := make(chan error, 2)
		go func() {
			_, err := call(t.Context(), m, "", onLog(func() { close(running); <-finish }))
			results <- err
		}()
		<-running
		go func() { // waits for an instance, until closing refuses it
			_, err := call(t.Context(), m, "", nil)
			results <- err
		}()
		closed := make(chan error)
		go func() { closed <- closing(e, m) }()
		if err := <-results; err != host.ErrClosed {
			t.Errorf("%s: the queued call: %v", name, err)
		}
		if _, err := call(t.Context(), m, "", nil); err != host.ErrClosed {
			t.Errorf("%s: a later call: %v", name, err)
		}
		select {
		case <-closed:
			t.Errorf("%s: closed while a call ran", name)
		default:
		}
		close(finish)
		if err := <-results; err != nil {
			t.Errorf("%s: the running call: %v", name, err)
		}
		if err := <-closed; err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := closing(e, m); err != nil {
			t.Errorf("%s, again: %v", name, err)
		}
	}
}

// Close with a context that is done ends what runs.
func TestCloseEndsCalls(t *testing.T) {
	m := plugin(t, hosttest.Engine(t), begin(hosttest.Loop), patient(time.Hour, 1))
	running, result := make(chan struct{}), make(chan error)
	go func() {
		_, err := call(t.Context(), m, "", onLog(func() { close(running) }))
		result <- err
	}()
	<-running
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.Close(done); err != nil {
		t.Error(err)
	}
	if err := <-result; err != host.ErrClosed {
		t.Errorf("%v", err)
	}
}

func TestClosedEngine(t *testing.T) {
	e := hosttest.Engine(t)
	m := plugin(t, e, hosttest.Echo, host.Policy{})
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := call(t.Context(), m, "", nil); err != host.ErrClosed {
		t.Errorf("call: %v", err)
	}
	if _, err := e.Compile(t.Context(), hosttest.Tiny("t"), host.Policy{}); err != host.ErrClosed {
		t.Errorf("compile: %v", err)
	}
}
