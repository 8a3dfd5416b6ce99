package host_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
)

// onCores runs a test as the machine is and once more with a single thread for Go code, where
// whoever does not give it up stops everybody.
func onCores(t *testing.T, test func(t *testing.T)) {
	t.Run("all cores", test)
	t.Run("one core", func(t *testing.T) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		test(t)
	})
}

// open makes an engine that compares every instance with its snapshot, and sees at the test's end
// that nothing is left of it: no booked memory, no image, no descriptor. Goroutines are TestMain's
// to find.
func open(t testing.TB, make func(context.Context, *host.Config) (*host.Engine, error)) *host.Engine {
	t.Helper()
	before := images(t)
	e, err := make(t.Context(), &host.Config{Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Errorf("closing the engine: %v", err)
		}
		if n := host.MemoryInUse(e); n != 0 {
			t.Errorf("%d bytes of guests' memory are still booked", n)
		}
		if after := images(t); after != before {
			t.Errorf("mappings and descriptors of snapshots: %d, and %d before", after, before)
		}
	})
	return e
}

func verified(t testing.TB) *host.Engine { return open(t, host.New) }

// images counts the mappings and the open descriptors of snapshots' images in this process. Other
// systems than Linux have neither.
func images(t testing.TB) (n int) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	const name = "memfd:wasmagent-image"
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	n = bytes.Count(maps, []byte(name))
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && strings.Contains(to, name) {
			n++
		}
	}
	return n
}

// Each hostile plugin gets its answer, and afterwards all is as if nothing had happened: its own
// next calls, another plugin, and what is left in the process.
func TestHostile(t *testing.T) {
	onCores(t, func(t *testing.T) {
		e := verified(t)
		good := plugin(t, e, hosttest.Echo, host.Policy{})
		before := images(t)
		for c := range hosttest.Hostile() {
			if err := c.Try(t.Context(), e); err != nil {
				t.Error(err)
			}
			if reply, err := call(t.Context(), good, c.Name, nil); string(reply) != okReply(c.Name) {
				t.Fatalf("after %s another plugin answers %q, %v", c.Name, reply, err)
			}
			if after := images(t); after != before {
				t.Fatalf("%s left something behind: %d, and %d before", c.Name, after, before)
			}
		}
	})
}

// The kit itself is held: an engine that gave a wrong answer would be found out.
func TestHostileCasesCanFail(t *testing.T) {
	e := hosttest.Engine(t)
	n := 0
	for c := range hosttest.Hostile() {
		n++
		wrong := c
		switch {
		case c.Stage != "":
			wrong.Stage = "elsewhere"
		case c.Cause != "":
			wrong.Cause = "another"
		default:
			wrong.Reply = []byte("another")
		}
		if n%5 == 0 && wrong.Try(t.Context(), e) == nil {
			t.Errorf("%s: any answer will do", c.Name)
		}
	}
	if n < 100 {
		t.Errorf("only %d hostile plugins", n)
	}
}

// However a guest spins, another plugin's calls are answered, other goroutines run and the garbage
// collector gets through, before anybody ends it; and then it ends.
func TestSpinningGuestStallsNobody(t *testing.T) {
	onCores(t, func(t *testing.T) {
		e := verified(t)
		good := plugin(t, e, hosttest.Echo, host.Policy{})
		for _, c := range hosttest.Spinning() {
			t.Run(c.Name, func(t *testing.T) { spin(t, e, good, c) })
		}
	})
}

func spin(t *testing.T, e *host.Engine, good *host.Module, c hosttest.Case) {
	c.Policy.Limits.Grace = 1
	m := hosttest.Compile(t, e, c.Wasm, c.Policy)
	defer m.Close(context.Background())
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	ended := make(chan error, 1)
	go func() {
		_, _, err := m.Call(ctx, hosttest.Ask(hosttest.Bad), nil, nil)
		ended <- err
	}()
	for i := range 5 {
		text := fmt.Sprint(i)
		if reply, err := call(t.Context(), good, text, nil); string(reply) != okReply(text) {
			t.Errorf("meanwhile another plugin answers %q, %v", reply, err)
		}
		runtime.GC()
	}
	select {
	case err := <-ended:
		t.Errorf("it did not spin: %v", err)
		return
	default:
	}
	cancel(errMine)
	if err := <-ended; !errors.Is(err, errMine) {
		t.Errorf("it ended with %v", err)
	}
}

// A guest that computes hands its thread over to others again and again: counted, not timed.
func TestSpinningGuestHandsOver(t *testing.T) {
	const slices = 40 // of about five milliseconds of work each
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	m := plugin(t, verified(t), hosttest.Loop,
		host.Policy{Limits: host.Limits{Time: time.Hour, Fuel: slices * 5_000_000}})
	var turns atomic.Int64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				turns.Add(1)
				runtime.Gosched()
			}
		}
	}()
	_, err := call(t.Context(), m, "", nil)
	close(stop)
	<-stopped
	limit, ok := errors.AsType[*host.LimitError](err)
	if !ok || limit.Limit != "fuel" {
		t.Error(err)
	}
	if got := turns.Load(); got < slices/2 {
		t.Errorf("another goroutine ran %d times while the guest used %d slices", got, slices)
	}
}
