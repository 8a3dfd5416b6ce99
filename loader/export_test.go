package loader

import (
	"sync"
	"time"
)

// RacyWindow is racyWindow, for tests.
const RacyWindow = racyWindow

// SetNow gives a directory's options a clock.
func SetNow(o *Options, f func() time.Time) { o.now = f }

// CountReads counts from now on how often each plugin is read.
func CountReads(o *Options) func(path string) int {
	var mu sync.Mutex
	counts := map[string]int{}
	o.onRead = func(path string) {
		mu.Lock()
		defer mu.Unlock()
		counts[path]++
	}
	return func(path string) int {
		mu.Lock()
		defer mu.Unlock()
		return counts[path]
	}
}

// CodeUsed is what the compiled plugins of a directory have together, in bytes.
func CodeUsed(d *Dir) int64 {
	d.shelf.mu.Lock()
	defer d.shelf.mu.Unlock()
	return d.shelf.used
}
