package sdkchild

import (
	"github.com/tetratelabs/wazero/experimental"

	"github.com/wasmagent/wasmagent/host"
)

// memory gives the memories of one call, of all modules together.
type memory struct {
	max, used, most int64 // bytes
	refused         int64 // what was last asked in vain, 0: nothing was
}

// Allocate implements experimental.MemoryAllocator.
func (m *memory) Allocate(_, _ uint64) experimental.LinearMemory { return &linear{memory: m} }

// blame gives the limit for a guest that gave up when it was refused memory.
func (m *memory) blame(err error) error {
	trap, ok := err.(*host.TrapError)
	if m.refused == 0 || !ok {
		return err
	}
	limit := &host.LimitError{Limit: "memory", Max: m.max, Asked: m.refused}
	if trap.Trap == "unreachable" {
		return limit
	}
	trap.Note = "earlier it was refused memory: " + limit.Error()
	return trap
}

type linear struct {
	*memory
	b []byte
}

// Reallocate implements experimental.LinearMemory.
func (l *linear) Reallocate(size uint64) []byte {
	more := int64(size) - int64(len(l.b))
	if l.used+more > l.max {
		l.refused = l.used + more
		if l.b == nil { // the engine has no other way to hear of it
			panic(&host.LimitError{Limit: "memory", Max: l.max, Asked: l.refused})
		}
		return nil
	}
	l.used += more
	l.most = max(l.most, l.used)
	if more > 0 {
		l.b = append(l.b, make([]byte, more)...)
	}
	return l.b
}

// Free implements experimental.LinearMemory.
func (l *linear) Free() {
	l.used -= int64(len(l.b))
	l.b = nil
}
