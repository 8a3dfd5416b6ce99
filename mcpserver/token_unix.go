//go:build unix

package mcpserver

import (
	"io/fs"
	"os"
	"syscall"
)

// noWait opens a pipe at once, also when nobody writes to it.
const noWait = syscall.O_NONBLOCK

// isOurs reports whether a file belongs to the user of this process, or to root, who can read every
// file anyway.
func isOurs(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && (int(stat.Uid) == os.Geteuid() || stat.Uid == 0)
}
