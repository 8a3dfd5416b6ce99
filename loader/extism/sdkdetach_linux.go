package extism

import (
	"os/exec"
	"syscall"
)

// detach keeps a terminal's keys from a process, and ends it with this one, whatever it is at.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
