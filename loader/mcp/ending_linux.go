package mcp

import (
	"errors"

	"golang.org/x/sys/unix"
)

// reap waits for the command's end and ends what it has started, which is in its group, before it
// gives the command's number back: after that the number, and the group's, could be another's.
func (p *process) reap() error {
	for {
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	p.mu.Lock()
	killGroup(p.cmd.Process)
	p.ended = true
	p.mu.Unlock()
	return p.cmd.Wait()
}
