//go:build linux && !(386 || arm || mips || mipsle) && !portable

package snapshot

import "testing"

// What stays resident with a restored memory is booked, and is no more than its image and what may
// stay: also what calls wrote above each other's size.
func TestResidentPagesAreBooked(t *testing.T) {
	const keep = 32
	for _, road := range roads {
		var booked int64
		charge := func(n int64) bool { booked += n; return true }
		i := clone(t, 3, 1000*PageSize, Options{Road: road, Keep: keep * PageSize, Charge: charge})
		for n, grow := range []uint32{30, 900, 600, 300, 20, 0, 33, 32, 1, 900, 20} {
			i.Grow(grow)
			if booked < int64(len(i.buffer)) {
				t.Errorf("%s, call %d: %d bytes are booked while it has %d", road, n, booked,
					len(i.buffer))
			}
			for at := max(0, len(i.buffer)-30*PageSize); at < len(i.buffer); at += systemPage {
				i.buffer[at]++
			}
			check(t, i.m.Restore(i))
			check(t, i.m.Verify())
			if stays := int64(private(t, i.m)); stays > booked {
				t.Errorf("%s, call %d: %d bytes stay, %d are booked", road, n, stays, booked)
			}
			if booked > (3+keep)*PageSize {
				t.Errorf("%s, call %d: %d bytes stay booked", road, n, booked)
			}
		}
		check(t, i.m.Trim())
		if booked != 3*PageSize {
			t.Errorf("%s: %d bytes are booked after a trim", road, booked)
		}
		check(t, i.m.Close())
		if booked != 0 {
			t.Errorf("%s: %d bytes are booked for a closed memory", road, booked)
		}
	}
}
