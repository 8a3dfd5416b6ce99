package mount

import (
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/tetratelabs/wazero/api"

	"github.com/wasmagent/wasmagent/host/internal/wasi"
)

var le = binary.LittleEndian

const (
	whenceSet = iota
	whenceCurrent
	whenceEnd
)

func (t *Table) fdRead(mem api.Memory, d *descriptor, p []uint64) wasi.Errno {
	n, e := t.read(mem, d, p[1], p[2], p[3], d.pos)
	d.pos += int64(n)
	return e
}

func (t *Table) fdPread(mem api.Memory, d *descriptor, p []uint64) wasi.Errno {
	if p[3] > math.MaxInt64 {
		return wasi.Inval
	}
	_, e := t.read(mem, d, p[1], p[2], p[4], int64(p[3]))
	return e
}

// read fills the guest's ranges, from a buffer: nothing may write to its memory while it is away.
func (t *Table) read(mem api.Memory, d *descriptor, ptr, count, result uint64, at int64) (
	int, wasi.Errno) {
	ranges, told, e := t.ranges(mem, d, d.read, ptr, count, result)
	if e != wasi.Success {
		return 0, e
	}
	buf := t.buffer(total(ranges))
	t.guest.Spend(len(buf))
	var n int
	var err error
	t.guest.Away(func() { n, err = d.file.ReadAt(buf, at) })
	if err != nil && !errors.Is(err, io.EOF) && n == 0 {
		return 0, errno(err)
	}
	rest := buf[:n]
	for ; len(ranges) > 0 && len(rest) > 0; ranges = ranges[wasi.VectorSize:] {
		b, ok := mem.Read(le.Uint32(ranges), le.Uint32(ranges[4:]))
		if !ok {
			return 0, wasi.Fault
		}
		rest = rest[copy(b, rest):]
	}
	le.PutUint32(told, uint32(n))
	return n, wasi.Success
}

// ranges are those that a read or a write names, copied, and where its result goes.
func (t *Table) ranges(mem api.Memory, d *descriptor, may bool, ptr, count, result uint64) (
	ranges, told []byte, e wasi.Errno) {
	switch {
	case d.file == nil:
		return nil, nil, wasi.Isdir
	case !may:
		return nil, nil, wasi.Badf
	}
	list, e := wasi.Vectors(mem, ptr, count, t.guest.Spend)
	if e != wasi.Success {
		return nil, nil, e
	}
	told, ok := wasi.View(mem, result, 4)
	if !ok {
		return nil, nil, wasi.Fault
	}
	return append([]byte(nil), list...), told, wasi.Success
}

// total is how many bytes the ranges have, MaxTransfer at most.
func total(ranges []byte) int {
	sum := uint64(0)
	for ; len(ranges) > 0 && sum < MaxTransfer; ranges = ranges[wasi.VectorSize:] {
		sum += uint64(le.Uint32(ranges[4:]))
	}
	return int(min(sum, MaxTransfer))
}

func (t *Table) buffer(n int) []byte {
	if t.buf == nil {
		t.buf = make([]byte, MaxTransfer)
	}
	return t.buf[:n]
}

func (t *Table) fdWrite(mem api.Memory, d *descriptor, p []uint64) wasi.Errno {
	n, e := t.write(mem, d, p[1], p[2], p[3], d.pos)
	d.pos += int64(n)
	return e
}

func (t *Table) fdPwrite(mem api.Memory, d *descriptor, p []uint64) wasi.Errno {
	if p[3] > math.MaxInt64 {
		return wasi.Inval
	}
	_, e := t.write(mem, d, p[1], p[2], p[4], int64(p[3]))
	return e
}

// write writes the guest's ranges.
func (t *Table) write(mem api.Memory, d *descriptor, ptr, count, result uint64, at int64) (
	int, wasi.Errno) {
	ranges, told, e := t.ranges(mem, d, d.write, ptr, count, result)
	if e != wasi.Success {
		return 0, e
	}
	buf := t.buffer(total(ranges))
	t.guest.Spend(len(buf))
	for rest := buf; len(rest) > 0; ranges = ranges[wasi.VectorSize:] {
		b, ok := mem.Read(le.Uint32(ranges), le.Uint32(ranges[4:]))
		if !ok {
			return 0, wasi.Fault
		}
		rest = rest[copy(rest, b):]
	}
	var n int
	var err error
	t.guest.Away(func() { n, err = d.writeAt(buf, at) })
	if n > 0 {
		t.changed(d.mount)
	}
	if n == 0 && err != nil {
		return 0, errno(err)
	}
	le.PutUint32(told, uint32(n))
	return n, wasi.Success
}

// writeAt writes what the quota has room for: all of it, or nothing.
func (d *descriptor) writeAt(b []byte, at int64) (n int, err error) {
	d.usage.sizes.Lock()
	defer d.usage.sizes.Unlock()
	info, err := d.file.Stat()
	if err != nil {
		return 0, err
	}
	size := info.Size()
	if d.appends {
		at = size
	}
	more, ok := growth(size, at, len(b))
	switch {
	case len(b) == 0:
		return 0, nil
	case !ok:
		return 0, refuse(wasi.Fbig)
	case !d.usage.grow(more):
		return 0, refuse(wasi.Dquot)
	}
	if d.appends {
		n, err = d.file.Write(b)
	} else {
		n, err = d.file.WriteAt(b, at)
	}
	if err != nil {
		done, _ := growth(size, at, n)
		d.usage.free(more-done, 0)
	}
	return n, err
}

func (t *Table) fdSeek(mem api.Memory, d *descriptor, p []uint64) wasi.Errno {
	result, ok := wasi.View(mem, p[3], 8)
	switch {
	case !ok:
		return wasi.Fault
	case d.file == nil:
		return wasi.Isdir
	}
	var base int64
	switch uint32(p[2]) {
	case whenceSet:
	case whenceCurrent:
		base = d.pos
	case whenceEnd:
		var e wasi.Errno
		if base, e = t.size(d); e != wasi.Success {
			return e
		}
	default:
		return wasi.Inval
	}
	offset := int64(p[1])
	if offset > 0 && base > math.MaxInt64-offset || base+offset < 0 {
		return wasi.Inval
	}
	d.pos = base + offset
	le.PutUint64(result, uint64(d.pos))
	return wasi.Success
}

func (t *Table) size(d *descriptor) (size int64, e wasi.Errno) {
	t.guest.Away(func() {
		info, err := d.file.Stat()
		if e = errno(err); err == nil {
			size = info.Size()
		}
	})
	return size, e
}

func (t *Table) fdTell(mem api.Memory, d *descriptor, p []uint64) wasi.Errno {
	switch {
	case d.file == nil:
		return wasi.Isdir
	case !mem.WriteUint64Le(uint32(p[1]), uint64(d.pos)):
		return wasi.Fault
	}
	return wasi.Success
}

func (t *Table) fdSync(_ api.Memory, d *descriptor, _ []uint64) wasi.Errno {
	if d.file == nil || !d.write {
		return wasi.Success
	}
	var err error
	t.guest.Away(func() { err = d.file.Sync() })
	return errno(err)
}

// fdAdvise takes all advice, and follows none.
func (t *Table) fdAdvise(_ api.Memory, d *descriptor, p []uint64) wasi.Errno {
	const last = 5
	switch {
	case d.file == nil:
		return wasi.Isdir
	case uint32(p[3]) > last:
		return wasi.Inval
	}
	return wasi.Success
}

func (t *Table) fdAllocate(_ api.Memory, d *descriptor, p []uint64) wasi.Errno {
	if p[1] > math.MaxInt64 || p[2] > math.MaxInt64-p[1] || p[2] == 0 {
		return wasi.Inval
	}
	return t.resize(d, int64(p[1]+p[2]), false)
}

func (t *Table) fdFilestatSetSize(_ api.Memory, d *descriptor, p []uint64) wasi.Errno {
	if p[1] > math.MaxInt64 {
		return wasi.Inval
	}
	return t.resize(d, int64(p[1]), true)
}

// resize makes a file longer, or shorter if it may.
func (t *Table) resize(d *descriptor, want int64, shrinks bool) wasi.Errno {
	switch {
	case d.file == nil:
		return wasi.Isdir
	case !d.write:
		return wasi.Badf
	}
	changed := false
	var err error
	t.guest.Away(func() { changed, err = d.resize(want, shrinks) })
	if changed {
		t.changed(d.mount)
	}
	return errno(err)
}

func (d *descriptor) resize(want int64, shrinks bool) (changed bool, err error) {
	d.usage.sizes.Lock()
	defer d.usage.sizes.Unlock()
	info, err := d.file.Stat()
	if err != nil {
		return false, err
	}
	size := info.Size()
	switch {
	case want == size || want < size && !shrinks:
		return false, nil
	case want > size && !d.usage.grow(want-size):
		return false, refuse(wasi.Dquot)
	}
	if err := d.file.Truncate(want); err != nil {
		d.usage.free(want-size, 0)
		return false, err
	}
	d.usage.free(size-want, 0)
	return true, nil
}
