//go:build unix

package tomlfile

import (
	"io/fs"
	"syscall"
)

// ownerOf is the user whose file it is.
func ownerOf(info fs.FileInfo) (user int, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), true
}
