package host

import (
	"slices"
	"sync/atomic"
)

// budget is how much memory all guests may have together, in bytes.
type budget struct {
	max  int64
	used atomic.Int64
}

// charge books bytes, negative ones to give them back. It reports whether they are to be had.
func (b *budget) charge(bytes int64) bool {
	for {
		used := b.used.Load()
		if bytes > 0 && used+bytes > b.max {
			return false
		}
		if b.used.CompareAndSwap(used, used+bytes) {
			return true
		}
	}
}

// charge books memory, at the cost of idle instances if the budget wants that.
func (e *Engine) charge(bytes int64) bool {
	for !e.budget.charge(bytes) {
		if !e.evict() {
			return false
		}
	}
	return true
}

// evict closes an idle instance, to make room for another: of the module that was used longest ago
// the one used longest ago. It reports whether there was any.
func (e *Engine) evict() bool {
	for {
		m := e.idlest()
		if m == nil {
			return false
		}
		if in := m.popOldest(); in != nil { // else a call was faster
			in.close()
			return true
		}
	}
}

// idlest is the module used longest ago that has an idle instance.
func (e *Engine) idlest() (idlest *Module) {
	e.mu.Lock()
	defer e.mu.Unlock()
	first := int64(0)
	for m := range e.modules {
		if used, idle := m.idleSince(); idle && (idlest == nil || used < first) {
			idlest, first = m, used
		}
	}
	return idlest
}

// idleSince tells when an instance was last put back, by the engine's count, if one idles.
func (m *Module) idleSince() (used int64, idle bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used, len(m.free) > 0
}

// popOldest takes the idle instance that was used longest ago.
func (m *Module) popOldest() *instance {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.free) == 0 {
		return nil
	}
	in := m.free[0]
	m.free = slices.Delete(m.free, 0, 1)
	return in
}
