package host_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
)

// long says whether tests may take minutes, as they do in .ci/long.
func long() bool { return os.Getenv("WASMAGENT_LONG") != "" }

// stateful is a guest that counts its calls in a global and marks its memory, old and grown, and
// replies with what it found there, the count in front: {ok: arguments} if it has seen no call
// before. It grows by as many pages as the request is long, up to 7.
func stateful(k *hosttest.Kit) asm.Instr {
	count := k.Module.Global("i32", true, asm.I32Const(0))
	const mark, far = hosttest.Scratch, 60_000
	pages := asm.LocalGet(0) + asm.I32Const(7) + asm.I32And
	last := asm.MemorySize + asm.I32Const(1) + asm.I32Sub + asm.I32Const(16) + asm.I32Shl
	return asm.Seq(
		asm.GlobalGet(count), asm.I32Const(mark), asm.I32Load(0), asm.I32Or,
		last, asm.I32Load(far), asm.I32Or, asm.If(asm.Unreachable),
		asm.GlobalGet(count), asm.I32Const(1), asm.I32Add, asm.GlobalSet(count),
		asm.I32Const(mark), asm.GlobalGet(count), asm.I32Store(0),
		hosttest.ReadRequest(k),
		pages, asm.MemoryGrow, asm.Drop,
		last, asm.I32Load(far), asm.If(asm.Unreachable),
		last, asm.I32Const(-1), asm.I32Store(far),
		hosttest.Echo(k))
}

// many calls a module from 64 goroutines, n times in all. Every answer must be right.
func many(t *testing.T, n int, call func(text string) (string, error)) {
	t.Helper()
	const callers = 64
	var wg sync.WaitGroup
	for g := range callers {
		wg.Go(func() {
			for i := range n / callers {
				want := strings.Repeat("x", i%11) + fmt.Sprintf("%d of %d", i, g)
				if got, err := call(want); got != want || err != nil {
					t.Errorf("%s: %q, %v", want, got, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// manyCalls is how many calls must go right: 2,000, or 100,000 in .ci/long.
func manyCalls() int {
	if long() {
		return 100_000
	}
	return 2_048
}

// No call finds anything of another's, and after each the instance is its snapshot again, byte for
// byte.
func TestManyCallersOfAStatefulGuest(t *testing.T) {
	for _, cores := range []int{runtime.GOMAXPROCS(0), 1, 8} {
		t.Run(fmt.Sprintf("%d cores", cores), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
			m := plugin(t, verified(t), stateful, host.Policy{})
			mustRestore(t, m)
			many(t, manyCalls(), func(text string) (string, error) { return echoed(t, m, text) })
		})
	}
}

func mustRestore(t *testing.T, m *host.Module) {
	t.Helper()
	if road, why := m.Road(); road != host.Restored {
		t.Fatalf("calls are not restored: %v", why)
	}
}

// echoed calls a guest that echoes, and gives what the reply has of it.
func echoed(t *testing.T, m *host.Module, text string) (string, error) {
	reply, err := call(t.Context(), m, text, nil)
	if err != nil {
		return "", err
	}
	if string(reply) != okReply(text) {
		return "", errors.New("replied otherwise: " + string(reply))
	}
	return text, nil
}

// The same with a guest whose state is a whole run-time's.
func TestManyCallersOfAGoGuest(t *testing.T) {
	if !long() {
		t.Skip("for .ci/long")
	}
	e := open(t, host.New)
	m := hosttest.Compile(t, e, hosttest.GoPlugin(t, "testdata/goguest"), host.Policy{})
	mustRestore(t, m)
	many(t, manyCalls(), func(text string) (string, error) {
		got, err := callGo(t.Context(), m, "first", text)
		return strings.TrimPrefix(got, "call 1: "), err
	})
}

// Each way to restore that this system has gives the same answers, for a small guest and for one
// whose memory is larger than what is simply copied.
func TestRoads(t *testing.T) {
	for _, road := range host.RestoreRoads() {
		t.Run(road.String(), func(t *testing.T) {
			e := verified(t)
			host.ForceRoad(e, road)
			for _, pages := range []int{1, 40} {
				wasm := hosttest.Plugin{Name: "t", Pages: pages, Call: stateful}.Bytes()
				m := hosttest.Compile(t, e, wasm, host.Policy{})
				mustRestore(t, m)
				many(t, 640, func(text string) (string, error) { return echoed(t, m, text) })
			}
			for c := range hosttest.Hostile() {
				if c.Stage == "" && c.Cause != "limit.time" {
					if err := c.Try(t.Context(), e); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
}

// A guest that cannot be restored has a new instance for every call, and finds nothing there
// either.
func TestInstantiatedCalls(t *testing.T) {
	policy := host.Policy{Isolation: host.Instantiate}
	m := plugin(t, verified(t), stateful, policy)
	if road, _ := m.Road(); road != host.Instantiated {
		t.Fatalf("road %s", road)
	}
	many(t, 640, func(text string) (string, error) { return echoed(t, m, text) })
}
