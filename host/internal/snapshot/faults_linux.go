//go:build linux && !(386 || arm || mips || mipsle) && !portable

package snapshot

import (
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// known are the private pages that a memory had when it was last restored. Asking the kernel for
// them takes it through every page that is mapped, read ones too. But a page becomes private by a
// fault of the thread that writes it, and each thread's faults are counted: a call without any has
// no new ones.
type known struct {
	stretches []stretch // nil and ok: none
	ok        bool
	size      int         // of the memory then: above it there may be private pages that are not known
	usage     unix.Rusage // in the heap, where the kernel may write to it
	faults    int64       // of the thread, when Watch was called
	watched   bool        // and the goroutine has been locked to it since
	missed    bool        // there was a fault before that in this call, or nobody looked
}

// stretch is pages from an offset to another.
type stretch struct{ off, end int }

// maxStretches is how many stretches are kept; of a memory that has more, the kernel is asked.
const maxStretches = 256

// Watch is told that the guest will now run on the calling thread, to which the goroutine is locked
// until Unwatch or Restore has returned. It reports whether that is of use: if not, Restore asks
// the kernel what was written, and the goroutine need not be locked.
func (m *Memory) Watch() bool {
	if m.known.ok && !m.known.missed && (m.forImage == Scan || m.forImage == Pagemap) && faultsCount() {
		m.known.faults = m.threadFaults()
		m.known.watched = true
	}
	return m.known.watched
}

// Unwatch is told that the goroutine may move to another thread. Nothing may write to the memory
// until Watch is called again, or Restore.
func (m *Memory) Unwatch() {
	m.known.missed = !m.unchanged()
	m.known.watched = false
}

// unchanged says whether no page has become private since Watch.
func (m *Memory) unchanged() bool {
	return m.known.watched && m.known.faults >= 0 && m.threadFaults() == m.known.faults
}

func (m *Memory) threadFaults() int64 {
	if unix.Getrusage(unix.RUSAGE_THREAD, &m.known.usage) != nil {
		return -1
	}
	return m.known.usage.Minflt + m.known.usage.Majflt
}

// nothingNew says whether no page can have become private since the last restore. It ends the
// watch.
func (m *Memory) nothingNew() bool {
	same := m.size <= m.known.size && !m.known.missed && m.unchanged()
	m.known.watched, m.known.missed = false, false
	return same
}

// again puts back the pages that are known.
func (m *Memory) again() {
	for _, s := range m.known.stretches {
		m.image.fill(m.space[s.off:s.end], s.off)
		m.stats.Copied += int64(s.end - s.off)
	}
	m.stats.Resident, m.stats.Known = m.stats.Copied, true
}

// learn begins to remember the pages that a restore finds; it knows them when that was all of them.
func (m *Memory) learn() {
	m.known.stretches, m.known.ok, m.known.size = m.known.stretches[:0], true, m.size
}

func (m *Memory) found(off, end int) {
	k := &m.known
	switch n := len(k.stretches); {
	case n > 0 && k.stretches[n-1].end == off:
		k.stretches[n-1].end = end
	case n == maxStretches:
		k.ok = false
	default:
		k.stretches = append(k.stretches, stretch{off, end})
	}
}

// faultsCount reports whether this system counts the faults of a thread, which it finds out by
// trying.
var faultsCount = sync.OnceValue(func() bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	page, err := unix.Mmap(-1, 0, systemPage, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Munmap(page) }()
	var m Memory
	before := m.threadFaults()
	page[0]++
	return before >= 0 && m.threadFaults() > before
})
