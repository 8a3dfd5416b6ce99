//go:build unix

package ledger

import (
	"io/fs"
	"syscall"
)

// userOf is whose file it is.
func userOf(info fs.FileInfo) (id int, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), true
}

// namesOf is how many names a file has.
func namesOf(info fs.FileInfo) int {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 1
	}
	return int(stat.Nlink)
}
