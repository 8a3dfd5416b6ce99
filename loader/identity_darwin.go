package loader

import (
	"io/fs"
	"syscall"
)

func identify(info fs.FileInfo) identity {
	id := identity{Size: info.Size(), MTime: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		id.Dev, id.Ino, id.CTime = uint64(st.Dev), uint64(st.Ino), st.Ctimespec.Nano()
	}
	return id
}
