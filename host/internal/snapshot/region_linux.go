//go:build linux && !(386 || arm || mips || mipsle) && !portable

package snapshot

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

var systemPage = os.Getpagesize()

// region is address space for the largest size that a memory may have. Only what the memory ever
// grew to can be touched: the rest is neither charged by the system nor reachable by mistake.
type region struct {
	space     []byte
	committed int
}

func (r *region) reserve(limit int) error {
	at, err := unix.MmapPtr(-1, 0, nil, uintptr(max(limit, PageSize)), unix.PROT_NONE,
		unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return err
	}
	r.space = unsafe.Slice((*byte)(at), max(limit, PageSize))
	return refuseHugePages(r.space)
}

// refuseHugePages keeps a restore to what was written: one byte in a huge page would be two
// megabytes to clear. Kernels without huge pages answer EINVAL.
func refuseHugePages(b []byte) error {
	if err := unix.Madvise(b, unix.MADV_NOHUGEPAGE); !errors.Is(err, unix.EINVAL) {
		return err
	}
	return nil
}

func (r *region) commit(size int) error {
	if size <= r.committed {
		return nil
	}
	err := unix.Mprotect(r.space[r.committed:size], unix.PROT_READ|unix.PROT_WRITE)
	if err == nil {
		r.committed = size
	}
	return err
}

func (r *region) mapImage(i *Image) error {
	if i.size == 0 {
		return nil
	}
	_, err := unix.MmapPtr(i.fd, 0, unsafe.Pointer(&r.space[0]), uintptr(i.size),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_FIXED|unix.MAP_NORESERVE)
	if err != nil {
		return err
	}
	return refuseHugePages(r.space[:i.size])
}

func (r *region) bytes(n int) []byte { return r.space[:n:n] }

func (r *region) unmap() error {
	if r.space == nil {
		return nil
	}
	err := unix.MunmapPtr(unsafe.Pointer(&r.space[0]), uintptr(len(r.space)))
	r.space = nil
	return err
}

// drop makes the kernel forget the private pages of a stretch: the next touch finds the image's
// bytes, or zeroes above it.
func (r *region) drop(off, end int) error {
	if off >= end {
		return nil
	}
	return unix.Madvise(r.space[off:end], unix.MADV_DONTNEED)
}

// Trim gives the private pages of a restored memory back to the system, for an instance that
// idles. The next calls fault them in again.
func (m *Memory) Trim() error {
	if m.closed {
		return ErrClosed
	}
	if m.image == nil {
		return errNoImage
	}
	m.stats.Resident = 0
	m.known.ok = false
	if err := m.dropGrown(); err != nil {
		return err
	}
	m.book(m.high)
	return m.drop(0, m.image.size)
}

// dropGrown drops all that the memory ever grew by.
func (m *Memory) dropGrown() error {
	high := m.high
	m.high = m.image.size
	return m.drop(m.image.size, high)
}

// restore makes every page that may differ right again: the image's own, then what the memory grew
// by.
func (m *Memory) restore() error {
	forImage, forGrown := m.forImage, m.forGrown
	if m.tide.turns(m.stats.Resident) {
		forGrown = Drop
		if forImage != Copy {
			forImage = Drop
		}
	}
	if m.high-m.image.size > m.keep { // more is booked than may stay
		forGrown = Drop
	}
	m.stats = Stats{Road: forImage}
	if m.nothingNew() && forImage == m.forImage && forGrown == m.forGrown {
		m.again()
		return nil
	}
	m.learn()
	if err := m.reset(forImage, 0, m.image.size); err != nil {
		return err
	}
	if forGrown == Drop || forGrown == Copy {
		return m.dropGrown()
	}
	return m.reset(forGrown, m.image.size, m.size)
}

func (m *Memory) reset(road Road, off, end int) error {
	if off == end {
		return nil
	}
	switch {
	case road == Copy:
		_, err := m.putBack(off, end, end)
		return err
	case road == Scan:
		return m.scan(off, end)
	case road == Pagemap:
		return m.readPagemap(off, end)
	}
	return m.drop(off, end)
}

// putBack writes a stretch of private pages as the image has it, while the memory may keep more
// pages resident. Once it may not, it drops everything up to last and says that nothing is left to
// do there.
func (m *Memory) putBack(off, end, last int) (done bool, err error) {
	keep := min(end-off, m.keep-int(m.stats.Resident))
	m.found(off, off+keep)
	m.image.fill(m.space[off:off+keep], off)
	m.stats.Copied += int64(keep)
	m.stats.Resident += int64(keep)
	if off+keep == end {
		return false, nil
	}
	m.known.ok = false
	return true, m.drop(off+keep, last)
}
