package host

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"

	"github.com/tetratelabs/wazero"

	"github.com/wasmagent/wasmagent/abi/abihost"
	"github.com/wasmagent/wasmagent/host/internal/rewrite"
)

// digest is a module's identity: SHA-256 of its bytes.
type digest = [sha256.Size]byte

// code is a compiled module. Modules of the same bytes share it, whatever their policies and
// whether they are stamped with a manifest or not.
type code struct {
	digest   digest        // of the bytes without a manifest
	plan     rewrite.Plan  // what was lifted out of it
	blockers []string      // why its instances cannot be restored
	users    int           // under Engine.mu; the code is dropped when nobody is left
	ready    chan struct{} // closed when compiled and err are set
	compiled wazero.CompiledModule
	err      error
}

// code gives the compiled form of a module, compiling it if nobody else has or does. The engine
// cannot bear two compiles of the same bytes at a time.
func (e *Engine) code(ctx context.Context, wasm []byte, facts *rewrite.Facts) (*code, error) {
	wasm, err := abihost.Bare(wasm)
	if err != nil {
		return nil, &LoadError{Stage: "preflight", Err: err}
	}
	sum := sha256.Sum256(wasm)
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil, ErrClosed
	}
	c := e.codes[sum]
	if c == nil {
		c = &code{digest: sum, blockers: facts.Blockers(), ready: make(chan struct{})}
		e.codes[sum] = c
		c.users++ // the build itself, so that the code cannot go while it is made
		wasm = bytes.Clone(wasm)
		e.builds.Go(func() { e.build(c, wasm, facts) })
	}
	c.users++
	e.mu.Unlock()

	select {
	case <-c.ready:
	case <-ctx.Done():
		e.release(c)
		return nil, cancelled(ctx)
	}
	if c.err == nil {
		return c, nil
	}
	e.release(c)
	if _, disk := errors.AsType[*fs.PathError](c.err); disk || c.err == ErrClosed {
		return nil, c.err // not the module's fault
	}
	return nil, &LoadError{Stage: "compile", Err: engineError(c.err)}
}

func (e *Engine) build(c *code, wasm []byte, facts *rewrite.Facts) {
	e.workers <- struct{}{}
	defer func() { <-e.workers }()
	c.err = guard(func() (err error) {
		if e.isClosed() {
			return ErrClosed
		}
		if facts.Size != len(wasm) { // they are of the stamped form
			if facts, err = preflight(wasm); err != nil {
				return err
			}
		}
		if len(facts.Oversize) > 0 {
			return facts.Oversize[0]
		}
		if wasm, c.plan, err = rewrite.Rewrite(wasm, facts, nil); err != nil {
			return err
		}
		for i := range c.plan.Data { // views of the whole module
			c.plan.Data[i].Bytes = bytes.Clone(c.plan.Data[i].Bytes)
		}
		if e.disk != nil {
			c.compiled, err = e.disk.compile(e.runtime, c.digest, wasm)
		} else {
			c.compiled, err = e.runtime.CompileModule(context.Background(), wasm)
		}
		return err
	})
	close(c.ready)
	e.release(c)
}

// release gives a use of the code up. The last one takes the code away, so that a compile that
// failed can be tried again.
func (e *Engine) release(c *code) {
	e.mu.Lock()
	c.users--
	last := c.users == 0
	if last {
		delete(e.codes, c.digest)
	}
	e.mu.Unlock()
	if last && c.compiled != nil {
		err := guard(func() error { return c.compiled.Close(context.Background()) })
		if err != nil {
			e.logger.Warn("dropping compiled code",
				"digest", fmt.Sprintf("%x", c.digest), "error", err)
		}
	}
}
