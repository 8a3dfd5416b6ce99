package host_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
)

// One module serves any number of goroutines, and each gets its own answer.
func TestManyCallers(t *testing.T) {
	m := plugin(t, hosttest.Engine(t), hosttest.Echo, host.Policy{})
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			for i := range 25 {
				want := fmt.Sprintf("%d of %d", i, g)
				if reply, err := call(t.Context(), m, want, nil); string(reply) != okReply(want) {
					t.Errorf("%s: %q, %v", want, reply, err)
				}
			}
		})
	}
	wg.Wait()
}

// Goroutines that make, call and close modules of the same bytes and of their own, at the same
// time.
func TestCompileAndCloseConcurrently(t *testing.T) {
	e := hosttest.Engine(t)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 20 {
				name := "shared"
				if i%2 == 1 {
					name = fmt.Sprintf("own%d", g)
				}
				m, err := e.Compile(t.Context(), hosttest.Tiny(name), host.Policy{})
				if err != nil {
					t.Error(err)
					return
				}
				if reply, err := call(t.Context(), m, name, nil); string(reply) != okReply(name) {
					t.Errorf("%s: %q, %v", name, reply, err)
				}
				if err := m.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
