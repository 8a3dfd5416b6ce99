//go:build linux && !(386 || arm || mips || mipsle) && !portable

package snapshot

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// From linux/fs.h: the call that tells which pages of a range have which properties.
const (
	pagemapScan = 0xc0606610 // _IOWR('f', 16, struct pm_scan_arg)

	pageIsFile    = 1 << 2 // in the page cache, or shared
	pageIsPresent = 1 << 3
	pageIsSwapped = 1 << 4
)

// From Documentation/admin-guide/mm/pagemap.rst: one word for each page.
const (
	entryPresent = 1 << 63
	entrySwapped = 1 << 62
	entryFile    = 1 << 61 // in the page cache, or shared
	entrySize    = 8
)

const (
	scanRegions   = 512  // stretches told by one call
	pagemapWindow = 4096 // entries read at a time: 16 MiB of memory with small pages
)

type pageRegion struct{ start, end, _ uint64 } // the last one is the categories

// scanArg is struct pm_scan_arg.
type scanArg struct {
	size, flags         uint64
	start, end, walkEnd uint64
	vec, vecLen         uint64
	maxPages            uint64
	inverted, all, any  uint64
	returned            uint64
}

// scratch is what a restore needs to ask the kernel. It lives in the heap, where objects do not
// move: the kernel is given the address of regions as a number.
type scratch struct {
	arg     scanArg
	regions [scanRegions]pageRegion
	entries [pagemapWindow]uint64
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// pagemap is opened once and kept: it tells about this process for as long as that lives.
var pagemap = sync.OnceValues(func() (int, error) {
	return unix.Open("/proc/self/pagemap", unix.O_RDONLY|unix.O_CLOEXEC, 0)
})

// scan puts back the private pages of a stretch, as PAGEMAP_SCAN tells them: those that are not in
// the page cache and present or swapped out. The kernel's shared zero page is one of them, since
// merging may put it where the image is not zero. What the kernel can tell about written pages
// would be less to copy, but has to be switched on for the whole process or with a userfaultfd,
// where others may use it too.
func (m *Memory) scan(off, end int) error {
	fd, err := pagemap()
	if err != nil {
		return err
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	base := uint64(uintptr(unsafe.Pointer(&m.space[0])))
	for at, last := base+uint64(off), base+uint64(end); at < last; at = s.arg.walkEnd {
		s.arg = scanArg{
			size: uint64(unsafe.Sizeof(s.arg)), start: at, end: last,
			vec: uint64(uintptr(unsafe.Pointer(&s.regions))), vecLen: scanRegions,
			inverted: pageIsFile, all: pageIsFile, any: pageIsPresent | pageIsSwapped,
		}
		n, err := ioctl(fd, unsafe.Pointer(&s.arg))
		if err != nil {
			return fmt.Errorf("pagemap scan: %w", err)
		}
		for _, r := range s.regions[:n] {
			done, err := m.putBack(int(r.start-base), int(r.end-base), end)
			if done || err != nil {
				return err
			}
		}
		if s.arg.walkEnd <= at {
			return errors.New("pagemap scan: no progress")
		}
	}
	runtime.KeepAlive(s)
	return nil
}

func ioctl(fd int, arg unsafe.Pointer) (int, error) {
	for {
		n, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), pagemapScan, uintptr(arg))
		switch errno {
		case 0:
			return int(n), nil
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}

// readPagemap puts back the private pages of a stretch, as /proc/self/pagemap tells them.
func (m *Memory) readPagemap(off, end int) error {
	fd, err := pagemap()
	if err != nil {
		return err
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	base := int(uintptr(unsafe.Pointer(&m.space[0]))) / systemPage
	for first, last := off/systemPage, end/systemPage; first < last; {
		entries := s.entries[:min(pagemapWindow, last-first)]
		if err := readEntries(fd, entries, base+first); err != nil {
			return fmt.Errorf("read pagemap: %w", err)
		}
		for n := 0; n < len(entries); n++ {
			from := n
			for n < len(entries) && isPrivate(entries[n]) {
				n++
			}
			if n == from {
				continue
			}
			done, err := m.putBack((first+from)*systemPage, (first+n)*systemPage, end)
			if done || err != nil {
				return err
			}
		}
		first += len(entries)
	}
	return nil
}

// isPrivate says whether a page belongs to this mapping alone, in memory or swapped out.
func isPrivate(entry uint64) bool {
	return entry&(entryPresent|entrySwapped) != 0 && entry&entryFile == 0
}

func readEntries(fd int, entries []uint64, page int) error {
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(entries))), len(entries)*entrySize)
	for done := 0; done < len(b); {
		n, err := unix.Pread(fd, b[done:], int64(page)*entrySize+int64(done))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return errors.New("ends early")
		}
		done += n
	}
	return nil
}
