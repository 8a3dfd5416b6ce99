package snapshot

import (
	"fmt"
	"runtime"
	"testing"
)

// BenchmarkRestore writes one byte in each of so many pages and restores them, in rounds: it counts
// the faults that a road leaves to the next call as well as its own work.
func BenchmarkRestore(b *testing.B) {
	for _, size := range []int{64 << 10, 128 << 10, 256 << 10, 1 << 20, 4 << 20, 32 << 20} {
		for _, dirty := range []int{0, 1, 10, 100} {
			for _, road := range []Road{Copy, Drop, Pagemap, Scan} {
				if dirty*granule > size || best() == Copy && road != Copy {
					continue
				}
				name := fmt.Sprintf("image=%dK/pages=%d/%s", size>>10, dirty, road)
				b.Run(name, func(b *testing.B) { benchmark(b, size, dirty, road) })
			}
		}
	}
}

func benchmark(b *testing.B, size, dirty int, road Road) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	i := clone(b, size/PageSize, 2*int64(size), Options{Road: road, Keep: 64 << 20})
	step := size / max(1, dirty) / granule * granule
	before := cpuTime()
	for b.Loop() {
		for n := range dirty {
			i.buffer[n*step]++
		}
		check(b, i.m.Restore(i))
	}
	b.ReportMetric(float64(cpuTime()-before)/float64(b.N), "cpu-ns/op")
}
