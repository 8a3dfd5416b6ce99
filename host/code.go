package host

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"

	"github.com/tetratelabs/wazero"

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
	size     int64 // bytes
	err      error
}

// codePerByte is how many bytes of machine code a byte of a rewritten module makes, about, for an engine
// that keeps no code where its size shows.
const codePerByte = 4

// code gives the compiled form of a module, without its manifest, compiling it if nobody else has or
// does. The engine cannot bear two compiles of the same bytes at a time.
func (e *Engine) code(ctx context.Context, bare []byte, facts *rewrite.Facts) (*code, error) {
	sum := sha256.Sum256(bare)
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
		own := bytes.Clone(bare)
		e.builds.Go(func() { e.build(c, own, facts) })
	}
	c.users++
	e.mu.Unlock()

	select {
	case <-c.ready:
	case <-ctx.Done():
		e.release(c)
		return nil, cancelled(ctx)
	}
	if c.err != nil {
		e.release(c)
		return nil, c.err
	}
	return c, nil
}

// build compiles a module: one over the limits of compiling here in a process of its own.
func (e *Engine) build(c *code, wasm []byte, facts *rewrite.Facts) {
	defer e.release(c)
	defer close(c.ready)
	workers := e.workers
	if len(facts.Oversize) > 0 {
		workers = e.children
	}
	select {
	case workers <- struct{}{}:
		defer func() { <-workers }()
	case <-e.ending.Done():
		c.err = ErrClosed
		return
	}
	err := guard(func() error { return e.compile(c, wasm, facts) })
	c.err = compileError(err)
}

func (e *Engine) compile(c *code, wasm []byte, facts *rewrite.Facts) (err error) {
	if e.isClosed() {
		return ErrClosed
	}
	var made entry
	prepare := func() (*rewritten, error) { return newRewritten(wasm, facts) }
	switch {
	case len(facts.Oversize) > 0 && e.child == nil:
		return fmt.Errorf("%w; a module over this limit is compiled in a process of its own, which "+
			"wants a compiler command (Config.CompileCommand)", facts.Oversize[0])
	case len(facts.Oversize) > 0:
		c.compiled, made, err = e.child.compile(e, c.digest, prepare)
	case e.disk != nil:
		c.compiled, made, err = e.disk.compile(e.runtime, c.digest, prepare, e.disk.aside)
	default:
		if made.module, err = prepare(); err == nil {
			c.compiled, err = e.runtime.CompileModule(context.Background(), made.module.Wasm)
		}
	}
	if err != nil {
		return err
	}
	c.plan, c.size = made.module.plan(), made.size()
	return nil
}

// size is what the code takes in memory, in all the forms that stay there.
func (e *entry) size() int64 {
	wasm, code := int64(len(e.module.Wasm)), int64(len(e.code))
	if code == 0 {
		code = wasm * codePerByte
	}
	return code + wasm + int64(len(e.module.Bytes))
}

// compileError makes an error of compiling the module's fault, unless it is the disk's, the compiler
// command's or Close's.
func compileError(err error) error {
	switch err := err.(type) {
	case nil, *commandError, *fs.PathError:
		return err
	case *LimitError:
		return &LoadError{Stage: stageCompile, Err: err}
	}
	if _, disk := errors.AsType[*fs.PathError](err); disk || errors.Is(err, ErrClosed) {
		return err
	}
	return &LoadError{Stage: stageCompile, Err: engineError(err)}
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
