package snapshot

import (
	"errors"
	"fmt"
)

var errNoImage = errors.New("snapshot: the memory has no image")

// Grower is the part of wazero's api.Memory through which an instance learns its memory's size.
type Grower interface {
	Grow(pages uint32) (before uint32, ok bool)
}

// Restore gives the memory the bytes and the size of its image, and view that size. After an error
// the memory must be closed, not used.
func (m *Memory) Restore(view Grower) error {
	if m.closed {
		return ErrClosed
	}
	if m.image == nil {
		return errNoImage
	}
	m.denied = nil
	if err := m.restore(); err != nil {
		return fmt.Errorf("snapshot: restore by %s: %w", m.forImage, err)
	}
	m.book(m.high)
	if m.size == m.image.size {
		return nil
	}
	// wazero has no way to shrink, but takes whatever length it is given when it grows by a page.
	m.shrinking = true
	if _, ok := view.Grow(1); !ok || m.shrinking {
		m.shrinking = false
		return fmt.Errorf("snapshot: the instance kept its size of %d bytes", m.size)
	}
	return nil
}

// Stats of the last restore.
func (m *Memory) Stats() Stats { return m.stats }

// Verify compares a restored memory with its image byte by byte, and everything above with zero.
// It reads every page: it is for tests.
func (m *Memory) Verify() error {
	if m.closed {
		return ErrClosed
	}
	if m.image == nil {
		return errNoImage
	}
	if m.size != m.image.size {
		return fmt.Errorf("snapshot: memory has %d bytes, its image %d", m.size, m.image.size)
	}
	if at := m.image.differs(m.bytes(m.high)); at >= 0 {
		return fmt.Errorf("snapshot: memory differs from its image at byte %#x", at)
	}
	return nil
}
