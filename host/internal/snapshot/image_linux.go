//go:build linux && !(386 || arm || mips || mipsle) && !portable

package snapshot

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

const (
	imageName = "wasmagent-image" // shown in /proc/PID/maps
	seals     = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
)

// store keeps an image in a sealed file in memory. An empty image has no file.
type store struct {
	fd   int
	view []byte // read only
}

func (i *Image) open(memory []byte) (err error) {
	i.fd = -1
	if i.size == 0 {
		return nil
	}
	if i.fd, err = memfd(); err != nil {
		return fmt.Errorf("memfd_create: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, i.shut())
		}
	}()
	if err := unix.Ftruncate(i.fd, int64(i.size)); err != nil {
		return fmt.Errorf("ftruncate: %w", err)
	}
	for at := 0; at < i.size; {
		next, filled := i.run(at, i.size)
		if filled {
			if err := writeAt(i.fd, memory[at:next], at); err != nil {
				return fmt.Errorf("write: %w", err)
			}
		}
		at = next
	}
	if _, err := unix.FcntlInt(uintptr(i.fd), unix.F_ADD_SEALS, seals); err != nil {
		return fmt.Errorf("seal: %w", err)
	}
	// Before Linux 6.7 a sealed file cannot be mapped shared, not even for reading. A private
	// mapping that is never written shares the same pages.
	i.view, err = unix.Mmap(i.fd, 0, i.size, unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return fmt.Errorf("mmap: %w", err)
	}
	return nil
}

// memfd asks for a file that can never be executed; systems may insist, old ones do not know it.
func memfd() (int, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate(imageName, flags|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) {
		fd, err = unix.MemfdCreate(imageName, flags)
	}
	return fd, err
}

func writeAt(fd int, b []byte, off int) error {
	for len(b) > 0 {
		n, err := unix.Pwrite(fd, b, int64(off))
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		n = max(n, 0)
		b, off = b[n:], off+n
	}
	return nil
}

func (i *Image) shut() error {
	var unmap, shut error
	if i.view != nil {
		unmap = unix.Munmap(i.view)
		i.view = nil
	}
	if i.fd >= 0 {
		shut = unix.Close(i.fd)
		i.fd = -1
	}
	return errors.Join(unmap, shut)
}
