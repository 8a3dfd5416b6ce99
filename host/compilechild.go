package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
)

// CompileChild is what a Config.CompileCommand does: nothing else, and first of all. It bounds its own
// process by MaxCompileTime and, where the system can, MaxCompileMemory, reads a module from in, compiles
// it in the working directory, which the caller made for that, and writes the code to out. It gives the
// code that the process must exit with: 0 when all went well. Complaints go to complain.
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
	compileRefused = 3 // the engine refuses the module; 2 is Go's own, for a crash
)

func compileChild(in io.Reader, out, complain io.Writer, limits childLimits) int {
	if err := limitProcess(limits); err != nil {
		fmt.Fprintf(complain, "limits of the process: %v\n", err)
		return compileBroken
	}
	debug.SetMemoryLimit(limits.memory / 2) // collect often before the address space ends
	wasm, err := io.ReadAll(in)
	if err != nil {
		fmt.Fprintf(complain, "reading the module: %v\n", err)
		return compileBroken
	}
	machine, err := machineIn("machine")
	if err != nil {
		fmt.Fprintf(complain, "the engine does not work here: %v\n", err)
		return compileBroken
	}
	var e entry
	err = guard(func() (err error) {
		e, _, err = compileIn("code", wasm)
		return err
	})
	if _, disk := errors.AsType[*fs.PathError](err); disk {
		fmt.Fprintln(complain, err)
		return compileBroken
	} else if err != nil {
		fmt.Fprintln(complain, engineError(err))
		return compileRefused
	}
	for _, part := range [][]byte{[]byte(machine), []byte(e.name), e.code} {
		if _, err := out.Write(part); err != nil {
			fmt.Fprintln(complain, err)
			return compileBroken
		}
	}
	return compileDone
}

// emptyModule has nothing in it.
const emptyModule = "\x00asm\x01\x00\x00\x00"

// machineIn says for which engine and kind of machine code is made here. The engine names a module's
// file by its bytes and by what the processor can do, so its name for a known module tells the latter.
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
