package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"sync/atomic"
)

const (
	// PageSize is WebAssembly's unit of memory, in bytes.
	PageSize = 64 << 10

	// granule is the unit in which an image knows its zero bytes. Every system page is a multiple.
	granule = 4 << 10
)

var zeroes [granule]byte

// ErrClosed is returned for an image or a memory that was closed.
var ErrClosed = errors.New("snapshot: closed")

// Image is the bytes of a linear memory at one moment. It cannot change. It lives until it was
// closed and the last memory made from it was closed too.
type Image struct {
	size   int
	filled []uint64 // one bit for each granule that holds something else than zeroes
	stored int
	store
	refs   atomic.Int64 // the owner's one, and one for each memory
	closed atomic.Bool
}

// NewImage copies a memory, whose length must be a multiple of [PageSize].
func NewImage(memory []byte) (*Image, error) {
	if len(memory)%PageSize != 0 {
		return nil, fmt.Errorf("snapshot: an image of %d bytes is not whole pages of %d",
			len(memory), PageSize)
	}
	i := &Image{size: len(memory), filled: make([]uint64, (len(memory)/granule+63)/64)}
	for n := range len(memory) / granule {
		if !bytes.Equal(memory[n*granule:(n+1)*granule], zeroes[:]) {
			i.filled[n/64] |= 1 << (n % 64)
			i.stored += granule
		}
	}
	if err := i.open(memory); err != nil {
		return nil, fmt.Errorf("snapshot: image of %d bytes: %w", len(memory), err)
	}
	i.refs.Store(1)
	return i, nil
}

// Size is the length of the memory in bytes.
func (i *Image) Size() int64 { return int64(i.size) }

// Stored is how many bytes of it are not in pages of zeroes: what the image costs.
func (i *Image) Stored() int64 { return int64(i.stored) }

// Close gives up the owner's hold. Memories made from the image stay good. Closing again does
// nothing.
func (i *Image) Close() error {
	if i.closed.Swap(true) {
		return nil
	}
	return i.release()
}

func (i *Image) retain() error {
	for n := i.refs.Load(); n > 0 && !i.closed.Load(); n = i.refs.Load() {
		if i.refs.CompareAndSwap(n, n+1) {
			return nil
		}
	}
	return ErrClosed
}

func (i *Image) release() error {
	if i.refs.Add(-1) > 0 {
		return nil
	}
	return i.shut()
}

// run returns the end of the stretch from off, at most to end, whose granules are all filled or
// all zero. off and end are multiples of granule and at most the image's size.
func (i *Image) run(off, end int) (next int, filled bool) {
	n := off / granule
	filled = i.has(n)
	for n++; n < end/granule && i.has(n) == filled; n++ {
	}
	return n * granule, filled
}

func (i *Image) has(n int) bool { return i.filled[n/64]>>(n%64)&1 == 1 }

// fill writes into dst, which lies at off in a memory, what the image has there: its bytes, and
// zeroes above its end. Zero pages are not read, so that they stay holes.
func (i *Image) fill(dst []byte, off int) {
	end := min(off+len(dst), i.size)
	for at := off; at < end; {
		next, filled := i.run(at, end)
		if filled {
			copy(dst[at-off:next-off], i.view[at:next])
		} else {
			clear(dst[at-off : next-off])
		}
		at = next
	}
	if above := max(i.size, off) - off; above < len(dst) {
		clear(dst[above:])
	}
}

// differs returns the offset of the first byte in which memory is not the image followed by zeroes,
// or −1.
func (i *Image) differs(memory []byte) int {
	for off := 0; off < len(memory); off += granule {
		got, want := memory[off:off+granule], zeroes[:]
		if off < i.size && i.has(off/granule) {
			want = i.view[off : off+granule]
		}
		if !bytes.Equal(got, want) {
			for at := range got {
				if got[at] != want[at] {
					return off + at
				}
			}
		}
	}
	return -1
}
