package host_test

import (
	"context"
	"runtime/pprof"
	"sync"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
)

// A guest that waits, for the world or for an observer, keeps no thread of the system: there may be
// any number of them, and a process that has 10,000 threads is ended by Go.
func TestWaitingGuestsKeepNoThreads(t *testing.T) {
	const guests = 200
	const hour = 3_600_000_000_000
	wasm := hosttest.Plugin{Name: "t", Pages: 40,
		Call: hosttest.Then(hosttest.Log(abi.LevelInfo, "here"), hosttest.Sleep(hour))}.Bytes()
	m := hosttest.Compile(t, hosttest.Engine(t), wasm, host.Policy{
		Limits: host.Limits{Instances: guests, LogRate: 2 * guests, Memory: 40 * pageSize}})
	mustRestore(t, m)
	ctx, cancel := context.WithCancel(t.Context())
	before := pprof.Lookup("threadcreate").Count()
	var all, here sync.WaitGroup
	here.Add(guests)
	obs := &host.Observer{Log: func(abi.Level, string) {
		here.Done()
		here.Wait()
	}}
	for range guests {
		all.Go(func() { _, _, _ = m.Call(ctx, request(""), obs, nil) })
	}
	here.Wait() // all are in the observer, or sleep
	if made := pprof.Lookup("threadcreate").Count() - before; made > guests/2 {
		t.Errorf("%d threads were made for %d guests that wait", made, guests)
	}
	cancel()
	all.Wait()
}
