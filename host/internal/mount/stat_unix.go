//go:build unix

package mount

import (
	"io/fs"
	"os"
	"syscall"
	"time"
)

// identity is what tells two files apart.
func identity(info fs.FileInfo) (dev, inode, links uint64) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Dev), uint64(s.Ino), uint64(s.Nlink)
	}
	return 0, 0, 1
}

// setTimes sets the times of an open file, to a microsecond. A zero time stays.
func setTimes(f *os.File, access, modified time.Time) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	for _, t := range []*time.Time{&access, &modified} {
		if t.IsZero() {
			*t = info.ModTime()
		}
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = syscall.Futimes(int(fd), []syscall.Timeval{
			syscall.NsecToTimeval(access.UnixNano()), syscall.NsecToTimeval(modified.UnixNano())})
	})
	if err != nil {
		return err
	}
	return failed
}
