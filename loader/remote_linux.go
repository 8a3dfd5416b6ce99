package loader

import (
	"slices"

	"golang.org/x/sys/unix"
)

// remotes are file systems that change without this machine's doing: the system does not hear of
// that.
var remotes = []uint32{
	unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC,
	unix.FUSE_SUPER_MAGIC, unix.V9FS_MAGIC, unix.CEPH_SUPER_MAGIC, unix.AFS_SUPER_MAGIC,
	unix.CODA_SUPER_MAGIC,
}

// remote reports whether the files of a directory lie where others may change them.
func remote(dir string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(dir, &fs) == nil && slices.Contains(remotes, uint32(fs.Type))
}
