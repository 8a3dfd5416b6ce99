package host_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
)

// 64 goroutines call a module that is closed under them, gently and not: each call is answered
// rightly, or refused or ended as closed.
func TestCloseWhileCalling(t *testing.T) {
	onCores(t, func(t *testing.T) {
		e := verified(t)
		for round := range 10 {
			m := plugin(t, e, stateful, host.Policy{Limits: host.Limits{Instances: 4}})
			ctx, cancel := context.WithCancel(t.Context())
			if round%2 == 1 {
				cancel() // close at once
			}
			var calls sync.WaitGroup
			answered := make(chan struct{}, 1)
			for g := range 64 {
				calls.Go(func() {
					for i := 0; ; i++ {
						text := fmt.Sprint(i, g)
						_, err := echoed(t, m, text)
						if err == host.ErrClosed {
							return
						} else if err != nil {
							t.Errorf("%s: %v", text, err)
							return
						}
						select {
						case answered <- struct{}{}:
						default:
						}
					}
				})
			}
			<-answered
			if err := m.Close(ctx); err != nil {
				t.Error(err)
			}
			if n := host.Idle(m); n != 0 {
				t.Errorf("%d instances idle in a closed module", n)
			}
			calls.Wait()
			cancel()
		}
		if n := host.MemoryInUse(e); n != 0 {
			t.Errorf("%d bytes are still booked", n)
		}
	})
}

// Modules that take memory from each other all the time, are closed and made anew, while all are
// called.
func TestEvictionUnderLoad(t *testing.T) {
	onCores(t, func(t *testing.T) {
		const pages = 40 // a caller needs up to 9, and those that idle would like 48
		e, err := host.New(t.Context(), &host.Config{Verify: true, Memory: pages * 65536})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close(context.Background())
		var large []*host.Module
		for i := range 6 {
			wasm := hosttest.Plugin{Name: fmt.Sprintf("large%d", i), Pages: 8}.Bytes()
			large = append(large, hosttest.Compile(t, e, wasm, host.Policy{}))
		}
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				for round := range 10 {
					for _, m := range large {
						if _, err := echoed(t, m, "x"); err != nil {
							t.Error(err)
						}
					}
					wasm := hosttest.Plugin{Name: fmt.Sprintf("t%d", g), Call: stateful}.Bytes()
					m, err := e.Compile(t.Context(), wasm, host.Policy{})
					if err != nil {
						t.Error(err)
						return
					}
					for i := range 20 {
						text := fmt.Sprintf("%*d", i, round)
						if _, err := echoed(t, m, text); err != nil {
							t.Errorf("%q: %v", text, err)
						}
					}
					if err := m.Close(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		idle := 0
		for _, m := range large {
			idle += host.Idle(m)
		}
		if n := host.MemoryInUse(e); idle > pages/8 || n != int64(idle)*8*65536 {
			t.Errorf("%d instances idle, %d bytes are booked", idle, n)
		}
	})
}

// Whatever a stage of loading fails at, a failed load leaves nothing.
func TestFailedLoadsLeaveNothing(t *testing.T) {
	e := verified(t)
	before := images(t)
	for c := range hosttest.Hostile() {
		if c.Stage == "" || c.Cause == "limit.load" {
			continue
		}
		for range 3 {
			if m, err := e.Compile(t.Context(), c.Wasm, c.Policy); err == nil {
				t.Errorf("%s: loaded: %v", c.Name, m)
			}
		}
		if n, m := images(t), host.MemoryInUse(e); n != before || m != 0 {
			t.Fatalf("%s: %d images, %d before; %d bytes booked", c.Name, n, before, m)
		}
	}
}

// soak does something often, and sees that the process is then as large as it was after the first
// tenth. What the Go run-time maps for itself, and keeps, is allowed for.
func soak(t *testing.T, times int, do func(i int)) {
	t.Helper()
	const moreMappings, moreBytes = 40, 24 << 20
	var first hosttest.Usage
	for i := range times {
		if i == times/10 {
			first = hosttest.Used(t)
		}
		do(i)
	}
	last := hosttest.Used(t)
	t.Logf("after %d: %+v; after %d: %+v", times/10, first, times, last)
	if last.Goroutines > first.Goroutines || last.Descriptors > first.Descriptors ||
		last.Mappings > first.Mappings+moreMappings || last.Resident > first.Resident+moreBytes {
		t.Errorf("it grew: %+v, %+v at first", last, first)
	}
}

// scaled is how often something is done: in .ci/long, and otherwise.
func scaled(inLong, otherwise int) int {
	if long() {
		return inLong
	}
	return otherwise
}

// Calls that end in every way leave nothing behind.
func TestSoakCalls(t *testing.T) {
	e := verified(t)
	var modules []*host.Module
	var cases []hosttest.Case
	for c := range hosttest.Hostile() {
		if c.Stage == "" && c.Cause != "limit.time" && c.Cause != "limit.stack" {
			modules = append(modules, hosttest.Compile(t, e, c.Wasm, c.Policy))
			cases = append(cases, c)
		}
	}
	soak(t, scaled(10_000, 500), func(i int) {
		m, c := modules[i%len(modules)], cases[i%len(modules)]
		_, _, err := m.Call(t.Context(), hosttest.Ask(hosttest.Bad), nil, nil)
		if (err != nil) != (c.Cause != "") {
			t.Errorf("%s: %v", c.Name, err)
		}
	})
}

// So do calls that overflow the stack, for which the engine takes much memory.
func TestSoakStack(t *testing.T) {
	if !long() {
		t.Skip("for .ci/long")
	}
	m := plugin(t, verified(t), hosttest.Recurse, host.Policy{})
	soak(t, 100, func(int) {
		_, err := call(t.Context(), m, "", nil)
		if limit, ok := errors.AsType[*host.LimitError](err); !ok || limit.Limit != "stack" {
			t.Error(err)
		}
	})
}

// Modules that come and go leave nothing behind, whether they are good or not.
func TestSoakLoads(t *testing.T) {
	e := verified(t)
	soak(t, scaled(1_000, 100), func(i int) {
		p := hosttest.Plugin{Name: fmt.Sprintf("t%d", i), Call: stateful}
		switch i % 5 {
		case 1:
			p.Initialize = hosttest.Trap
		case 2:
			p.Describe = hosttest.Silent
		case 3:
			p.Warmup = hosttest.Exit(1)
		}
		m, err := e.Compile(t.Context(), p.Bytes(), host.Policy{Limits: host.Limits{Load: time.Minute}})
		if bad := i%5 >= 1 && i%5 <= 3; bad != (err != nil) {
			t.Errorf("%d: %v", i, err)
		}
		if err != nil {
			return
		}
		if _, err := echoed(t, m, p.Name); err != nil {
			t.Error(err)
		}
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
