package extism

import "github.com/wasmagent/wasmagent/host"

// Read copies the block at an offset that a guest gave to a function of Options.Functions. What is
// no block has no bytes.
func Read(g *host.Guest, offset uint64) []byte {
	return append([]byte(nil), enter(g, nil).text(offset)...)
}

// Write makes a block of the guest's, and gives its offset: 0 of no bytes. It ends a guest that has
// no room left.
func Write(g *host.Guest, data []byte) (offset uint64) { return enter(g, nil).put(data) }

// Free frees a block.
func Free(g *host.Guest, offset uint64) { enter(g, nil).mem.release(offset) }
