//go:build linux && !(386 || arm || mips || mipsle) && !portable

package snapshot

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func TestRoadsFindJustWhatWasWritten(t *testing.T) {
	t.Logf("best road here: %s", Best())
	page := int64(systemPage)
	for _, c := range []struct {
		road   Road
		copied int64
	}{{Scan, 3 * page}, {Pagemap, 3 * page}, {Drop, 0}, {Copy, 4 * PageSize}} {
		i := clone(t, 4, 8*PageSize, Options{Road: c.road})
		for round := range 3 {
			if i.m.Denied() != nil || len(i.buffer) != 4*PageSize {
				t.Fatal("not restored")
			}
			i.Grow(2)
			_ = i.buffer[PageSize] // a page that is only read
			i.buffer[10] = byte(round)
			i.buffer[3*PageSize] = byte(round)
			i.buffer[5*PageSize+1] = byte(round)
			check(t, i.m.Restore(i))
			check(t, i.m.Verify())
			if round == 0 && i.m.Stats().Copied != c.copied {
				t.Errorf("%s copied %d bytes, want %d", c.road, i.m.Stats().Copied, c.copied)
			}
		}
	}
}

// TestKnownPages: a watched call that writes only pages which an earlier one wrote asks the system
// nothing; one that writes another page, or was not watched, does.
func TestKnownPages(t *testing.T) {
	if !faultsCount() {
		t.Skip("this system does not count the faults of a thread")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, road := range []Road{Scan, Pagemap} {
		i := clone(t, 4, 8*PageSize, Options{Road: road})
		call := func(watch bool, offsets ...int) bool {
			if watch {
				i.m.Watch()
			}
			for _, off := range offsets {
				i.buffer[off]++
			}
			check(t, i.m.Restore(i))
			check(t, i.m.Verify())
			return i.m.Stats().Known
		}
		call(false, 10, 3*PageSize)
		for n, c := range []struct {
			watch   bool
			offsets []int
			known   bool
		}{
			{true, []int{10, 3 * PageSize}, true},
			{true, nil, true},
			{true, []int{PageSize}, false},
			{true, []int{PageSize, 10}, true},
			{false, []int{10}, false},
			{true, []int{10}, true},
		} {
			known := call(c.watch, c.offsets...)
			for try := 0; c.known && !known && try < 100; try++ {
				known = call(c.watch, c.offsets...) // the test itself may have had a fault
			}
			if known != c.known {
				t.Errorf("%s, call %d: known %v, want %v", road, n, known, c.known)
			}
		}
		moved := func(offset int) bool { // by one that waits before and after it writes
			for range 2 {
				i.m.Watch()
				i.m.Unwatch()
			}
			i.m.Watch()
			i.buffer[offset]++
			i.m.Unwatch()
			i.m.Watch()
			check(t, i.m.Restore(i))
			check(t, i.m.Verify())
			return i.m.Stats().Known
		}
		known := moved(10)
		for try := 0; !known && try < 100; try++ {
			known = moved(10)
		}
		if !known {
			t.Errorf("%s: a page is not known to a call that waited", road)
		}
		if moved(2 * PageSize) {
			t.Errorf("%s: a page is known that a call wrote before it waited", road)
		}
		grown := func(pages uint32) bool {
			i.m.Watch()
			i.Grow(pages)
			i.buffer[len(i.buffer)-1]++
			check(t, i.m.Restore(i))
			check(t, i.m.Verify())
			return i.m.Stats().Known
		}
		known = grown(2)
		for try := 0; !known && try < 100; try++ {
			known = grown(2)
		}
		if !known {
			t.Errorf("%s: a page that the last call grew by is not known", road)
		}
		call(false)
		if grown(2) {
			t.Errorf("%s: a page above what was looked at is known", road)
		}
		check(t, i.m.Trim())
		if call(true, 10) {
			t.Errorf("%s: known after a trim", road)
		}
	}
}

func TestAutoCopiesSmallImages(t *testing.T) {
	for pages, want := range map[int]Road{
		SmallImage / PageSize:   Copy,
		SmallImage/PageSize + 1: Best(),
	} {
		i := clone(t, pages, 1<<20, Options{})
		check(t, i.m.Restore(i))
		if got := i.m.Stats().Road; got != want {
			t.Errorf("%d pages: %s, want %s", pages, got, want)
		}
	}
}

// TestKeep: what stays resident is bounded, and exact also beyond the bound.
func TestKeep(t *testing.T) {
	for _, road := range roads {
		i := clone(t, 8, 64*PageSize, Options{Road: road, Keep: 2 * PageSize})
		i.Grow(56)
		for at := 0; at < len(i.buffer); at += systemPage {
			i.buffer[at] = 0xff
		}
		check(t, i.m.Restore(i))
		if got, most := private(t, i.m), 2*PageSize; got > most {
			t.Errorf("%s: %d bytes resident, at most %d", road, got, most)
		}
		check(t, i.m.Verify())
		check(t, i.m.Trim())
		if got := private(t, i.m); got != 0 {
			t.Errorf("%s: %d bytes resident after trimming", road, got)
		}
		check(t, i.m.Verify())
	}
}

// private counts the private bytes of a memory, other than the kernel's page of zeroes, which a
// read of untouched memory maps.
func private(t *testing.T, m *Memory) (n int) {
	t.Helper()
	const pageIsZero = 1 << 5
	fd := must[int](t)(pagemap())
	s := new(scratch)
	base := uint64(uintptr(unsafe.Pointer(&m.space[0])))
	s.arg = scanArg{
		size: uint64(unsafe.Sizeof(s.arg)), start: base, end: base + uint64(m.committed),
		vec: uint64(uintptr(unsafe.Pointer(&s.regions))), vecLen: scanRegions,
		inverted: pageIsFile | pageIsZero, all: pageIsFile | pageIsZero,
		any: pageIsPresent | pageIsSwapped,
	}
	found, err := ioctl(fd, unsafe.Pointer(&s.arg))
	if err != nil {
		t.Skipf("this kernel cannot tell: %v", err)
	}
	for _, r := range s.regions[:found] {
		n += int(r.end - r.start)
	}
	return n
}

// TestManyStretches needs more than one answer of PAGEMAP_SCAN and more than one window of pagemap.
func TestManyStretches(t *testing.T) {
	pages := (pagemapWindow*systemPage)/PageSize + 3
	for _, road := range []Road{Scan, Pagemap} {
		i := clone(t, pages, int64(pages)*PageSize, Options{Road: road, Keep: math.MaxInt64})
		for at := 0; at < len(i.buffer); at += 2 * systemPage {
			i.buffer[at+1]++
		}
		check(t, i.m.Restore(i))
		check(t, i.m.Verify())
		if want := int64(len(i.buffer) / 2); i.m.Stats().Copied != want {
			t.Errorf("%s copied %d bytes, want %d", road, i.m.Stats().Copied, want)
		}
	}
}

func TestIsPrivate(t *testing.T) {
	for entry, want := range map[uint64]bool{
		0:                          false,
		entryPresent:               true,
		entryPresent | entryFile:   false,
		entrySwapped:               true,
		entrySwapped | entryFile:   false,
		entryPresent | 0x7fff:      true,
		1 << 55 /* soft dirty */ :  false,
		1<<55 | entrySwapped | 0xf: true,
	} {
		if isPrivate(entry) != want {
			t.Errorf("%#x: %v", entry, !want)
		}
	}
}

// TestSwappedOut pushes written pages to swap before restoring.
func TestSwappedOut(t *testing.T) {
	for _, road := range []Road{Scan, Pagemap} {
		t.Run(road.String(), func(t *testing.T) {
			i := clone(t, 8, 16*PageSize, Options{Road: road})
			i.Grow(4)
			for at := 0; at < len(i.buffer); at += systemPage {
				i.buffer[at]++
			}
			check(t, unix.Madvise(i.buffer, unix.MADV_PAGEOUT))
			if !anySwapped(t, i.m) {
				t.Skip("NO SWAP on this system: nothing was swapped out")
			}
			check(t, i.m.Restore(i))
			check(t, i.m.Verify())
		})
	}
}

func anySwapped(t *testing.T, m *Memory) bool {
	t.Helper()
	entries := make([]uint64, m.size/systemPage)
	base := int(uintptr(unsafe.Pointer(&m.space[0]))) / systemPage
	check(t, readEntries(must[int](t)(pagemap()), entries, base))
	for _, e := range entries {
		if e&entrySwapped != 0 {
			return true
		}
	}
	return false
}

func TestImageIsSealed(t *testing.T) {
	image := must[*Image](t)(NewImage(photo(2)))
	defer image.Close()
	if _, err := unix.Pwrite(image.fd, []byte{1}, 0); !errors.Is(err, unix.EPERM) {
		t.Errorf("write: %v", err)
	}
	if err := unix.Ftruncate(image.fd, 1); !errors.Is(err, unix.EPERM) {
		t.Errorf("shrink: %v", err)
	}
	if err := unix.Ftruncate(image.fd, 1<<20); !errors.Is(err, unix.EPERM) {
		t.Errorf("grow: %v", err)
	}
	if b, err := unix.Mmap(image.fd, 0, PageSize, unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
		_ = unix.Munmap(b)
		t.Error("mapped for writing")
	}
}

// TestHolesStayHoles: neither making an image nor restoring from it fills its pages of zeroes. (A
// clone that writes one does, once for all clones: the kernel copies it from the file.)
func TestHolesStayHoles(t *testing.T) {
	b := make([]byte, 16*PageSize)
	b[5*PageSize] = 1
	image := must[*Image](t)(NewImage(b))
	defer image.Close()
	m := must[*Memory](t)(New(1<<20, &Options{Image: image}))
	defer m.Close()
	i := instantiate(m, 0)
	i.buffer[5*PageSize]++
	check(t, m.Restore(i))
	var st unix.Stat_t
	check(t, unix.Fstat(image.fd, &st))
	if got := st.Blocks * 512; got > int64(systemPage) {
		t.Fatalf("%d bytes are filled, one page was", got)
	}
}

// TestNothingIsLeftMapped counts this process's mappings of images.
func TestNothingIsLeftMapped(t *testing.T) {
	maps := func() int {
		b := must[[]byte](t)(os.ReadFile("/proc/self/maps"))
		return strings.Count(string(b), imageName)
	}
	before := maps()
	for range 50 {
		image := must[*Image](t)(NewImage(photo(2)))
		m := must[*Memory](t)(New(1<<20, &Options{Image: image}))
		if maps() <= before {
			t.Fatal("the image is not seen in the mappings")
		}
		check(t, image.Close())
		m.Free()
	}
	if after := maps(); after != before {
		t.Fatalf("%d mappings are left", after-before)
	}
}

// TestFailureLeavesNothing: a memory that cannot be made gives back what it took.
func TestFailureLeavesNothing(t *testing.T) {
	image := must[*Image](t)(NewImage(photo(2)))
	check(t, image.Close())
	var used int64
	charge := func(n int64) bool { used += n; return true }
	_, err := New(1<<20, &Options{Image: image, Charge: charge})
	if !errors.Is(err, ErrClosed) || used != 0 {
		t.Fatalf("%v, %d bytes booked", err, used)
	}
}

const childEnv = "WASMAGENT_SNAPSHOT_CHILD"

// TestSystemRefuses runs itself under the system's limits of address space and of data.
func TestSystemRefuses(t *testing.T) {
	if os.Getenv(childEnv) != "" {
		t.Skip("the child")
	}
	for _, limit := range []string{"space", "data"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.v")
		cmd.Env = append(os.Environ(), childEnv+"="+limit)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "refused as it should") {
			t.Errorf("%s: %v\n%s", limit, err, out)
		}
	}
}

func TestChild(t *testing.T) {
	which := os.Getenv(childEnv)
	if which == "" {
		t.Skip("run by TestSystemRefuses")
	}
	var vm, skip, data int64 // pages, from statm
	b := must[[]byte](t)(os.ReadFile("/proc/self/statm"))
	_, err := fmt.Sscan(string(b), &vm, &skip, &skip, &skip, &skip, &data)
	check(t, err)
	if which == "space" {
		setLimit(t, unix.RLIMIT_AS, vm*int64(systemPage)+256<<20)
		if m, err := New(2<<30, nil); !errors.Is(err, unix.ENOMEM) {
			t.Fatalf("a reservation of 2 GiB: %v %v", m, err)
		}
		t.Log("refused as it should be")
		return
	}
	m := must[*Memory](t)(New(1<<30, &Options{Min: PageSize}))
	defer m.Close()
	setLimit(t, unix.RLIMIT_DATA, data*int64(systemPage)+128<<20)
	i := instantiate(m, 0)
	if _, ok := i.Grow(512 << 20 / PageSize); ok {
		t.Fatal("grew past the system's limit")
	}
	d := m.Denied()
	if d == nil || d.Reason != System || !errors.Is(d, unix.ENOMEM) {
		t.Fatalf("denied: %v", d)
	}
	i.buffer[0] = 1 // the memory that it has still works
	t.Log("refused as it should be")
}

func setLimit(t *testing.T, which int, n int64) {
	t.Helper()
	check(t, unix.Setrlimit(which, &unix.Rlimit{Cur: uint64(n), Max: uint64(n)}))
}
