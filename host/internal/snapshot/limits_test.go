package snapshot

import (
	"errors"
	"fmt"
	"testing"
)

func TestLimits(t *testing.T) {
	const p = PageSize
	full := func(int64) bool { return false }
	room := func(n int64) bool { return n <= 2*p }
	over := func(r Reason, asked, max int64) *Denial {
		return &Denial{Reason: r, Asked: asked, Max: max}
	}
	for _, c := range []struct {
		name  string
		limit int64
		o     Options
		to    int64 // size to grow to; −1: the first one is refused
		want  *Denial
	}{
		{"at the limit", 4 * p, Options{Min: p}, 4 * p, nil},
		{"over the limit", 4 * p, Options{Min: p}, 5 * p, over(Policy, 5*p, 4*p)},
		{"limit within a page", 4*p + p/2, Options{Min: p}, 5 * p, over(Policy, 5*p, 4*p)},
		{"at the maximum", 9 * p, Options{Min: p, Declared: 3 * p}, 3 * p, nil},
		{"over the maximum", 9 * p, Options{Min: p, Declared: 3 * p}, 4 * p,
			over(Declared, 4*p, 3*p)},
		{"over both", 4 * p, Options{Min: p, Declared: 3 * p}, 5 * p,
			over(Declared, 5*p, 3*p)},
		{"maximum above the limit", 4 * p, Options{Min: p, Declared: 6 * p}, 5 * p,
			over(Policy, 5*p, 4*p)},
		{"minimum over the limit", 4 * p, Options{Min: 5 * p}, -1, over(Policy, 5*p, 4*p)},
		{"no limit left", 0, Options{Min: p}, -1, over(Policy, p, 0)},
		{"budget refuses the minimum", 4 * p, Options{Min: p, Charge: full}, -1,
			over(Budget, p, 0)},
		{"within the budget", 9 * p, Options{Min: p, Charge: room}, 3 * p, nil},
		{"budget refuses", 9 * p, Options{Min: p, Charge: room}, 4 * p, over(Budget, 4*p, 0)},
		{"far too much", 4 * p, Options{Min: p}, 65535 * p,
			over(Policy, 65535*p, 4*p)},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := New(c.limit, &c.o)
			if c.to < 0 {
				var d *Denial
				if !errors.As(err, &d) || *d != *c.want {
					t.Fatalf("got %v, want %v", err, c.want)
				}
				return
			}
			check(t, err)
			defer m.Close()
			i := instantiate(m, PageSize)
			_, ok := i.Grow(uint32(c.to/p) - 1)
			if ok != (c.want == nil) {
				t.Fatalf("growing: %v", ok)
			}
			if got := m.Denied(); fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Fatalf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestRestoreForgetsADenial(t *testing.T) {
	i := clone(t, 1, 2*PageSize, Options{})
	if _, ok := i.Grow(2); ok || i.m.Denied() == nil {
		t.Fatal("grew over the limit")
	}
	check(t, i.m.Restore(i))
	if d := i.m.Denied(); d != nil {
		t.Fatalf("still there: %v", d)
	}
}

// TestMaxSize: the largest memory can still be restored in wazero, which refuses to grow past
// 65,535 pages.
func TestMaxSize(t *testing.T) {
	m, err := New(1<<40, &Options{Min: PageSize})
	if err != nil {
		t.Skipf("no 4 GiB of address space: %v", err)
	}
	defer m.Close()
	if d := m.growTo(MaxSize + PageSize); d == nil || d.Reason != Policy || d.Max != MaxSize {
		t.Fatalf("one page over: %v", d)
	}
	if testing.Short() || best() == Copy {
		return
	}
	if d := m.growTo(MaxSize); d != nil {
		t.Fatalf("the largest size: %v", d)
	}
}

func TestNewRefusesOddSizes(t *testing.T) {
	if _, err := NewImage(make([]byte, PageSize+1)); err == nil {
		t.Error("image of half a page")
	}
	if _, err := New(1<<20, &Options{Min: PageSize + 1}); err == nil {
		t.Error("minimum of half a page")
	}
	if _, err := New(1<<20, &Options{Min: -PageSize}); err == nil {
		t.Error("negative minimum")
	}
	image := must[*Image](t)(NewImage(photo(1)))
	defer image.Close()
	if _, err := New(1<<20, &Options{Image: image, Min: 2 * PageSize}); err == nil {
		t.Error("minimum above the image")
	}
	if _, err := New(0, &Options{Image: image}); err == nil {
		t.Error("image above the limit")
	}
}

// What is claimed counts as if the memory had grown by as much, until it is disclaimed.
func TestClaim(t *testing.T) {
	const p = PageSize
	booked := int64(0)
	budget := func(n int64) bool {
		if n > 0 && booked+n > 6*p {
			return false
		}
		booked += n
		return true
	}
	m, err := New(4*p, &Options{Min: p, Charge: budget})
	check(t, err)
	i := instantiate(m, p)
	over := func(d *Denial, r Reason, asked, max int64) {
		t.Helper()
		if want := (&Denial{Reason: r, Asked: asked, Max: max}); fmt.Sprint(d) != fmt.Sprint(want) {
			t.Errorf("got %v, want %v", d, want)
		}
	}
	if d := m.Claim(2*p + 1); d != nil {
		t.Fatal(d)
	}
	over(m.Claim(p), Policy, 4*p+1, 4*p)
	over(m.Claim(1<<63-1), Policy, 1<<63-1, 4*p)
	over(m.Claim(-1), Policy, 3*p, 4*p)
	if d := m.Claim(p - 1); d != nil || booked != 4*p {
		t.Fatalf("%v, with %d bytes booked", d, booked)
	}
	if _, ok := i.Grow(1); ok {
		t.Error("the memory grew into what was claimed")
	}
	over(m.Denied(), Policy, 5*p, 4*p)
	m.Disclaim()
	m.Disclaim()
	if _, ok := i.Grow(1); !ok || booked != 2*p {
		t.Errorf("grown: %v, with %d bytes booked", ok, booked)
	}
	booked = 5 * p // by others, too
	over(m.Claim(2*p), Budget, 4*p, 0)
	if d := m.Claim(p); d != nil {
		t.Fatal(d)
	}
	check(t, m.Close())
	if booked != 3*p {
		t.Errorf("%d bytes stay booked, want the others' %d", booked, 3*p)
	}
}
