package snapshot

import "testing"

// play restores n times, with what each restore leaves resident, and counts the drops.
func (t *tide) play(n int, resident int64) (drops int) {
	for range n {
		if t.turns(resident) {
			drops++
		}
	}
	return drops
}

func TestTide(t *testing.T) {
	const mib = 1 << 20
	var d tide
	if n := d.play(10_000, tideFloor); n != 0 {
		t.Errorf("%d drops of few pages", n)
	}
	if n := d.play(100_000, mib); n > 40 {
		t.Errorf("%d drops in 100,000 calls of equal size", n)
	}
	if n := d.play(1, 2*mib); n != 0 {
		t.Error("a call twice as large drops")
	}
	if n := d.play(1, 2*mib+1); n != 1 {
		t.Error("a call more than twice as large does not drop")
	}
	if n := d.play(tideFirst-1, mib); n != 0 {
		t.Errorf("%d drops at once after a drop", n)
	}
	if n := d.play(1, mib); n != 1 {
		t.Error("no drop to see what comes back")
	}
}

// TestLargeCallDoesNotLinger: after one call that wrote a lot, small ones are cheap again at once.
func TestLargeCallDoesNotLinger(t *testing.T) {
	if best() == Copy || best() == Drop {
		t.Skip("no road here that keeps pages")
	}
	i := clone(t, 64, 1<<30, Options{})
	small := func() int64 {
		i.buffer[0]++
		check(t, i.m.Restore(i))
		check(t, i.m.Verify())
		return i.m.Stats().Copied
	}
	first := small()
	for at := 0; at < len(i.buffer); at += granule {
		i.buffer[at]++
	}
	check(t, i.m.Restore(i))
	small() // drops what the large call left
	if got := small(); got > first {
		t.Fatalf("a small call copies %d bytes, %d before the large one", got, first)
	}
}
