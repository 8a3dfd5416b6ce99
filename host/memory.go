package host

import "github.com/tetratelabs/wazero/experimental"

// memory is the linear memory of one instance, bounded by its policy. It remembers what it refused,
// because all that WebAssembly shows of a refusal is the trap or exit that usually follows.
type memory struct {
	limit  uint64 // bytes
	bytes  []byte
	denied uint64 // the size last refused, 0 when none was
	peak   uint64 // the largest size it had
}

// Allocate implements experimental.MemoryAllocator.
func (m *memory) Allocate(_, _ uint64) experimental.LinearMemory { return m }

// Reallocate gives size bytes, those there were unchanged and new ones zero, or nil.
func (m *memory) Reallocate(size uint64) []byte {
	switch {
	case size > m.limit:
		m.denied = size
		return nil
	case size > uint64(cap(m.bytes)):
		// A quarter more than was asked, so that a guest that grows page by page does not copy
		// its memory each time.
		grown := make([]byte, size, min(size+size/4, m.limit))
		copy(grown, m.bytes)
		m.bytes = grown
	default:
		m.bytes = m.bytes[:size]
	}
	m.peak = max(m.peak, size)
	return m.bytes
}

// Free implements experimental.LinearMemory.
func (m *memory) Free() { m.bytes = nil }
