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
	digest digest        // of the bytes without a manifest
	users  int           // under Engine.mu; the code is dropped when nobody is left
	ready  chan struct{} // closed when the fields below are set
	tongue *Dialect      // that it was first held against

	facts    *rewrite.Facts
	plan     rewrite.Plan // what was lifted out of it
	blockers []string     // why its instances cannot be restored
	compiled wazero.CompiledModule
	size     int64 // bytes
	err      error
}

// codePerByte is how many bytes of machine code a byte of a rewritten module makes, about, for an
// engine that keeps no code where its size shows.
const codePerByte = 4

// code gives the compiled form of a module, without its manifest, checking and compiling it if
// nobody else has or does. The engine cannot bear two compiles of the same bytes at a time.
func (e *Engine) code(ctx context.Context, bare []byte, d *Dialect) (*code, error) {
	sum := sha256.Sum256(bare)
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil, ErrClosed
	}
	c := e.codes[sum]
	if c == nil {
		c = &code{digest: sum, ready: make(chan struct{}), tongue: d}
		e.codes[sum] = c
		c.users++ // the build itself, so that the code cannot go while it is made
		own := bytes.Clone(bare)
		e.builds.Go(func() { e.build(c, own) })
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
		if c.tongue != d {
			return e.code(ctx, bare, d) // it may be good in this dialect
		}
		return nil, c.err
	}
	return c, nil
}

// build checks and compiles a module, in a process of its own if that is too much for this one.
func (e *Engine) build(c *code, wasm []byte) {
	defer e.release(c)
	defer close(c.ready)
	c.err = e.inTurn(e.workers, func() error { return e.compile(c, wasm) })
	if large, ok := errors.AsType[*oversizeError](c.err); ok && e.child != nil {
		c.err = e.inTurn(e.children, func() error { return e.compileAside(c, wasm, large.facts) })
	}
	c.err = compileError(c.err)
}

// inTurn works when there is room for one more.
func (e *Engine) inTurn(room chan struct{}, work func() error) error {
	select {
	case room <- struct{}{}:
		defer func() { <-room }()
	case <-e.ending.Done():
	}
	if e.ending.Err() != nil {
		return ErrClosed
	}
	return guard(work)
}

// compile compiles in this process. What was compiled once was checked then, by the same code.
func (e *Engine) compile(c *code, wasm []byte) (err error) {
	check := func() (*rewritten, error) {
		facts, err := preflight(wasm)
		if err != nil {
			return nil, err
		}
		if err := checkContract(facts, c.tongue, e.links[c.tongue]); err != nil {
			return nil, err
		}
		if len(facts.Oversize) > 0 {
			return nil, &oversizeError{facts}
		}
		return newRewritten(wasm, facts)
	}
	var made entry
	if e.disk != nil {
		c.compiled, made, err = e.disk.compile(e.runtime, c.digest, check, e.disk.aside)
	} else if made.module, err = check(); err == nil {
		c.compiled, err = e.runtime.CompileModule(context.Background(), made.module.Wasm)
	}
	return e.keep(c, made, err)
}

// compileAside compiles in a child process.
func (e *Engine) compileAside(c *code, wasm []byte, facts *rewrite.Facts) (err error) {
	var made entry
	c.compiled, made, err = e.child.compile(e, c.digest, func() (*rewritten, error) {
		return newRewritten(wasm, facts)
	})
	return e.keep(c, made, err)
}

// keep takes over what is known of a module that was compiled, unless there is an error. Each who
// takes the code holds it against its own dialect.
func (e *Engine) keep(c *code, made entry, err error) error {
	if err != nil {
		return err
	}
	c.facts, c.blockers = &made.module.Facts, made.module.Facts.Blockers()
	c.plan, c.size = made.module.plan(), made.size()
	return nil
}

// oversizeError is a module over the limits of compiling in this process.
type oversizeError struct{ facts *rewrite.Facts }

func (e *oversizeError) Error() string {
	return e.facts.Oversize[0].Error() + "; a module over this limit is compiled in a process of " +
		"its own, which wants a compiler command (CompileCommand in wasmagent.Options or host.Config; see " +
		"host.CompileChild)"
}

// compileError makes an error of compiling the module's fault, unless it is the disk's, the
// compiler command's or Close's.
func compileError(err error) error {
	switch err := err.(type) {
	case nil, *LoadError, *commandError:
		return err
	case *LimitError:
		return &LoadError{Stage: stageCompile, Err: err}
	}
	if _, disk := errors.AsType[*fs.PathError](err); disk || errors.Is(err, ErrClosed) {
		return err
	}
	return &LoadError{Stage: stageCompile, Err: engineError(err)}
}

// size is what the code takes in memory, in all the forms that stay there.
func (e *entry) size() int64 {
	wasm, code := int64(len(e.module.Wasm)), int64(len(e.code))
	if code == 0 {
		code = wasm * codePerByte
	}
	return code + wasm + int64(len(e.module.Bytes))
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
