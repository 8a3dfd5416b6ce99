//go:build unix

package loader

import "syscall"

const openNonblock = syscall.O_NONBLOCK
