//go:build !linux || 386 || arm || mips || mipsle || portable

package snapshot

// store keeps an image in the heap.
type store struct{ view []byte }

func (i *Image) open(memory []byte) error {
	i.view = append([]byte(nil), memory...)
	return nil
}

func (i *Image) shut() error {
	i.view = nil
	return nil
}

// region is a memory in the heap, as large as the memory ever was. What lies above its size is
// zero.
type region struct{ space []byte }

func (r *region) reserve(int) error { return nil }

// commit makes room by half as much again, so that a memory that grows page by page is not copied
// each time.
func (r *region) commit(size int) error {
	if size <= len(r.space) {
		return nil
	}
	if size <= cap(r.space) {
		r.space = r.space[:size]
		return nil
	}
	larger := make([]byte, size, size+size/2)
	copy(larger, r.space)
	r.space = larger
	return nil
}

func (r *region) mapImage(i *Image) error {
	copy(r.space, i.view)
	return nil
}

func (r *region) bytes(n int) []byte { return r.space[:n:n] }

func (r *region) unmap() error {
	r.space = nil
	return nil
}

func best() Road { return Copy }

// restore copies the image and clears what the memory grew by, whatever road was asked for.
func (m *Memory) restore() error {
	m.image.fill(m.space[:m.size], 0)
	m.stats = Stats{Road: Copy, Copied: int64(m.size), Resident: int64(m.high)}
	return nil
}

// Watch is of no use where all is copied.
func (m *Memory) Watch() bool { return false }

// Unwatch does nothing there.
func (m *Memory) Unwatch() {}

type known struct{}

// Trim does nothing where memory lies in the heap.
func (m *Memory) Trim() error {
	switch {
	case m.closed:
		return ErrClosed
	case m.image == nil:
		return errNoImage
	}
	return nil
}
