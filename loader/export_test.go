package loader

import (
	"context"
	"io/fs"
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

// Looker makes the looks of Watch, each when a test wants it.
type Looker struct{ w *watcher }

// NewLooker begins to watch a directory.
func NewLooker(d *Dir, told func(Change)) (*Looker, error) {
	l := &Looker{newWatcher(d, told)}
	return l, l.w.keepAll(context.Background())
}

// Look reports whether something has yet to settle.
func (l *Looker) Look(ctx context.Context) (again bool, err error) { return l.w.look(ctx) }

// SetPace gives a directory's options the times of Watch.
func SetPace(o *Options, settle, poll time.Duration) { o.settle, o.poll = settle, poll }

// Blind makes a system that tells of no changes.
func Blind(o *Options) { o.blind = true }

// NewVersions gives the functions of a store of versions with a limit of its own.
func NewVersions(dir string, max int64) (
	start func() error, put func(string, []byte) error, has func(string) bool) {
	v := &versions{dir: dir, max: max}
	return v.start, v.put, v.has
}

// Changed is when a file was last changed in any way, where the system says so.
func Changed(info fs.FileInfo) time.Time {
	if at := identify(info).CTime; at != 0 {
		return time.Unix(0, at)
	}
	return info.ModTime()
}
