package host

import (
	"errors"
	"time"
)

// ErrClosed is returned by calls of a closed Module or Engine.
var ErrClosed = errors.New("closed")

// TrapError is a trap: the guest's code did something WebAssembly forbids.
type TrapError struct {
	Trap     string // unreachable, out_of_bounds, div_by_zero, int_overflow, indirect_call, ...
	Function string // the function it happened in, from the name section; may be empty
	Stderr   string // the tail of the guest's stderr: a Go panic or a Rust abort explains itself here
	Note     string // what the host knows besides, such as an earlier denial of memory
}

func (e *TrapError) Error() string { return "" }

// ExitError is a guest that exited instead of returning from the call.
type ExitError struct {
	Code   uint32
	Stderr string
}

func (e *ExitError) Error() string { return "" }

// LimitError is a limit of the policy that ended a guest. The time limit matches
// context.DeadlineExceeded.
type LimitError struct {
	Limit  string        // time, fuel, memory, stack, output
	Max    int64         // bytes, fuel units or pages of stack; 0 when not counted
	Asked  int64         // what the guest wanted, when the host saw it
	Time   time.Duration // the limit, for time
	Stderr string
}

func (e *LimitError) Error() string { return "" }

// ContractError is a guest that broke abi.md's rules while running: a range outside its memory, a
// second output, an output where none belongs, no reply.
type ContractError struct {
	Detail  string
	NoReply bool
}

func (e *ContractError) Error() string { return "" }

// LoadError is a module that cannot be a plugin, or one that did not get through a stage of loading.
type LoadError struct {
	Stage string // preflight, contract, compile, instantiate, initialize, describe, warmup
	Err   error
}

func (e *LoadError) Error() string { return "" }
func (e *LoadError) Unwrap() error { return e.Err }
