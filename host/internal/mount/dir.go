package mount

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"

	"github.com/tetratelabs/wazero/api"

	"github.com/wasmagent/wasmagent/host/internal/wasi"
)

// listing is what was last read of a directory. There is one for all descriptors, so that a guest
// cannot fill the host with them.
type listing struct {
	of      *descriptor
	entries []entry
}

type entry struct {
	name  string
	kind  uint8
	inode uint64 // 0: not known
}

const direntSize = 24

// fdReaddir gives the entries of a directory from a number on. The last one is cut where the
// guest's buffer ends, which tells it to ask again.
func (t *Table) fdReaddir(mem api.Memory, d *descriptor, p []uint64) wasi.Errno {
	buf, ok := wasi.View(mem, p[1], uint64(uint32(p[2])))
	result, ok2 := wasi.View(mem, p[4], 4)
	switch {
	case !ok || !ok2:
		return wasi.Fault
	case d.file != nil:
		return wasi.Notdir
	case !t.guest.Ready():
		return wasi.Notcapable
	}
	cookie := p[3]
	if cookie == 0 || t.listing.of != d {
		if e := t.list(d); e != wasi.Success {
			return e
		}
	}
	n := 0
	for at := cookie; at < uint64(len(t.listing.entries)) && n < len(buf); at++ {
		e := &t.listing.entries[at]
		t.guest.Spend(direntSize + len(e.name))
		var head [direntSize]byte
		le.PutUint64(head[:], at+1)
		le.PutUint64(head[8:], e.inode)
		le.PutUint32(head[16:], uint32(len(e.name)))
		head[20] = e.kind
		n += copy(buf[n:], head[:])
		n += copy(buf[n:], e.name)
	}
	le.PutUint32(result, uint32(n))
	return wasi.Success
}

// list reads a directory and sorts it.
func (t *Table) list(d *descriptor) wasi.Errno {
	t.listing = listing{}
	entries := []entry{{name: ".", kind: typeDirectory}, {name: "..", kind: typeDirectory}}
	var err error
	switch dir := d.dir; {
	case dir == nil && d.node.mount == nil:
		entries = append(entries, d.node.entries()...)
	case dir == nil:
		if dir, _, err = t.enter(d.node.mount); err != nil {
			return errno(err)
		}
		fallthrough
	default:
		var found []entry
		t.guest.Away(func() { found, err = readDir(dir) })
		entries = append(entries, found...)
	}
	if err != nil {
		return errno(err)
	}
	t.listing = listing{d, entries}
	return wasi.Success
}

func (n *node) entries() (list []entry) {
	for _, name := range n.names() {
		child := n.children[name]
		kind := uint8(typeDirectory)
		if child.mount != nil && child.mount.file != "" {
			kind = typeRegular
		}
		list = append(list, entry{name, kind, child.inode})
	}
	return list
}

// readDir reads a directory of MaxEntries at most, sorted by name.
func readDir(root *os.Root) ([]entry, error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	var entries []entry
	for err == nil {
		var some []fs.DirEntry
		some, err = dir.ReadDir(1000)
		for _, e := range some {
			entries = append(entries, entry{name: e.Name(), kind: typeOf(e.Type())})
		}
		if len(entries) > MaxEntries {
			return nil, refuse(wasi.Overflow)
		}
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return entries, err
}

func (t *Table) fdPrestatGet(mem api.Memory, d *descriptor, p []uint64) wasi.Errno {
	b, ok := wasi.View(mem, p[1], 8)
	switch {
	case d.opened || d.node == nil:
		return wasi.Badf
	case !ok:
		return wasi.Fault
	}
	le.PutUint32(b, 0) // a directory
	le.PutUint32(b[4:], uint32(len(d.guest)))
	return wasi.Success
}

func (t *Table) fdPrestatDirName(mem api.Memory, d *descriptor, p []uint64) wasi.Errno {
	size := uint64(uint32(p[2]))
	b, ok := wasi.View(mem, p[1], min(size, math.MaxUint32))
	switch {
	case d.opened || d.node == nil:
		return wasi.Badf
	case !ok:
		return wasi.Fault
	case size < uint64(len(d.guest)):
		return wasi.Nametoolong
	}
	copy(b, d.guest)
	return wasi.Success
}
