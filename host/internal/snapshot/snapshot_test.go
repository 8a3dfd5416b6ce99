package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// instance is what wazero's memory instance does with a memory: it keeps the slice that it was
// given, and takes any other when it grows.
type instance struct {
	m      *Memory
	buffer []byte
}

func instantiate(m *Memory, min int) *instance {
	return &instance{m, m.Allocate(0, 0).Reallocate(uint64(min))}
}

func (i *instance) Grow(pages uint32) (uint32, bool) {
	before := len(i.buffer) / PageSize
	grown := i.m.Reallocate(uint64(before+int(pages)) * PageSize)
	if grown == nil {
		return 0, false
	}
	i.buffer = grown
	return uint32(before), true
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// photo is a memory of some pages with bytes in about every second granule.
func photo(pages int) []byte {
	b := make([]byte, pages*PageSize)
	r := rand.New(rand.NewPCG(1, 2))
	for at := 0; at < len(b); at += granule {
		if r.IntN(2) == 0 {
			b[at+r.IntN(granule)] = byte(1 + r.IntN(255))
		}
	}
	return b
}

// clone makes an image of pages and an instance of it.
func clone(t testing.TB, pages int, limit int64, o Options) *instance {
	t.Helper()
	image := must[*Image](t)(NewImage(photo(pages)))
	o.Image = image
	m := must[*Memory](t)(New(limit, &o))
	check(t, image.Close())
	t.Cleanup(func() { check(t, m.Close()) })
	return instantiate(m, pages*PageSize)
}

var roads = []Road{Auto, Copy, Drop, Pagemap, Scan}

// TestRestoreAgainstModel writes, grows, restores and trims at random beside a plain slice that
// does the same.
func TestRestoreAgainstModel(t *testing.T) {
	for _, road := range roads {
		if best() == Copy && road != Auto {
			continue // a system with one road only
		}
		t.Run(road.String(), func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) { runModel(t, rt, road) })
		})
	}
}

func runModel(t *testing.T, rt *rapid.T, road Road) {
	const limit = 12
	pages := rapid.IntRange(0, 4).Draw(rt, "pages")
	keep := rapid.IntRange(1, limit).Draw(rt, "keep")
	base := photo(pages)
	image := must[*Image](t)(NewImage(base))
	defer image.Close()
	m := must[*Memory](t)(New(limit*PageSize,
		&Options{Image: image, Road: road, Keep: int64(keep) * PageSize}))
	defer m.Close()
	i := instantiate(m, 0)
	runtime.LockOSThread() // for Watch
	defer runtime.UnlockOSThread()
	model := bytes.Clone(base)
	rt.Repeat(map[string]func(*rapid.T){
		"": func(rt *rapid.T) {
			if !bytes.Equal(i.buffer, model) {
				rt.Fatal("the memory is not what was written to it")
			}
		},
		"write": func(rt *rapid.T) {
			if len(model) == 0 {
				rt.Skip("no memory")
			}
			off := rapid.IntRange(0, len(model)-1).Draw(rt, "off")
			b := rapid.SliceOfN(rapid.Byte(), 1, 3*granule).Draw(rt, "bytes")
			copy(i.buffer[off:], b)
			copy(model[off:], b)
		},
		"grow": func(rt *rapid.T) {
			more := rapid.IntRange(1, 5).Draw(rt, "more")
			_, ok := i.Grow(uint32(more))
			if fits := len(model)/PageSize+more <= limit; ok != fits {
				rt.Fatalf("growing %d bytes by %d pages: %v", len(model), more, ok)
			}
			if ok {
				model = append(model, make([]byte, more*PageSize)...)
			}
		},
		"restore": func(rt *rapid.T) {
			check(t, m.Restore(i))
			check(t, m.Verify())
			if got := m.Stats().Resident; got > int64(keep)*PageSize && best() != Copy {
				rt.Fatalf("%d bytes stay resident, %d pages may", got, keep)
			}
			if rapid.Bool().Draw(rt, "watch") {
				m.Watch()
			}
			model = append(model[:0], base...)
		},
		"wait": func(rt *rapid.T) {
			m.Unwatch()
			if rapid.Bool().Draw(rt, "watch again") {
				m.Watch()
			} else {
				check(t, m.Restore(i))
				model = append(model[:0], base...)
			}
		},
		"trim": func(rt *rapid.T) {
			check(t, m.Restore(i))
			check(t, m.Trim())
			check(t, m.Verify())
			model = append(model[:0], base...)
		},
	})
}

// TestAdopt: the instance that was photographed becomes a clone in place.
func TestAdopt(t *testing.T) {
	m := must[*Memory](t)(New(1<<20, &Options{Min: 3 * PageSize}))
	defer m.Close()
	i := instantiate(m, 3*PageSize)
	if err := m.Restore(i); !errors.Is(err, errNoImage) {
		t.Fatalf("restore without an image: %v", err)
	}
	copy(i.buffer, photo(3))
	image := must[*Image](t)(NewImage(i.buffer))
	check(t, m.Adopt(image))
	if err := m.Adopt(image); err == nil {
		t.Fatal("adopted twice")
	}
	check(t, image.Close())
	if !bytes.Equal(i.buffer, photo(3)) {
		t.Fatal("adopting changed the memory")
	}
	i.buffer[5]++
	i.Grow(2)
	i.buffer[4*PageSize]++
	check(t, m.Restore(i))
	if !bytes.Equal(i.buffer, photo(3)) {
		t.Fatal("not restored")
	}

	other := must[*Memory](t)(New(1<<20, &Options{Min: PageSize}))
	defer other.Close()
	larger := must[*Image](t)(NewImage(photo(2)))
	defer larger.Close()
	if err := other.Adopt(larger); err == nil {
		t.Fatal("adopted an image of another size")
	}
}

func TestVerifyFinds(t *testing.T) {
	for _, at := range []int{0, granule, 2*PageSize - 1} {
		i := clone(t, 2, 4*PageSize, Options{})
		i.buffer[at]++
		want := fmt.Sprintf("%#x", at)
		if err := i.m.Verify(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a byte changed at %s: %v", want, err)
		}
	}
	i := clone(t, 2, 4*PageSize, Options{})
	i.Grow(1)
	if err := i.m.Verify(); err == nil {
		t.Error("a memory that grew passes")
	}
	i.buffer[2*PageSize+7] = 1
	i.m.size = i.m.image.size
	if err := i.m.Verify(); err == nil || !strings.Contains(err.Error(), "0x20007") {
		t.Errorf("a byte left above the image: %v", err)
	}
}

// stubborn is an instance that does not take the size it is given.
type stubborn struct{}

func (stubborn) Grow(uint32) (uint32, bool) { return 0, false }

func TestRestoreNeedsTheInstance(t *testing.T) {
	i := clone(t, 1, 4*PageSize, Options{})
	i.Grow(1)
	if err := i.m.Restore(stubborn{}); err == nil {
		t.Fatal("an instance that kept its size was restored")
	}
	check(t, i.m.Restore(i))
	if len(i.buffer) != PageSize {
		t.Fatalf("%d bytes after a restore", len(i.buffer))
	}
}

// TestChargeBalances: what was booked is given back, whatever happened between.
func TestChargeBalances(t *testing.T) {
	var used atomic.Int64
	charge := func(n int64) bool { used.Add(n); return true }
	image := must[*Image](t)(NewImage(photo(2)))
	defer image.Close()
	m := must[*Memory](t)(New(9*PageSize, &Options{Image: image, Charge: charge}))
	i := instantiate(m, PageSize)
	expect := func(pages int64) {
		t.Helper()
		if got := used.Load(); got != pages*PageSize {
			t.Fatalf("%d bytes booked, want %d pages", got, pages)
		}
	}
	expect(2)
	i.Grow(3)
	expect(5)
	i.Grow(30)
	expect(5)
	check(t, m.Restore(i))
	expect(5) // what it grew by may stay resident
	i.Grow(1)
	expect(5)
	m.Free()
	check(t, m.Close())
	expect(0)
}

func TestImageLivesWithItsMemories(t *testing.T) {
	image := must[*Image](t)(NewImage(photo(3)))
	a := must[*Memory](t)(New(1<<20, &Options{Image: image}))
	check(t, image.Close())
	check(t, image.Close())
	i := instantiate(a, 0)
	i.buffer[1]++
	check(t, a.Restore(i))
	check(t, a.Verify())
	if _, err := New(1<<20, &Options{Image: image}); !errors.Is(err, ErrClosed) {
		t.Fatalf("clone of a closed image: %v", err)
	}
	if image.view == nil {
		t.Fatal("the image went before its last memory")
	}
	check(t, a.Close())
	check(t, a.Close())
	if image.view != nil {
		t.Fatal("the image outlived its last memory")
	}
	for name, err := range map[string]error{
		"restore": a.Restore(i), "verify": a.Verify(), "trim": a.Trim(), "adopt": a.Adopt(image),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s of a closed memory: %v", name, err)
		}
	}
	if a.Reallocate(PageSize) != nil {
		t.Error("a closed memory grows")
	}
}

func TestAllocateOnce(t *testing.T) {
	m := must[*Memory](t)(New(1<<20, nil))
	defer m.Close()
	m.Allocate(0, 0)
	defer func() {
		if recover() == nil {
			t.Fatal("handed out twice")
		}
	}()
	m.Allocate(0, 0)
}

// TestClonesAreApart runs clones of one image on many goroutines while images come and go.
func TestClonesAreApart(t *testing.T) {
	const clones, rounds, pages = 8, 50, 4
	image := must[*Image](t)(NewImage(photo(pages)))
	var wg sync.WaitGroup
	for c := range clones {
		m := must[*Memory](t)(New(16*PageSize, &Options{Image: image, Road: roads[c%len(roads)]}))
		wg.Go(func() {
			defer m.Close()
			i := instantiate(m, 0)
			r := rand.New(rand.NewPCG(uint64(c), 0))
			for range rounds {
				i.Grow(uint32(r.IntN(4)))
				for range 10 {
					i.buffer[r.IntN(len(i.buffer))] = byte(c + 1)
				}
				if err := m.Restore(i); err != nil {
					t.Error(err)
				}
				if err := m.Verify(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	check(t, image.Close())
	wg.Wait()
	if n := image.refs.Load(); n != 0 {
		t.Fatalf("%d holds on the image are left", n)
	}
}

func TestImageStored(t *testing.T) {
	b := make([]byte, 16*PageSize)
	b[5*PageSize] = 1
	b[16*PageSize-1] = 1
	image := must[*Image](t)(NewImage(b))
	defer image.Close()
	if image.Stored() != 2*granule || image.Size() != 16*PageSize {
		t.Fatalf("stored %d of %d", image.Stored(), image.Size())
	}
}
