package host_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
)

const pageSize = 64 << 10

// budgeted is an engine whose guests have so many bytes of memory together.
func budgeted(t *testing.T, memory int64) *host.Engine {
	t.Helper()
	e, err := host.New(t.Context(), &host.Config{Memory: memory})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if left := host.MemoryInUse(e); left != 0 {
			t.Errorf("%d bytes are still booked", left)
		}
	})
	return e
}

// When a budget is used up, the instance that was used longest ago goes, whoever asks.
func TestBudgetGoesToWhoWorks(t *testing.T) {
	for _, c := range []struct {
		calls []int
		want  [3]int // idle instances at the end
	}{
		{nil, [3]int{0, 1, 1}}, // compiling used each once
		{[]int{0}, [3]int{1, 0, 1}},
		{[]int{0, 1}, [3]int{1, 1, 0}},
		{[]int{1, 2, 0}, [3]int{1, 0, 1}},
		{[]int{2, 1, 1, 0}, [3]int{1, 1, 0}},
	} {
		e := budgeted(t, 2*pageSize)
		var modules [3]*host.Module
		for i := range modules {
			modules[i] = hosttest.Compile(t, e, hosttest.Tiny(fmt.Sprint("t", i)), host.Policy{})
		}
		for _, i := range c.calls {
			if reply, err := call(t.Context(), modules[i], "hi", nil); string(reply) != okReply("hi") {
				t.Errorf("%v: %q, %v", c.calls, reply, err)
			}
		}
		for i, m := range modules {
			if got := host.Idle(m); got != c.want[i] {
				t.Errorf("%v: module %d has %d idle instances, want %d", c.calls, i, got, c.want[i])
			}
		}
	}
}

// A guest that grows takes what idles; with a byte too little in all it is refused, in words that
// name the setting, and by a limit that is not its own.
func TestBudgetAtItsEdge(t *testing.T) {
	grows := hosttest.Plugin{Name: "t", Call: hosttest.Then(hosttest.Grow(3), hosttest.OK)}.Bytes()
	for _, c := range []struct {
		memory int64
		fits   bool
	}{{4 * pageSize, true}, {4*pageSize - 1, false}} {
		e := budgeted(t, c.memory)
		m := hosttest.Compile(t, e, grows, host.Policy{})
		hosttest.Compile(t, e, hosttest.Tiny("idle"), host.Policy{})
		_, err := call(t.Context(), m, "", nil)
		limit, ok := errors.AsType[*host.LimitError](err)
		switch {
		case c.fits && err != nil:
			t.Errorf("%d bytes: %v", c.memory, err)
		case !c.fits && (!ok || limit.CauseName() != "limit.total" || limit.Max != c.memory ||
			limit.Asked != 4*pageSize || !strings.Contains(err.Error(), "Config.Memory")):
			t.Errorf("%d bytes: %v", c.memory, err)
		}
	}
}

// There is no room for an instance: a call ends with the limit, and so does a compile, which is no
// fault of the module's. With room again, both work.
func TestBudgetIsInUse(t *testing.T) {
	e := budgeted(t, pageSize)
	report := func(k *hosttest.Kit) asm.Instr {
		return k.Bytes(abi.AppendProgress(nil, &abi.Progress{})) + asm.Call(k.Progress)
	}
	other := hosttest.Compile(t, e, hosttest.Tiny("other"), host.Policy{})
	m := plugin(t, e, hosttest.Then(report, hosttest.Echo), host.Policy{})
	check := func(err error) {
		_, load := errors.AsType[*host.LoadError](err)
		limit, ok := errors.AsType[*host.LimitError](err)
		if load || !ok || limit.Limit != "total" {
			t.Errorf("%v", err)
		}
	}
	obs := &host.Observer{Progress: func(abi.Progress) {
		_, err := call(t.Context(), other, "hi", nil)
		check(err)
		_, err = e.Compile(t.Context(), hosttest.Tiny("third"), host.Policy{})
		check(err)
	}}
	if reply, err := call(t.Context(), m, "hi", obs); string(reply) != okReply("hi") {
		t.Errorf("%q, %v", reply, err)
	}
	if reply, err := call(t.Context(), other, "hi", nil); string(reply) != okReply("hi") {
		t.Errorf("%q, %v", reply, err)
	}
	hosttest.Compile(t, e, hosttest.Tiny("third"), host.Policy{})
}

// A stage of loading that cannot have memory since others have it is no fault of the module's.
func TestBudgetWhileLoading(t *testing.T) {
	e := budgeted(t, 2*pageSize)
	_, err := e.Compile(t.Context(), hosttest.Plugin{Name: "t", Initialize: hosttest.Grow(2)}.Bytes(),
		host.Policy{})
	_, load := errors.AsType[*host.LoadError](err)
	if limit, ok := errors.AsType[*host.LimitError](err); load || !ok || limit.Limit != "total" {
		t.Errorf("%v", err)
	}
}

// Many calls of several modules in a budget for few instances: each gets its answer or the limit,
// and what is booked at the end is what idles.
func TestBudgetUnderLoad(t *testing.T) {
	e := budgeted(t, 3*pageSize)
	var modules [4]*host.Module
	for i := range modules {
		modules[i] = hosttest.Compile(t, e, hosttest.Tiny(fmt.Sprint("t", i)), host.Policy{})
	}
	var all sync.WaitGroup
	for g := range 16 {
		all.Go(func() {
			for i := range 50 {
				want := fmt.Sprint(g, i)
				reply, err := call(t.Context(), modules[(g+i)%len(modules)], want, nil)
				if limit, ok := errors.AsType[*host.LimitError](err); ok && limit.Limit == "total" {
					continue
				}
				if string(reply) != okReply(want) {
					t.Errorf("%q, %v", reply, err)
				}
			}
		})
	}
	all.Wait()
	idle := 0
	for _, m := range modules {
		idle += host.Idle(m)
	}
	if got := host.MemoryInUse(e); got != int64(idle)*pageSize {
		t.Errorf("%d bytes are booked for %d idle instances", got, idle)
	}
}
