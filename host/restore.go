package host

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host/internal/snapshot"
	"github.com/wasmagent/wasmagent/host/internal/wasi"
)

// Road is how a module's calls get their fresh state.
type Road string

const (
	Restored     Road = "snapshot"    // what the last call wrote is put back
	Instantiated Road = "instantiate" // every call has a new instance
)

// image is what every call of a restored module begins with.
type image struct {
	memory  *snapshot.Image
	globals []uint64
	fixed   wasi.Fixed // time and randomness, for a policy that has them fixed
}

// photograph makes of a first instance, after all stages of loading, the image of all others, and
// the first of them.
func (m *Module) photograph(in *instance) error {
	view, ok := in.mod.Memory().Read(0, uint32(in.memory.Size()))
	if !ok {
		return errors.New("snapshot: the memory cannot be read")
	}
	memory, err := snapshot.NewImage(view)
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	m.image = &image{memory: memory}
	for _, g := range in.globals {
		m.image.globals = append(m.image.globals, g.Get())
	}
	if in.wasi.Fixed != nil {
		m.image.fixed = in.wasi.Fixed.Fork()
	}
	if err := in.memory.Adopt(memory); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	in.begins(m.image)
	return m.release(in)
}

// begins gives the instance the image's time and randomness.
func (in *instance) begins(i *image) {
	if in.module.policy.Fixed != nil {
		fixed := i.fixed
		in.wasi.Fixed = &fixed
	}
}

// acquire makes an instance in the state that every call begins with. What it says while it
// initialises was heard when the module was loaded.
func (m *Module) acquire(ctx context.Context) (*instance, error) {
	if m.image == nil {
		in, err := m.newInstance(ctx, &Observer{Log: func(abi.Level, string) {}})
		if load, ok := errors.AsType[*LoadError](err); ok {
			// It could be loaded once, so the fault is this call's.
			return nil, fmt.Errorf("%s: %w", load.Stage, load.Err)
		}
		return in, err
	}
	return m.clone()
}

// clone makes an instance from the image.
func (m *Module) clone() (*instance, error) {
	memory, err := m.newMemory(m.image.memory)
	if err != nil {
		return nil, err
	}
	in, err := m.instantiate(memory)
	if err != nil {
		return nil, fmt.Errorf("clone: %w", engineError(err))
	}
	for i, g := range in.globals {
		g.Set(m.image.globals[i])
	}
	in.begins(m.image)
	return in, nil
}

// What a call can use and not have nested deep: units of fuel, at 16 bytes and more a frame less
// than 4 MiB; or time, in which a stack of more than some 10 MiB cannot even be copied as it grows.
// Go's guests are charged for far more than they do, so fuel alone does not tell.
const (
	shallowFuel = 1 << 18
	shallowTime = time.Millisecond
)

// wasDeep says whether the call may have grown a stack that is not worth keeping. The engine keeps
// it with the function.
func (in *instance) wasDeep() bool {
	return in.fuelUsed() > shallowFuel && time.Since(in.run.began) > shallowTime
}

// release takes an instance back after a call: restored, for the next one, or closed.
func (m *Module) release(in *instance) error {
	if m.image == nil || in.broken {
		in.unlock()
		in.close()
		return nil
	}
	if in.wasDeep() {
		if in.call != nil {
			in.call = in.mod.ExportedFunction(abi.ExportCall)
		}
		in.entries = nil
	}
	in.rest()
	err := in.restore()
	in.unlock() // as long as it is this goroutine's
	if err != nil || !m.push(in) {
		in.close()
	}
	return err
}

// restore puts back what the call changed: memory, globals, and what WASI keeps of descriptors.
func (in *instance) restore() error {
	image := in.module.image
	if err := in.memory.Restore(in.mod.Memory()); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	for i, g := range in.globals {
		g.Set(image.globals[i])
	}
	in.wasi.Reset()
	if in.module.engine.verify {
		return in.check()
	}
	return nil
}

// check compares the instance with its image.
func (in *instance) check() error {
	if err := in.memory.Verify(); err != nil {
		return fmt.Errorf("restored wrongly: %w", err)
	}
	for i, g := range in.globals {
		if want := in.module.image.globals[i]; g.Get() != want {
			return fmt.Errorf("restored wrongly: global %d is %d, was %d", i, g.Get(), want)
		}
	}
	return nil
}

// pop takes the instance that was used last, whose pages are the warmest.
func (m *Module) pop() *instance {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := len(m.free) - 1
	if n < 0 {
		return nil
	}
	in := m.free[n]
	m.free[n] = nil
	m.free = m.free[:n]
	return in
}

// push keeps an instance, unless there are more than can run at a time.
func (m *Module) push(in *instance) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone || len(m.free) >= runtime.GOMAXPROCS(0) {
		return false
	}
	m.used = m.engine.uses.Add(1)
	m.free = append(m.free, in)
	return true
}
