package host

import "sync/atomic"

// budget is how much memory all guests may have together, in bytes.
type budget struct {
	max  int64
	used atomic.Int64
}

// charge books bytes, negative ones to give them back. It reports whether they are to be had.
func (b *budget) charge(bytes int64) bool {
	if used := b.used.Add(bytes); bytes > 0 && used > b.max {
		b.used.Add(-bytes)
		return false
	}
	return true
}
