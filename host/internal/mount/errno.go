package mount

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/wasmagent/wasmagent/host/internal/wasi"
)

// errnos are the system's error numbers that guests can do something about.
var errnos = map[syscall.Errno]wasi.Errno{
	syscall.EACCES:       wasi.Acces,
	syscall.EBUSY:        wasi.Busy,
	syscall.EDQUOT:       wasi.Dquot,
	syscall.EEXIST:       wasi.Exist,
	syscall.EFBIG:        wasi.Fbig,
	syscall.EINVAL:       wasi.Inval,
	syscall.EISDIR:       wasi.Isdir,
	syscall.ELOOP:        wasi.Loop,
	syscall.EMFILE:       wasi.Mfile,
	syscall.ENFILE:       wasi.Mfile,
	syscall.ENAMETOOLONG: wasi.Nametoolong,
	syscall.ENOENT:       wasi.Noent,
	syscall.ENOSPC:       wasi.Nospc,
	syscall.ENOTDIR:      wasi.Notdir,
	syscall.ENOTEMPTY:    wasi.Notempty,
	syscall.EPERM:        wasi.Perm,
	syscall.EROFS:        wasi.Rofs,
	syscall.ETXTBSY:      wasi.Txtbsy,
	syscall.EXDEV:        wasi.Xdev,
}

// errno is what the guest is told of an error.
func errno(err error) wasi.Errno {
	if err == nil {
		return wasi.Success
	}
	if own, ok := errors.AsType[*refusal](err); ok {
		return own.errno
	}
	if system, ok := errors.AsType[syscall.Errno](err); ok {
		if e, ok := errnos[system]; ok {
			return e
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return wasi.Noent
	case errors.Is(err, fs.ErrExist):
		return wasi.Exist
	case errors.Is(err, fs.ErrPermission):
		return wasi.Acces
	case errors.Is(err, os.ErrClosed):
		return wasi.Badf
	case leadsOut(err):
		return wasi.Notcapable
	}
	return wasi.Io
}

// leadsOut tells what os.Root says of a path that leaves it, which has no name in that package.
func leadsOut(err error) bool {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err != nil && err.Error() == "path escapes from parent"
}

// refusal is an error number of this package's own.
type refusal struct{ errno wasi.Errno }

func (r *refusal) Error() string { return "refused" }

func refuse(e wasi.Errno) error { return &refusal{e} }
