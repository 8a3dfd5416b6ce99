package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/wasmagent/wasmagent/internal/bound"
)

// CompileChild is what a Config.CompileCommand does: nothing else, and first of all. It bounds its
// own process by MaxCompileTime and, where the system can, MaxCompileMemory, reads a module from
// in, compiles it below the working directory, and writes the code to out. It gives the code that
// the process must exit with: 0 when all went well. Complaints go to complain.
//
// A program that serves as its own compiler command calls it from main before all else:
//
//	if len(os.Args) == 2 && os.Args[1] == "__compile" {
//		os.Exit(host.CompileChild(os.Stdin, os.Stdout, os.Stderr))
//	}
func CompileChild(in io.Reader, out, complain io.Writer) (exit int) {
	return compileChild(in, out, complain, defaultChildLimits)
}

// How a compiling process ends.
const (
	compileDone    = 0
	compileBroken  = 1 // something other than the module is at fault
	compileRefused = 3 // the engine refuses the module; 2 is Go's own, for what cannot be recovered
)

func compileChild(in io.Reader, out, complain io.Writer, limits childLimits) int {
	err := compileTo(out, in, limits)
	if err == nil {
		return compileDone
	}
	fmt.Fprintln(complain, engineError(err)) // one clean line
	if _, refused := errors.AsType[*refusedError](err); refused {
		return compileRefused
	}
	return compileBroken
}

// refusedError is the engine's about a module.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return e.err.Error() }

func compileTo(out io.Writer, in io.Reader, limits childLimits) (err error) {
	if err := bound.Process(bound.Limits{
		Memory: limits.memory, Time: limits.time, Files: limits.code,
	}); err != nil {
		return fmt.Errorf("limits of the process: %w", err)
	}
	debug.SetMemoryLimit(limits.memory / 2) // collect often before the address space ends
	wasm, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("reading the module: %w", err)
	}
	dir, err := os.MkdirTemp(".", "compile-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	machine, err := machineIn(filepath.Join(dir, "machine"))
	if err != nil {
		return err
	}
	var made entry
	err = guard(func() (err error) {
		made, _, err = compileIn(filepath.Join(dir, "code"), wasm)
		return err
	})
	if _, disk := errors.AsType[*fs.PathError](err); err != nil && !disk {
		return &refusedError{err}
	} else if err != nil {
		return err
	}
	for _, part := range [][]byte{[]byte(machine), []byte(made.name), made.code} {
		if _, err := out.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// emptyModule has nothing in it.
const emptyModule = "\x00asm\x01\x00\x00\x00"

// machineIn says for which engine and kind of machine code is made here. The engine names a
// module's file by its bytes and by what the processor can do, so its name for a known module tells
// the latter.
func machineIn(dir string) (string, error) {
	e, sub, err := compileIn(dir, []byte(emptyModule))
	return entryVersion + sub + "\n" + e.name + "\n", err
}

// machine is machineIn for this process.
func (c *diskCache) machine() (string, error) {
	c.machineOnce.Do(func() {
		dir := filepath.Join(c.private, "machine")
		c.machineText, c.machineErr = machineIn(dir)
		c.machineErr = errors.Join(c.machineErr, os.RemoveAll(dir))
	})
	return c.machineText, c.machineErr
}
