//go:build unix

package mount

import "syscall"

// nonblock keeps opening a FIFO from waiting for whoever is at its other end.
const nonblock = syscall.O_NONBLOCK
