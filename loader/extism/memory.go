package extism

import (
	"math/bits"

	"github.com/wasmagent/wasmagent/host"
)

// maxBlocks is how many blocks a guest may have at a time.
const maxBlocks = 1 << 17

// minBlock is the smallest room of a block, in bytes: a guest reads words.
const minBlock = 8

// memory is the blocks that a guest shares with its host. An offset is the place of a byte in
// arena; 0 is none. The guest reaches the arena's bytes, and never the table.
type memory struct {
	arena  []byte
	blocks map[uint64]uint64 // lengths by offset
	free   [48][]uint64      // offsets of free rooms of 1<<i bytes
	max    int64             // bytes of arena
}

func newMemory() *memory {
	return &memory{arena: make([]byte, minBlock, 4<<10), blocks: map[uint64]uint64{}}
}

// fork copies the blocks.
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

// alloc makes a block of size bytes, all zero. Its room is a power of two, so that a freed one can
// be used again.
func (m *memory) alloc(size uint64) (at uint64, err error) {
	if size == 0 {
		return 0, nil
	}
	class := bits.Len64(max(size, minBlock) - 1)
	if len(m.blocks) >= maxBlocks {
		return 0, &host.ContractError{Detail: "extism: more than 131072 blocks at a time"}
	}
	if class < len(m.free) && len(m.free[class]) > 0 {
		list := m.free[class]
		at, m.free[class] = list[len(list)-1], list[:len(list)-1]
		clear(m.arena[at : at+1<<class])
	} else {
		if class >= len(m.free) || uint64(len(m.arena))+1<<class > uint64(m.max) {
			return 0, &host.LimitError{Limit: "memory", Max: m.max,
				Asked: int64(min(size, 1<<62))}
		}
		at = uint64(len(m.arena))
		m.grow(1 << class)
	}
	m.blocks[at] = size
	return at, nil
}

// grow adds zeros to the arena.
func (m *memory) grow(n int) {
	m.arena = append(m.arena, make([]byte, n)...)
}

// put makes a block of bytes of the host's; of none there is no block.
func (m *memory) put(b []byte) (at uint64, err error) {
	if at, err = m.alloc(uint64(len(b))); err == nil {
		copy(m.arena[at:], b)
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
	class := bits.Len64(max(size, minBlock) - 1)
	m.free[class] = append(m.free[class], at)
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
