package snapshot

import (
	"fmt"
	"testing"
)

// BenchmarkRestore tells what a restore costs for so many written pages, the writing itself left
// out of Best's time but not of Drop's next call: see BenchmarkWriteAndRestore.
func BenchmarkRestore(b *testing.B) { benchmark(b, false) }

// BenchmarkWriteAndRestore counts the writes too, one in each page, and so the faults that a road
// leaves to the next call.
func BenchmarkWriteAndRestore(b *testing.B) { benchmark(b, true) }

func benchmark(b *testing.B, writes bool) {
	for _, size := range []int{64 << 10, 128 << 10, 256 << 10, 1 << 20, 4 << 20, 32 << 20} {
		for _, dirty := range []int{0, 1, 10, 100} {
			for _, road := range []Road{Copy, Drop, Pagemap, Scan} {
				if dirty*granule > size || best() == Copy && road != Copy {
					continue
				}
				name := fmt.Sprintf("image=%dK/dirty=%d/%s", size>>10, dirty, road)
				b.Run(name, func(b *testing.B) { restores(b, size, dirty, road, writes) })
			}
		}
	}
}

func restores(b *testing.B, size, dirty int, road Road, writes bool) {
	i := clone(b, size/PageSize, 2*int64(size), Options{Road: road, Keep: 64 << 20})
	step := 0
	if dirty > 0 {
		step = size / dirty / granule * granule
	}
	write := func() {
		for n := range dirty {
			i.buffer[n*step]++
		}
	}
	write()
	check(b, i.m.Restore(i))
	for b.Loop() {
		if writes {
			write()
		}
		check(b, i.m.Restore(i))
	}
}
