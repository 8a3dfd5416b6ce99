package mount

import (
	"io/fs"
	"math"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/wasmagent/wasmagent/host/internal/wasi"
)

// File types of WASI.
const (
	typeUnknown   = 0
	typeBlock     = 1
	typeCharacter = 2
	typeDirectory = 3
	typeRegular   = 4
	typeSocket    = 6
	typeLink      = 7
)

const (
	fdstatSize   = 24
	filestatSize = 64

	rightsAll     = 1<<28 - 1
	rightsToWrite = rightWrite | 1<<0 | 1<<8 | 1<<9 | 1<<10 | 1<<12 | 1<<16 | 1<<17 | 1<<19 | 1<<20 |
		1<<22 | 1<<23 | 1<<24 | 1<<25 | 1<<26
)

func typeOf(mode fs.FileMode) uint8 {
	switch mode.Type() {
	case 0:
		return typeRegular
	case fs.ModeDir:
		return typeDirectory
	case fs.ModeSymlink:
		return typeLink
	case fs.ModeSocket:
		return typeSocket
	case fs.ModeDevice:
		return typeBlock
	case fs.ModeDevice | fs.ModeCharDevice:
		return typeCharacter
	}
	return typeUnknown
}

func (t *Table) fdFdstatGet(mem api.Memory, d *descriptor, p []uint64) wasi.Errno {
	b, ok := wasi.View(mem, p[1], fdstatSize)
	if !ok {
		return wasi.Fault
	}
	rights := uint64(rightsAll)
	if d.file != nil && !d.read {
		rights &^= rightRead
	}
	// C's library asks for no more in a directory than that has: what leads to mounts has all.
	if d.file != nil && !d.write || d.dir != nil && !d.mount.write {
		rights &^= rightsToWrite
	}
	clear(b)
	b[0] = typeDirectory
	if d.file != nil {
		b[0] = typeRegular
	}
	le.PutUint16(b[2:], d.flags)
	le.PutUint64(b[8:], rights)
	le.PutUint64(b[16:], rights)
	return wasi.Success
}

// fdFdstatSetFlags remembers flags. Whether writing appends is settled when a file is opened.
func (t *Table) fdFdstatSetFlags(_ api.Memory, d *descriptor, p []uint64) wasi.Errno {
	flags := uint32(p[1])
	switch {
	case flags&^flagsKnown != 0:
		return wasi.Inval
	case (uint16(flags)^d.flags)&flagAppend != 0:
		return wasi.Notsup
	}
	d.flags = uint16(flags)
	return wasi.Success
}

func (t *Table) fdFilestatGet(mem api.Memory, d *descriptor, p []uint64) wasi.Errno {
	b, ok := wasi.View(mem, p[1], filestatSize)
	switch {
	case !ok:
		return wasi.Fault
	case d.node != nil && d.node.mount == nil:
		d.node.put(b)
		return wasi.Success
	case d.node != nil:
		dir, _, err := t.enter(d.node.mount)
		if err != nil {
			return errno(err)
		}
		return t.stat(b, func() (fs.FileInfo, error) { return dir.Stat(".") })
	case d.dir != nil:
		return t.stat(b, func() (fs.FileInfo, error) { return d.dir.Stat(".") })
	}
	return t.stat(b, d.file.Stat)
}

func (t *Table) stat(b []byte, look func() (fs.FileInfo, error)) wasi.Errno {
	var info fs.FileInfo
	var err error
	t.guest.Away(func() { info, err = look() })
	if err == nil {
		put(b, info)
	}
	return errno(err)
}

func (t *Table) pathFilestatGet(mem api.Memory, p []uint64) wasi.Errno {
	at, e := t.path(mem, p[0], p[2], p[3])
	b, ok := wasi.View(mem, p[4], filestatSize)
	switch {
	case e != wasi.Success:
		return e
	case !ok:
		return wasi.Fault
	case at.node != nil:
		at.node.put(b)
		return wasi.Success
	}
	follow := uint32(p[1])&lookupFollow != 0
	e = t.stat(b, func() (fs.FileInfo, error) { return at.stat(follow) })
	if e == wasi.Noent {
		return t.missing(at.guest, false)
	}
	return e
}

// put writes a file's facts: device, inode, type, links, size, times.
func put(b []byte, info fs.FileInfo) {
	clear(b)
	dev, inode, links := identity(info)
	le.PutUint64(b, dev)
	le.PutUint64(b[8:], inode)
	b[16] = typeOf(info.Mode())
	le.PutUint64(b[24:], links)
	le.PutUint64(b[32:], uint64(max(0, info.Size())))
	when := uint64(max(0, info.ModTime().UnixNano()))
	for _, at := range []int{40, 48, 56} {
		le.PutUint64(b[at:], when)
	}
}

func (n *node) put(b []byte) {
	clear(b)
	le.PutUint64(b[8:], n.inode)
	b[16] = typeDirectory
	le.PutUint64(b[24:], 1)
}

// Flags of the functions that set times.
const (
	setAccess = 1 << iota
	setAccessNow
	setModified
	setModifiedNow
	setKnown = setAccess | setAccessNow | setModified | setModifiedNow
)

// times reads the two times that are to be set. A zero time is left as it is.
func times(access, modified uint64, flags uint32) (at, mt time.Time, e wasi.Errno) {
	const both = setAccess | setAccessNow
	if flags&^setKnown != 0 || flags&both == both || flags>>2&both == both ||
		access > math.MaxInt64 || modified > math.MaxInt64 {
		return at, mt, wasi.Inval
	}
	one := func(when uint64, flags uint32) (t time.Time) {
		switch {
		case flags&setAccess != 0:
			t = time.Unix(0, int64(when))
		case flags&setAccessNow != 0:
			t = time.Now()
		}
		return t
	}
	return one(access, flags), one(modified, flags>>2), wasi.Success
}

func (t *Table) fdFilestatSetTimes(_ api.Memory, d *descriptor, p []uint64) wasi.Errno {
	at, mt, e := times(p[1], p[2], uint32(p[3]))
	switch {
	case e != wasi.Success:
		return e
	case d.node != nil:
		return wasi.Perm
	case !d.mount.write:
		return wasi.Rofs
	}
	return t.change(&place{guest: d.guest, mount: d.mount}, func() error {
		if d.dir != nil {
			return d.dir.Chtimes(".", at, mt)
		}
		return setTimes(d.file, at, mt)
	})
}

func (t *Table) pathFilestatSetTimes(mem api.Memory, p []uint64) wasi.Errno {
	at, e := t.writable(mem, p[0], p[2], p[3])
	if e != wasi.Success {
		return e
	}
	access, modified, e := times(p[4], p[5], uint32(p[6]))
	if e != wasi.Success {
		return e
	}
	follow := uint32(p[1])&lookupFollow != 0
	return t.change(&at, func() error {
		info, err := at.stat(follow)
		switch {
		case err != nil:
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			return refuse(wasi.Notsup) // the times of a link itself
		}
		return at.dir.Chtimes(at.name, access, modified)
	})
}
