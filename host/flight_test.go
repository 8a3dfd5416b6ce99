package host_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
)

// Whoever compiles the same bytes at the same time, stamped or not, under whatever policy, shares
// one compile; other bytes have their own.
func TestOneFlightForEachHash(t *testing.T) {
	for name, e := range map[string]*host.Engine{
		"in memory": hosttest.Engine(t),
		"on disk":   withChild(t, host.Config{CacheDir: t.TempDir(), CacheKey: cacheKey}),
	} {
		var modules [64]*host.Module
		var all sync.WaitGroup
		for i := range modules {
			all.Go(func() {
				p := hosttest.Plugin{Name: fmt.Sprint("t", i%4), Stamp: i%8 < 4}
				policy := host.Policy{Limits: host.Limits{Fuel: int64(i%3) * 1e9}}
				m, err := e.Compile(t.Context(), p.Bytes(), policy)
				if err != nil {
					t.Error(err)
					return
				}
				modules[i] = m
			})
		}
		all.Wait()
		if t.Failed() {
			return
		}
		for i, m := range modules {
			if !host.SameCode(m, modules[i%4]) {
				t.Errorf("%s: module %d was compiled again", name, i)
			}
			if host.SameCode(m, modules[(i+1)%4]) {
				t.Errorf("%s: module %d shares another's code", name, i)
			}
		}
	}
}

// A child is started once for all who want what it makes.
func TestOneChildForEachHash(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "log")
	e := withChild(t, host.Config{CompileCommand: []string{"sh", "-c",
		`echo >> "$0"; exec "$1" __compile`, log, self}})
	wasm := longBody(softBody + 1)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := e.Compile(t.Context(), wasm, host.Policy{}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if b, err := os.ReadFile(log); err != nil || !bytes.Equal(b, []byte("\n")) {
		t.Errorf("the command ran %d times: %v", len(b), err)
	}
}

// Whatever a compile is at when its engine is closed, it ends, and is told why.
func TestCloseWhileLoading(t *testing.T) {
	idle := host.Config{CompileCommand: []string{"sleep", "3600"}}
	loop := func(change func(*hosttest.Plugin)) []byte {
		p := hosttest.Plugin{Name: "t"}
		change(&p)
		return p.Bytes()
	}
	for _, c := range []struct {
		name  string
		cfg   host.Config
		wasms [][]byte
		ready func(e *host.Engine) bool
	}{
		{"in a child, and waiting for one", idle,
			[][]byte{longBody(softBody + 1), longBody(softBody + 2)},
			func(e *host.Engine) bool { return host.ChildrenRunning(e) == 1 }},
		{"start", host.Config{},
			[][]byte{loop(func(p *hosttest.Plugin) { p.Start = hosttest.Loop })},
			func(e *host.Engine) bool { return host.Loading(e) == 1 }},
		{"initialize", host.Config{},
			[][]byte{loop(func(p *hosttest.Plugin) { p.Initialize = hosttest.Sleep(1 << 62) })},
			func(e *host.Engine) bool { return host.Loading(e) == 1 }},
		{"describe", host.Config{},
			[][]byte{loop(func(p *hosttest.Plugin) { p.Describe = hosttest.Loop })},
			func(e *host.Engine) bool { return host.Loading(e) == 1 }},
		{"warmup", host.Config{},
			[][]byte{loop(func(p *hosttest.Plugin) { p.Warmup = hosttest.Sleep(1 << 62) })},
			func(e *host.Engine) bool { return host.Loading(e) == 1 }},
	} {
		e, err := host.New(t.Context(), &c.cfg)
		if err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, len(c.wasms))
		for _, wasm := range c.wasms {
			go func() {
				_, err := e.Compile(context.Background(), wasm,
					host.Policy{Limits: host.Limits{Load: time.Hour}})
				failed <- err
			}()
		}
		for !c.ready(e) {
			runtime.Gosched()
		}
		now, cancel := context.WithCancel(t.Context())
		cancel() // waits for nothing
		if err := e.Close(now); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		for range c.wasms {
			if err := <-failed; !errors.Is(err, host.ErrClosed) {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}
