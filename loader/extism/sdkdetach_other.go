//go:build !unix

package extism

import "os/exec"

// detach does nothing here: a process ends when its input does.
func detach(*exec.Cmd) {}
