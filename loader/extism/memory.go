package extism

import (
	"fmt"
	"math/bits"

	"github.com/wasmagent/wasmagent/host"
)

const (
	// MaxBlocks is how many blocks a guest may have at a time. Their table takes some 10 MiB.
	MaxBlocks = 1 << 17

	// What loading may leave behind. It is copied for every call.
	MaxLoadedBytes  = 1 << 20 // of blocks
	MaxLoadedBlocks = 1 << 10

	// minBlock is the smallest room of a block, in bytes: a guest reads words.
	minBlock = 8

	// classes of room, each of twice as many bytes as the one before. The last is more than any
	// limit allows.
	classes = 40
)

// memory is the blocks that a guest shares with its host. An offset is the place of a byte in
// arena; 0 is none. The guest reaches the arena's bytes, and never the table.
type memory struct {
	arena   []byte
	claimed int               // bytes of arena that the guest was charged for
	blocks  map[uint64]uint64 // lengths by offset
	free    [classes][]uint64 // offsets of free rooms of 1<<i bytes
}

// bounds is what a memory may have at a time.
type bounds struct {
	bytes  int64 // of arena, which claim bounds too
	blocks int
	claim  func(bytes int64) error
}

func newMemory() *memory {
	return &memory{
		arena: make([]byte, minBlock, 4<<10), claimed: minBlock, blocks: map[uint64]uint64{},
	}
}

// fork copies the blocks, for a guest that is yet to be charged for them.
func (m *memory) fork() *memory {
	c := newMemory()
	c.arena = append(c.arena[:0], m.arena...)
	for at, size := range m.blocks {
		c.blocks[at] = size
	}
	for i, list := range m.free {
		c.free[i] = append([]uint64(nil), list...)
	}
	return c
}

// settle charges for what a fork was made with.
func (m *memory) settle(b *bounds) error {
	err := b.claim(int64(len(m.arena) - m.claimed))
	if err == nil {
		m.claimed = len(m.arena)
	}
	return err
}

// class is which room a block of size bytes gets: of a power of two, so that a freed one can be
// used again.
func class(size uint64) int { return bits.Len64(max(size, minBlock) - 1) }

// alloc makes a block of size bytes, all zero.
func (m *memory) alloc(size uint64, b *bounds) (at uint64, err error) {
	if size == 0 {
		return 0, nil
	}
	if len(m.blocks) >= b.blocks {
		return 0, broken("more than %d blocks at a time", b.blocks)
	}
	c := class(size)
	if c < classes && len(m.free[c]) > 0 {
		list := m.free[c]
		at, m.free[c] = list[len(list)-1], list[:len(list)-1]
		clear(m.arena[at : at+1<<c])
	} else if at, err = m.grow(c, b); err != nil {
		return 0, err
	}
	m.blocks[at] = size
	return at, nil
}

// grow adds a room of zeros to the arena.
func (m *memory) grow(c int, b *bounds) (at uint64, err error) {
	room := int64(1) << min(c, classes)
	if room > b.bytes-int64(len(m.arena)) {
		return 0, broken("more than %d bytes of blocks", b.bytes)
	}
	at = uint64(len(m.arena))
	return at, m.extend(room, b)
}

// extend adds zeros to the arena.
func (m *memory) extend(n int64, b *bounds) error {
	if err := b.claim(n); err != nil {
		return err
	}
	m.arena = append(m.arena, make([]byte, n)...)
	m.claimed += int(n)
	return nil
}

// page is how far Extism's memory reaches past the last block, in bytes. There are kits that write
// past the end of a block, and nobody notices.
const page = 64 << 10

// reach is bytes of the arena, which is extended for them within its last page.
func (m *memory) reach(at, size uint64, b *bounds) ([]byte, error) {
	if b, ok := m.view(at, size); ok && at != 0 {
		return b, nil
	}
	have := uint64(len(m.arena))
	whole := (have + page - 1) / page * page
	if at == 0 || at > whole || size > whole-at {
		return nil, broken("%d bytes at offset %d are not in its memory of %d bytes", size, at, have)
	}
	if end := (at + size + minBlock - 1) / minBlock * minBlock; end > have {
		if err := m.extend(int64(end-have), b); err != nil {
			return nil, err
		}
	}
	return m.arena[at : at+size : at+size], nil
}

// put makes a block of bytes of the host's; of none there is no block.
func (m *memory) put(data []byte, b *bounds) (at uint64, err error) {
	if at, err = m.alloc(uint64(len(data)), b); err == nil {
		copy(m.arena[at:], data)
	}
	return at, err
}

// release frees a block. What is none is left alone, as Extism does.
func (m *memory) release(at uint64) {
	size, ok := m.blocks[at]
	if !ok {
		return
	}
	delete(m.blocks, at)
	c := class(size)
	m.free[c] = append(m.free[c], at)
}

// length is that of a block, 0 of what is none.
func (m *memory) length(at uint64) uint64 { return m.blocks[at] }

// block is the bytes of a block; nil of what is none.
func (m *memory) block(at uint64) []byte {
	b, _ := m.view(at, m.blocks[at])
	return b
}

// view is bytes of the arena, wherever blocks begin.
func (m *memory) view(at, size uint64) ([]byte, bool) {
	have := uint64(len(m.arena))
	if at > have || size > have-at {
		return nil, false
	}
	return m.arena[at : at+size : at+size], true
}

// broken is a guest that broke Extism's rules.
func broken(format string, args ...any) error {
	return &host.ContractError{Detail: "extism: " + fmt.Sprintf(format, args...)}
}
