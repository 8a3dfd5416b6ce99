//go:build unix && !linux

package extism

import (
	"os/exec"
	"syscall"
)

// detach keeps a terminal's keys from a process. It ends when its input does.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
