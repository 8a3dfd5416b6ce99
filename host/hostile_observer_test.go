package host_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
)

// talkative is a guest that tells every observer something, and then answers.
var talkative = hosttest.Then(hosttest.Log(abi.LevelInfo, "log"), hosttest.Print(1, "out"),
	func(k *hosttest.Kit) asm.Instr {
		return k.Bytes(abi.AppendProgress(nil, &abi.Progress{Done: 1})) + asm.Call(k.Progress)
	}, hosttest.Echo)

// telling are observers that do the same, whichever of their functions is called.
func telling(f func()) map[string]*host.Observer {
	return map[string]*host.Observer{
		"log":      {Log: func(abi.Level, string) { f() }},
		"output":   {Output: func(bool, []byte) { f() }},
		"progress": {Progress: func(abi.Progress) { f() }},
	}
}

// An observer's panic is no fault of the plugin's, and ends nothing but the call.
func TestObserverPanics(t *testing.T) {
	onCores(t, func(t *testing.T) {
		m := plugin(t, verified(t), talkative, patient(1, 1))
		for name, obs := range telling(func() { panic("a bug") }) {
			for range 5 {
				_, err := call(t.Context(), m, "", obs)
				if _, guilty := errors.AsType[causeNamer](err); guilty || err == nil ||
					!strings.Contains(err.Error(), "an observer panicked: a bug") {
					t.Errorf("%s: %v", name, err)
				}
			}
			if reply, err := call(t.Context(), m, "next", nil); string(reply) != okReply("next") {
				t.Errorf("%s: afterwards %q, %v", name, reply, err)
			}
		}
	})
}

// An observer that ends its goroutine, as a failing test does, keeps neither slot nor turn nor
// memory.
func TestObserverEndsItsGoroutine(t *testing.T) {
	onCores(t, func(t *testing.T) {
		m := plugin(t, verified(t), talkative, patient(1, 1))
		for name, obs := range telling(runtime.Goexit) {
			for range 5 {
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					_, _ = call(t.Context(), m, "", obs)
				}()
				<-ended
			}
			if reply, err := call(t.Context(), m, "next", nil); string(reply) != okReply("next") {
				t.Errorf("%s: afterwards %q, %v", name, reply, err)
			}
		}
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// An observer may call the very module that it observes.
func TestObserverCallsBack(t *testing.T) {
	onCores(t, func(t *testing.T) {
		m := plugin(t, verified(t), talkative, patient(1, 4))
		var depth int
		var call3 func()
		call3 = func() {
			if depth == 3 {
				return
			}
			depth++
			defer func() { depth-- }()
			text := strings.Repeat("x", depth)
			reply, err := call(t.Context(), m, text, telling(call3)["log"])
			if err != nil || string(reply) != okReply(text) {
				t.Errorf("%s: %q, %v", text, reply, err)
			}
		}
		call3()
	})
}

// A logger, which is told what no observer takes, holds no guest's turn while it writes.
func TestSlowLoggerStallsNobody(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	writing, written := make(chan struct{}), make(chan struct{})
	e, err := host.New(t.Context(), &host.Config{Logger: onWrite(func() { close(writing); <-written })})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(context.Background())
	slow := plugin(t, e, begin(hosttest.Echo), patient(1, 1))
	good := plugin(t, e, hosttest.Echo, host.Policy{})
	var calls sync.WaitGroup
	calls.Go(func() {
		if _, err := call(t.Context(), slow, "", nil); err != nil {
			t.Error(err)
		}
	})
	<-writing
	if reply, err := call(t.Context(), good, "hi", nil); string(reply) != okReply("hi") {
		t.Errorf("%q, %v", reply, err)
	}
	close(written)
	calls.Wait()
}

// What a call brought with it does not stay: neither its answer's buffer, nor its observer.
func TestNothingOfACallStays(t *testing.T) {
	m := plugin(t, verified(t), talkative, patient(1, 1))
	for name, size := range map[string]int{"answered": 1 << 20, "too large": host.DefaultRequest + 1} {
		dst := new([1 << 20]byte)
		gone := make(chan struct{})
		runtime.AddCleanup(dst, func(c chan struct{}) { close(c) }, gone)
		obs := &host.Observer{Output: func(bool, []byte) { dst[0]++ }}
		_, _, err := m.Call(t.Context(), request(strings.Repeat("x", size)), obs, dst[:0])
		if (err != nil) != (name == "too large") {
			t.Error(err)
		}
		obs, dst = nil, nil
		for collected := false; !collected; {
			runtime.GC()
			select {
			case <-gone:
				collected = true
			case <-time.After(time.Millisecond):
			}
		}
	}
	if n := host.Idle(m); n != 1 {
		t.Errorf("%d idle instances", n)
	}
}

// A call that never got its turn says so, and claims to have used nothing.
func TestStatsOfACallThatNeverRan(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	e := verified(t)
	busy := plugin(t, e, begin(hosttest.Loop), patient(1, 1))
	m := plugin(t, e, hosttest.Echo, patient(1, 1))
	if _, err := call(t.Context(), m, "uses fuel", nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	running, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := call(ctx, busy, "", onLog(func() { close(running) }))
		ended <- err
	}()
	<-running
	for waited := false; !waited; { // whether for a slot or for its turn is chance
		late := &lateContext{Context: t.Context(), done: make(chan struct{})}
		_, stats, err := m.Call(late, request("x"), nil, nil)
		if !errors.Is(err, errMine) || stats.Fuel != 0 {
			t.Errorf("%+v, %v", stats, err)
		}
		waited = stats.Memory > 0
	}
	cancel(errMine)
	<-ended
}

// lateContext is done from its second look on: when a call has an instance and waits for its turn.
type lateContext struct {
	context.Context
	looks int
	done  chan struct{}
}

func (c *lateContext) Err() error {
	if c.looks++; c.looks == 2 {
		close(c.done)
	}
	if c.looks >= 2 {
		return errMine
	}
	return nil
}

func (c *lateContext) Done() <-chan struct{} {
	_ = c.Err()
	return c.done
}

// What a guest was refused because all guests together have too much is told as that, and what
// idles is given up before.
func TestSharedBudget(t *testing.T) {
	const pages = 40
	e, err := host.New(t.Context(), &host.Config{Memory: pages * 65536, Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(context.Background())
	idle := plugin(t, e, hosttest.Then(hosttest.Grow(4), hosttest.Echo), host.Policy{})
	if _, err := call(t.Context(), idle, "", nil); err != nil {
		t.Fatal(err)
	}
	// all but the one page that it begins with, and so all that the idle one has
	m := plugin(t, e, hosttest.OnBad(hosttest.Then(hosttest.Grow(pages-1), hosttest.OK)), host.Policy{})
	if _, err := call(t.Context(), m, "bad", nil); err != nil {
		t.Errorf("all there is, with an idle instance: %v", err)
	}
	more := plugin(t, e, hosttest.OnBad(hosttest.Then(hosttest.Grow(pages), hosttest.OK)), host.Policy{})
	_, err = call(t.Context(), more, "bad", nil)
	limit, ok := errors.AsType[*host.LimitError](err)
	if !ok || limit.Limit != "total" || limit.Max != pages*65536 ||
		!strings.Contains(limit.Error(), "Config.Memory") {
		t.Errorf("one page more than there is: %v", err)
	}
	if _, err := call(t.Context(), idle, "", nil); err != nil {
		t.Errorf("the one that was given up: %v", err)
	}
}

// A call that nested deep leaves the engine's stack behind, not with the instance.
func TestDeepStackIsGivenBack(t *testing.T) {
	deep := func(k *hosttest.Kit) asm.Instr { // two million calls, which is short of the limit
		self := k.Module.NextFunc()
		k.Module.Func("i32 -> i32", "", asm.LocalGet(0), asm.I32Eqz, asm.If(asm.I32Const(0), asm.Return),
			asm.LocalGet(0), asm.I32Const(1), asm.I32Sub, asm.Call(self), asm.I32Const(1), asm.I32Add)
		return asm.I32Const(1_000_000) + asm.Call(self) + asm.Drop + hosttest.Echo(k)
	}
	m := plugin(t, verified(t), deep, host.Policy{})
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return int64(s.HeapAlloc)
	}
	before := heap()
	if reply, err := call(t.Context(), m, "x", nil); string(reply) != okReply("x") {
		t.Fatalf("%q, %v", reply, err)
	}
	if kept := heap() - before; kept > 8<<20 {
		t.Errorf("%d MiB stay with an instance that idles", kept>>20)
	}
	if host.Idle(m) != 1 {
		t.Error("the instance was not kept")
	}
	runtime.KeepAlive(m)
}

// A guest may use all of its fuel, and not one unit more.
func TestFuelAtItsEdge(t *testing.T) {
	e := verified(t)
	m := plugin(t, e, hosttest.Then(hosttest.Times(3_000_000, hosttest.Silent), hosttest.Echo), host.Policy{})
	_, stats, err := m.Call(t.Context(), request("x"), nil, nil)
	if err != nil || stats.Fuel < 5_000_000 {
		t.Fatalf("%+v, %v", stats, err)
	}
	wasm := hosttest.Plugin{Name: "t", Call: hosttest.Then(
		hosttest.Times(3_000_000, hosttest.Silent), hosttest.Echo)}.Bytes()
	at := hosttest.Compile(t, e, wasm, host.Policy{Limits: host.Limits{Fuel: stats.Fuel}})
	past := hosttest.Compile(t, e, wasm, host.Policy{Limits: host.Limits{Fuel: stats.Fuel - 1}})
	reply, again, err := at.Call(t.Context(), request("x"), nil, nil)
	if err != nil || string(reply) != okReply("x") || again.Fuel != stats.Fuel {
		t.Errorf("at its limit: %q, %+v, %v", reply, again, err)
	}
	_, _, err = past.Call(t.Context(), request("x"), nil, nil)
	limit, ok := errors.AsType[*host.LimitError](err)
	if !ok || limit.Limit != "fuel" || limit.Max != stats.Fuel-1 {
		t.Errorf("one past its limit: %v", err)
	}
}

// onWrite is a logger that does something with every record.
func onWrite(f func()) *slog.Logger { return slog.New(writeHandler{slog.DiscardHandler, f}) }

type writeHandler struct {
	slog.Handler
	write func()
}

func (writeHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h writeHandler) Handle(context.Context, slog.Record) error {
	h.write()
	return nil
}
