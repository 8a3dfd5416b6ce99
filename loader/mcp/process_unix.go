//go:build unix

package mcp

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup makes the command the head of a group of processes, so that what it starts can be ended
// with it, and so that an interrupt from the terminal is not its business.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func terminateGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) }

func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
