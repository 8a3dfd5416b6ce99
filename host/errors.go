package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/wasmagent/wasmagent/abi"
)

// ErrClosed is returned by calls of a closed Module or Engine.
var ErrClosed = errors.New("closed")

// Every error below that a call can end with has a stable wire name, CauseName, which operators and
// ledgers may keep. Error gives the fact in its first line, and the guest's stderr behind it.

// TrapError is a trap: the guest's code did something WebAssembly forbids.
type TrapError struct {
	// Trap is unreachable, out_of_bounds, div_by_zero, int_overflow, invalid_conversion,
	// indirect_call, table or null_reference.
	Trap     string
	Function string // the function it happened in, from the name section; may be empty
	// Stderr is the beginning and the end of the guest's stderr, 4 KiB of it at most: a Go panic or
	// a Rust abort explains itself there. The other errors have it too.
	Stderr string
	Note   string // what the host knows besides, such as an earlier denial of memory
}

func (e *TrapError) Error() string {
	text := trapText(e.Trap)
	if e.Function != "" {
		text += fmt.Sprintf(" in function %q", e.Function)
	}
	if e.Note != "" {
		text += " (" + e.Note + ")"
	}
	if said := lastWords(e.Stderr); said != "" {
		text = fmt.Sprintf("%#q: %s", said, text)
	}
	return withStderr("trapped: "+text, e.Stderr)
}

// CauseName is "trap." and the trap.
func (e *TrapError) CauseName() string { return "trap." + e.Trap }

// ExitError is a guest that exited instead of returning from the call: with a code other than 0, or
// with 0 and no reply.
type ExitError struct {
	Code   uint32
	Stderr string
}

func (e *ExitError) Error() string {
	text := fmt.Sprintf("exited with code %d", e.Code)
	if e.Code == 0 {
		text += " before it had replied"
	}
	return withStderr(text, e.Stderr)
}

// CauseName is "exit".
func (e *ExitError) CauseName() string { return "exit" }

// ExitCode is Code, for who does not know this package.
func (e *ExitError) ExitCode() int { return int(e.Code) }

// LimitError is a limit of the policy that ended a guest, or kept it from running. The time limit
// matches context.DeadlineExceeded.
type LimitError struct {
	Limit  string        // time, load, fuel, memory, total, stack, output, request, module or compile
	Max    int64         // bytes, or units of fuel; 0 when not counted
	Asked  int64         // bytes the guest wanted, when the host saw it
	Time   time.Duration // the limit, for time, load and compile
	Stderr string
}

func (e *LimitError) Error() string {
	return withStderr(e.text(), e.Stderr)
}

func (e *LimitError) text() string {
	switch e.Limit {
	case "time":
		return fmt.Sprintf("exceeded its time limit of %v (limits.time)", e.Time)
	case "load":
		return fmt.Sprintf("exceeded its time limit for loading, %v (limits.load)", e.Time)
	case "fuel":
		return fmt.Sprintf("exceeded its fuel limit of %d units (limits.fuel)", e.Max)
	case "total":
		return fmt.Sprintf("wants %s of memory, and what all plugins share, %s, is in use "+
			"(Config.Memory)", byteText(e.Asked), byteText(e.Max))
	case "compile":
		if e.Time > 0 {
			return fmt.Sprintf("compiling it takes longer than %v, the limit", e.Time)
		}
		return fmt.Sprintf("compiling it takes more than %s, the limit", byteText(e.Max))
	case "stack":
		return "exceeded the stack limit: its calls are nested too deep"
	case "memory":
		if e.Asked <= e.Max {
			return fmt.Sprintf("was refused %s of memory, within its limit of %s: the system has no "+
				"more", byteText(e.Asked), byteText(e.Max))
		}
		return fmt.Sprintf("exceeded its memory limit of %s, asking for %s (limits.memory)",
			byteText(e.Max), byteText(e.Asked))
	}
	return fmt.Sprintf("%s of %s exceeds the limit of %s (limits.%s)",
		e.Limit, byteText(e.Asked), byteText(e.Max), e.Limit)
}

// CauseName is "limit." and the limit.
func (e *LimitError) CauseName() string { return "limit." + e.Limit }

// Is lets the time limit of a call match context.DeadlineExceeded.
func (e *LimitError) Is(target error) bool {
	return target == context.DeadlineExceeded && e.Limit == "time"
}

// ContractError is a guest that broke the contract while running: a range outside its memory, a
// second output, an output where none belongs, no reply.
type ContractError struct {
	Detail  string
	NoReply bool
	Stderr  string
}

func (e *ContractError) Error() string { return withStderr(e.Detail, e.Stderr) }

// CauseName is "contract", or "no_reply" for a guest that returned without a reply.
func (e *ContractError) CauseName() string {
	if e.NoReply {
		return "no_reply"
	}
	return "contract"
}

// LoadError is a module that cannot be a plugin, or one that did not get through a stage of
// loading.
type LoadError struct {
	Stage string // preflight, contract, compile, instantiate, initialize, describe, manifest, grants, warmup
	Err   error
}

func (e *LoadError) Error() string { return e.Stage + ": " + e.Err.Error() }
func (e *LoadError) Unwrap() error { return e.Err }

// ModuleError lists all that keeps a module from being a plugin.
type ModuleError struct{ Problems []string }

func (e *ModuleError) Error() string { return strings.Join(e.Problems, "; ") }

// GrantError is a plugin that needs what its policy does not grant. It is the cause of a LoadError.
type GrantError struct{ Missing []string } // as Policy.Missing names it

func (e *GrantError) Error() string {
	return "needs what is not granted: " + strings.Join(e.Missing, ", ")
}

// MountError is a mount of a policy that cannot be: its host path is not there, or its guest path
// is taken.
type MountError struct {
	Mount Mount
	Err   error
}

func (e *MountError) Error() string {
	if e.Mount.Host == "" {
		return fmt.Sprintf("mount at %q: %v", e.Mount.Guest, e.Err)
	}
	return fmt.Sprintf("mount of %q at %q: %v", e.Mount.Host, e.Mount.Guest, e.Err)
}

func (e *MountError) Unwrap() error { return e.Err }

func trapText(trap string) string {
	for _, t := range traps {
		if t.name == trap {
			return t.engine
		}
	}
	return trap
}

// lastWords is the line of stderr with which a run-time gave up, clean, or "".
func lastWords(stderr string) string {
	const max = 300
	for line := range strings.Lines(stderr) {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return abi.CleanText(line, max)
		}
	}
	return ""
}

// withStderr puts the guest's own words behind the fact, each line set off.
func withStderr(text, stderr string) string {
	stderr = strings.TrimRight(stderr, "\n")
	if stderr == "" {
		return text
	}
	return text + "\nstderr:\n\t" + strings.ReplaceAll(stderr, "\n", "\n\t")
}

// byteText is a size for people: exact, in the largest unit that keeps it whole, or else also in
// MiB when it has several.
func byteText(n int64) string {
	switch {
	case n >= 1<<30 && n%(1<<30) == 0:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	if n > 1<<20 {
		return fmt.Sprintf("%d bytes (%.1f MiB)", n, float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d bytes", n)
}
