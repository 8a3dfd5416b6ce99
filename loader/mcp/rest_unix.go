//go:build unix && !linux

package mcp

import (
	"errors"
	"os"
	"syscall"
)

// killRest ends the group of a command that has ended. As long as no process has the command's
// number, the group of that number can only be its own.
func killRest(p *os.Process) {
	if errors.Is(syscall.Kill(p.Pid, 0), syscall.ESRCH) {
		killGroup(p)
	}
}
