package host

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/wasmagent/wasmagent/abi"
)

// Limits of compiling one module in a process of its own.
const (
	MaxCompileTime   = 60 * time.Second // of the processor
	MaxCompileMemory = 2 << 30          // bytes of address space, beyond what the process begins with
	MaxCompiledCode  = 512 << 20        // bytes of machine code
)

const (
	// maxChildren is how many such processes run at a time: what takes one may take all its limits.
	maxChildren = 1
	// maxChildStderr is how much of what such a process writes to stderr is looked at, in bytes.
	maxChildStderr = 64 << 10
	// wallPerTime is how much longer than its processor time a compile may last: it has to share.
	wallPerTime = 5
	// childWait is how long the ends of a killed process's pipes are waited for.
	childWait = 5 * time.Second
)

// childLimits are those above; tests have smaller ones.
type childLimits struct {
	time         time.Duration
	memory, code int64
}

var defaultChildLimits = childLimits{
	time: MaxCompileTime, memory: MaxCompileMemory, code: MaxCompiledCode,
}

// childCompiler compiles modules in processes that can be killed. The process bounds its own memory
// and processor time before it reads the module; time on the clock and the size of what comes back
// are bounded from here.
type childCompiler struct {
	command []string
	limits  childLimits
}

func newChildCompiler(command []string) *childCompiler {
	return &childCompiler{command: command, limits: defaultChildLimits}
}

// commandError is a compiler command that cannot do its work: not the module's fault.
type commandError struct {
	command string
	err     error
}

func (e *commandError) Error() string {
	return fmt.Sprintf("compiler command %s: %v", e.command, e.err)
}

func (e *commandError) Unwrap() error { return e.err }

// compile gives the compiled form of a module and its entry. The engine would compile, in this
// process, what it finds no good code for. So code is only taken, from an entry or a child, when it
// was made by the same engine for the same kind of machine.
func (c *childCompiler) compile(e *Engine, d digest, prepare func() (*rewritten, error)) (
	wazero.CompiledModule, entry, error) {
	machine, err := e.disk.machine()
	if err != nil {
		return nil, entry{}, err
	}
	key := sha256.Sum256(append([]byte(machine), d[:]...))
	return e.disk.compile(e.runtime, key, prepare, func(wasm []byte) (entry, error) {
		dir, err := os.MkdirTemp(e.disk.private, "child-")
		if err != nil {
			return entry{}, err
		}
		defer os.RemoveAll(dir)
		out, err := c.run(e.ending, dir, wasm)
		if err != nil {
			return entry{}, err
		}
		body, same := bytes.CutPrefix(out, []byte(machine))
		if !same || len(body) < entryName {
			return entry{}, c.fault(errors.New("it is not of this program's version"))
		}
		return entry{name: string(body[:entryName]), code: body[entryName:]}, nil
	})
}

func (c *childCompiler) fault(err error) error { return &commandError{c.command[0], err} }

// run runs the command in an empty directory, and gives its output.
func (c *childCompiler) run(ctx context.Context, dir string, wasm []byte) ([]byte, error) {
	wall := wallPerTime * c.limits.time
	inTime, cancel := context.WithTimeout(ctx, wall)
	defer cancel()
	cmd := exec.CommandContext(inTime, c.command[0], c.command[1:]...)
	out := &cappedBuffer{max: int(c.limits.code)}
	stderr := &cappedBuffer{max: maxChildStderr, lax: true}
	cmd.Dir, cmd.Env = dir, []string{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(wasm), out, stderr
	cmd.WaitDelay = childWait
	ownGroup(cmd)
	err := cmd.Start()
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, ErrClosed
	case err != nil:
		return nil, c.fault(err)
	}
	err = cmd.Wait()
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	switch {
	case err == nil:
		return out.b.Bytes(), nil
	case ctx.Err() != nil:
		return nil, ErrClosed
	case inTime.Err() != nil:
		return nil, &LimitError{Limit: "compile", Time: wall}
	case out.over:
		return nil, &LimitError{Limit: "compile", Max: c.limits.code, Asked: c.limits.code + 1}
	case used >= c.limits.time*3/4 && cmd.ProcessState.ExitCode() < 0: // the system counts in ticks
		return nil, &LimitError{Limit: "compile", Time: c.limits.time}
	case outOfMemory(cmd.ProcessState, stderr.b.String()):
		return nil, &LimitError{Limit: "compile", Max: c.limits.memory}
	}
	return nil, c.ended(cmd.ProcessState, stderr.b.String(), err)
}

// outOfMemory tells whether a Go program ended since the system gave it no memory. Its run-time
// then ends in many ways, a nil pointer of its own among them; a panic of the compiler's never gets
// that far.
func outOfMemory(state *os.ProcessState, stderr string) bool {
	switch state.ExitCode() {
	case compileBroken, compileRefused: // it has found words of its own
		return false
	}
	return strings.Contains(stderr, "fatal error: ") || strings.Contains(stderr, "SIG") ||
		strings.Contains(stderr, "out of memory") // the race detector's words
}

// ended tells a module that the engine refused from a command that broke.
func (c *childCompiler) ended(state *os.ProcessState, stderr string, err error) error {
	const max = 500
	first, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n")
	if state.ExitCode() == compileRefused {
		return errors.New(first)
	}
	return c.fault(fmt.Errorf("%w: %s", err, cmp.Or(abi.CleanText(first, max), "no word")))
}

// cappedBuffer takes max bytes. What comes then is an error, or is dropped when it is lax.
type cappedBuffer struct {
	b    bytes.Buffer
	max  int
	lax  bool
	over bool
}

var errOverCap = errors.New("too much output")

func (w *cappedBuffer) Write(b []byte) (int, error) {
	if room := w.max - w.b.Len(); len(b) > room {
		w.over = true
		w.b.Write(b[:room])
		if !w.lax {
			return room, errOverCap
		}
		return len(b), nil
	}
	return w.b.Write(b)
}
