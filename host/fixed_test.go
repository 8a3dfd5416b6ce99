package host_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
)

// fixed is a policy under which nothing is left to chance.
func fixed(isolation host.Isolation) host.Policy {
	return host.Policy{Isolation: isolation,
		Limits: host.Limits{Time: time.Hour, Load: time.Hour},
		Fixed:  &host.Fixed{Time: time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC), Seed: [32]byte{7}}}
}

// roll is a call's reply and fuel.
func roll(t *testing.T, m *host.Module, req abi.Request) string {
	t.Helper()
	reply, stats, err := m.Call(t.Context(), req, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d units of fuel: %q", stats.Fuel, reply)
}

// rolls are those of one module: of instances that were used and restored, and, since two calls run
// at the same time, of more than one.
func rolls(t *testing.T, m *host.Module, req abi.Request) map[string]int {
	t.Helper()
	seen := map[string]int{}
	for range 3 {
		seen[roll(t, m, req)]++
	}
	again := func() { seen[roll(t, m, req)]++ }
	nested := &host.Observer{Log: func(abi.Level, string) { again() }, Output: func(bool, []byte) { again() }}
	if _, _, err := m.Call(t.Context(), req, nested, nil); err != nil {
		t.Fatal(err)
	}
	if road, _ := m.Road(); road == host.Restored && host.Idle(m) < min(2, runtime.GOMAXPROCS(0)) {
		t.Error("all calls had the same instance")
	}
	return seen
}

// dice is a tiny guest that logs, and replies with a random number and how it found the time to be.
var dice = hosttest.Then(hosttest.Log(abi.LevelInfo, "rolling"), hosttest.Sleep(int64(time.Hour)),
	hosttest.Times(1000, hosttest.Silent), randomReply)

// With time and chance fixed, a request takes the same fuel and gives the same reply: in every
// call, in a new engine, compiled or interpreted, restored or not.
func TestFixed(t *testing.T) {
	wasm := hosttest.Plugin{Name: "t", Call: dice}.Bytes()
	same := map[string]int{}
	for name, make := range map[string]func(context.Context, *host.Config) (*host.Engine, error){
		"compiled": host.New, "again": host.New, "interpreted": host.NewInterpreted,
	} {
		for _, isolation := range []host.Isolation{host.Snapshot, host.Instantiate} {
			m := hosttest.Compile(t, open(t, make), wasm, fixed(isolation))
			got := rolls(t, m, request("x"))
			if len(got) != 1 {
				t.Errorf("%s: %v", name, got)
			}
			for roll := range got {
				same[fmt.Sprint(isolation, roll)]++
			}
		}
	}
	if len(same) != 2 { // a snapshot's randomness begins after the photograph
		t.Errorf("%v", same)
	}
	p := fixed(host.Snapshot)
	p.Fixed.Seed[0]++
	other := roll(t, hosttest.Compile(t, verified(t), wasm, p), request("x"))
	if same[fmt.Sprint(host.Snapshot, other)] > 0 {
		t.Error("another seed gives the same")
	}
}

// The same for a guest with a run-time of its own, that reads clocks, shuffles its maps and rolls
// dice.
func TestFixedGoGuest(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and compiles a Go plugin")
	}
	wasm := hosttest.GoPlugin(t, "testdata/goguest")
	input := abi.AppendString(abi.AppendString(abi.AppendMapHeader(nil, 1), "text"), "x")
	req := abi.Request{Tool: "dice", Attempt: 1, Input: input}
	all := map[string]int{}
	var engines []*host.Engine
	if long() { // it takes its time
		engines = append(engines, open(t, host.NewInterpreted))
	}
	engines = append(engines, hosttest.CachedEngine(t), hosttest.CachedEngine(t))
	for i, e := range engines {
		m := hosttest.Compile(t, e, wasm, fixed(host.Snapshot))
		mustRestore(t, m)
		for got, n := range rolls(t, m, req) {
			all[got] += n
			if !strings.Contains(got, " x") {
				t.Errorf("engine %d: %s", i, got)
			}
		}
	}
	if len(all) != 1 {
		t.Errorf("%d different answers: %v", len(all), all)
	}
	m := hosttest.Compile(t, engines[0], wasm, fixed(host.Instantiate))
	if got := rolls(t, m, req); len(got) != 1 {
		t.Errorf("instantiated: %v", got)
	}
	free := hosttest.Compile(t, engines[0], wasm, host.Policy{})
	if first := roll(t, free, req); first == roll(t, free, req) {
		t.Error("with nothing fixed, dice fall the same, so this shows nothing")
	}
}

// A guest that sleeps, and one whose timer was set before the snapshot, wake up in every call, and
// never see time go back.
func TestGoGuestTimers(t *testing.T) {
	m := goGuest(t, host.Policy{})
	mustRestore(t, m)
	var last time.Duration
	for i := range 50 {
		text, err := callGo(t.Context(), m, "nap", "")
		if err != nil {
			t.Fatal(err)
		}
		var age time.Duration
		var fired int
		if _, err := fmt.Sscan(text, &age, &fired); err != nil {
			t.Fatal(err)
		}
		if age < last+3*time.Millisecond || fired != 1 {
			t.Errorf("call %d: %v old after %v, the timer fired %d times", i, age, last, fired)
		}
		last = age
	}
}

func randomReply(k *hosttest.Kit) asm.Instr {
	return asm.I32Const(hosttest.Scratch) + asm.I32Const(16) + asm.Call(k.Random) + asm.Drop +
		hosttest.ReplyRange(hosttest.Scratch, 16)(k)
}
