//go:build unix

package host

import (
	"os/exec"
	"syscall"
)

// ownGroup starts a command in a process group of its own, which no key of a terminal reaches, and
// kills all of the group when the command has to end.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
