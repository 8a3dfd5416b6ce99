//go:build linux && !(386 || arm || mips || mipsle) && !portable

package snapshot

import "sync"

var probed struct {
	once sync.Once
	road Road
}

// best tries the roads on a memory of its own: whether a kernel, a sandbox around this process or
// an emulation of Linux does what it should is seen best in the result.
func best() Road {
	probed.once.Do(func() {
		probed.road = Drop
		for _, r := range []Road{Pagemap, Scan} {
			if works(r) {
				probed.road = r
			}
		}
	})
	return probed.road
}

// works writes a page inside the image and one above it, and wants just these two put back.
func works(r Road) bool {
	photo := make([]byte, PageSize)
	for at := 0; at < PageSize; at += systemPage {
		photo[at] = 1
	}
	image, err := NewImage(photo)
	if err != nil {
		return false
	}
	defer image.Close()
	m, err := New(2*PageSize, &Options{Image: image, Road: r})
	if err != nil {
		return false
	}
	defer m.Close()
	view := probeView{m}
	if _, ok := view.Grow(1); !ok {
		return false
	}
	m.space[PageSize-1]++
	m.space[PageSize]++
	return m.Restore(view) == nil && m.Verify() == nil && m.stats.Copied == int64(2*systemPage)
}

// probeView grows a memory that no instance has.
type probeView struct{ m *Memory }

func (v probeView) Grow(pages uint32) (uint32, bool) {
	before := v.m.size / PageSize
	return uint32(before), v.m.Reallocate(uint64(v.m.size)+uint64(pages)*PageSize) != nil
}
