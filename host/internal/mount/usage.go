package mount

import (
	"math"
	"sync"
)

// usage is what was added to a mount, less what was removed, held against what may be. It is never
// below zero: who removes first what was there before has earned nothing.
type usage struct {
	sizes    sync.Mutex // held from looking at a file's size to changing it: calls run side by side
	mu       sync.Mutex // of what follows
	bytes    int64
	files    int
	maxBytes int64
	maxFiles int
}

// grow reserves bytes, if there is room for all of them.
func (u *usage) grow(bytes int64) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if bytes > u.maxBytes-u.bytes {
		return false
	}
	u.bytes += max(bytes, 0)
	return true
}

// add reserves a file.
func (u *usage) add() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.files >= u.maxFiles {
		return false
	}
	u.files++
	return true
}

func (u *usage) free(bytes int64, files int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.bytes = max(0, u.bytes-max(bytes, 0))
	u.files = max(0, u.files-files)
}

// growth is by how many bytes a file of a size grows when n are written at an offset; false: past
// the largest file there can be.
func growth(size, at int64, n int) (int64, bool) {
	if at > math.MaxInt64-int64(n) {
		return 0, false
	}
	return max(0, at+int64(n)-size), true
}
