//go:build !linux && !darwin

package loader

import "io/fs"

func identify(info fs.FileInfo) identity {
	return identity{Size: info.Size(), MTime: info.ModTime().UnixNano()}
}
