//go:build unix

package host

import (
	"fmt"
	"os"
	"syscall"
)

// checkOwner refuses a directory that somebody else could put machine code into.
func checkOwner(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user", dir)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s can be written by others: chmod 700 it", dir)
	}
	return nil
}
