package mount

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/tetratelabs/wazero/api"

	"github.com/wasmagent/wasmagent/host/internal/wasi"
)

// place is where a path of the guest's leads: to a name in a directory of the host's, or to a
// directory that only leads to mounts.
type place struct {
	guest string // the path, as the guest would write it
	node  *node

	dir   *os.Root
	name  string // for os.Root to follow
	mount *mounted
	usage *usage
}

// single reports whether the place is a mount of one file, which stays what it is.
func (p *place) single() bool { return p.mount != nil && p.mount.file != "" }

// path reads a path and sees where it leads from a descriptor.
func (t *Table) path(mem api.Memory, fd, ptr, size uint64) (place, wasi.Errno) {
	d, e := t.descriptor(fd)
	if e != wasi.Success {
		return place{}, e
	}
	b, ok := wasi.View(mem, ptr, uint64(uint32(size)))
	switch {
	case !ok:
		return place{}, wasi.Fault
	case len(b) > MaxPath:
		return place{}, wasi.Nametoolong
	case len(b) == 0:
		return place{}, wasi.Noent
	case b[0] == '/':
		return place{}, wasi.Notcapable
	case bytes.IndexByte(b, 0) >= 0:
		return place{}, wasi.Inval
	case d.file != nil:
		return place{}, wasi.Notdir
	}
	t.guest.Spend(len(b))
	name := string(b)
	at := place{guest: path.Join(d.guest, name), dir: d.dir, name: name, mount: d.mount,
		usage: d.usage}
	if d.node != nil {
		return t.walk(d.node, at)
	}
	return at, wasi.Success
}

// walk follows a path through directories that only lead to mounts.
func (t *Table) walk(n *node, at place) (place, wasi.Errno) {
	rest := at.name
	for n.mount == nil {
		var name string
		if name, rest, _ = strings.Cut(strings.TrimLeft(rest, "/"), "/"); name == "" {
			at.node = n
			return at, wasi.Success
		}
		switch name {
		case ".":
		case "..":
			if n = n.parent; n == nil {
				return place{}, wasi.Notcapable
			}
		default:
			if n = n.children[name]; n == nil {
				return place{}, t.missing(at.guest, true)
			}
		}
	}
	return t.into(n.mount, strings.TrimLeft(rest, "/"), at)
}

// into gives the place of a path below a mount.
func (t *Table) into(m *mounted, rest string, at place) (place, wasi.Errno) {
	dir, usage, err := t.enter(m)
	if err != nil {
		return place{}, errno(err)
	}
	at.dir, at.usage, at.mount, at.name = dir, usage, m, rest
	switch {
	case m.file != "" && rest != "":
		return place{}, wasi.Notdir
	case m.file != "":
		at.name = m.file
	case rest == "":
		at.name = "."
	}
	return at, wasi.Success
}

// stat looks at a place. A mount of one file is never a link.
func (p *place) stat(follow bool) (fs.FileInfo, error) {
	if follow && !p.single() {
		return p.dir.Stat(p.name)
	}
	return p.dir.Lstat(p.name)
}

// writable is the place of a path that is about to be changed, if it may be.
func (t *Table) writable(mem api.Memory, fd, ptr, size uint64) (place, wasi.Errno) {
	at, e := t.path(mem, fd, ptr, size)
	switch {
	case e != wasi.Success:
		return at, e
	case at.node != nil:
		return at, wasi.Perm
	case !at.mount.write:
		return at, wasi.Rofs
	}
	return at, wasi.Success
}

// movable is writable for what changes the name, and not what has it.
func (t *Table) movable(mem api.Memory, fd, ptr, size uint64) (place, wasi.Errno) {
	at, e := t.writable(mem, fd, ptr, size)
	if e == wasi.Success && (at.single() || path.Clean(at.name) == ".") {
		e = wasi.Busy
	}
	return at, e
}

// change does something to the host's files that outlives a call, unless it gives an error.
func (t *Table) change(at *place, work func() error) wasi.Errno {
	var err error
	t.guest.Away(func() { err = work() })
	if err != nil {
		return t.failed(at, err)
	}
	t.changed(at.mount)
	return wasi.Success
}

// failed is the error number of a place. One that is not there is told.
func (t *Table) failed(at *place, err error) wasi.Errno {
	e := errno(err)
	if e == wasi.Noent {
		return t.missing(at.guest, false)
	}
	return e
}

func (t *Table) pathCreateDirectory(mem api.Memory, p []uint64) wasi.Errno {
	at, e := t.movable(mem, p[0], p[1], p[2])
	if e != wasi.Success {
		return e
	}
	return t.change(&at, func() error {
		return at.make(func() error { return at.dir.Mkdir(at.name, 0o777) })
	})
}

// make makes a file or what counts as one.
func (p *place) make(work func() error) error {
	if !p.usage.add() {
		return refuse(wasi.Dquot)
	}
	err := work()
	if err != nil {
		p.usage.free(0, 1)
	}
	return err
}

// pathLink refuses: a second name of a file could lie in another mount's place.
func (t *Table) pathLink(api.Memory, []uint64) wasi.Errno { return wasi.Perm }

func (t *Table) pathSymlink(mem api.Memory, p []uint64) wasi.Errno {
	b, ok := wasi.View(mem, p[0], uint64(uint32(p[1])))
	switch {
	case !ok:
		return wasi.Fault
	case len(b) > MaxPath:
		return wasi.Nametoolong
	}
	target := string(b)
	at, e := t.movable(mem, p[2], p[3], p[4])
	switch {
	case e != wasi.Success:
		return e
	case !pointsDown(target):
		return wasi.Notcapable
	}
	return t.change(&at, func() error {
		beside := path.Join(path.Dir(at.name), target)
		if _, err := at.dir.Stat(beside); leadsOut(err) { // through a link that was there before
			return err
		}
		return at.make(func() error { return at.dir.Symlink(target, at.name) })
	})
}

// pointsDown reports whether a link with this target leads down from where it is, wherever it may
// be moved.
func pointsDown(target string) bool {
	if target == "" || strings.ContainsAny(target, "\x00\\:") || target[0] == '/' {
		return false
	}
	for name := range strings.SplitSeq(target, "/") {
		if name == ".." {
			return false
		}
	}
	return true
}

func (t *Table) pathReadlink(mem api.Memory, p []uint64) wasi.Errno {
	at, e := t.path(mem, p[0], p[1], p[2])
	buf, ok := wasi.View(mem, p[3], uint64(uint32(p[4])))
	size, ok2 := wasi.View(mem, p[5], 4)
	switch {
	case e != wasi.Success:
		return e
	case !ok || !ok2:
		return wasi.Fault
	case at.node != nil || at.single():
		return wasi.Inval
	}
	var target string
	var err error
	t.guest.Away(func() { target, err = at.dir.Readlink(at.name) })
	if err != nil {
		return t.failed(&at, err)
	}
	t.guest.Spend(len(target))
	le.PutUint32(size, uint32(copy(buf, target)))
	return wasi.Success
}

func (t *Table) pathUnlinkFile(mem api.Memory, p []uint64) wasi.Errno {
	return t.remove(mem, p, false)
}

func (t *Table) pathRemoveDirectory(mem api.Memory, p []uint64) wasi.Errno {
	return t.remove(mem, p, true)
}

func (t *Table) remove(mem api.Memory, p []uint64, dir bool) wasi.Errno {
	at, e := t.movable(mem, p[0], p[1], p[2])
	if e != wasi.Success {
		return e
	}
	return t.change(&at, func() error {
		at.usage.sizes.Lock()
		defer at.usage.sizes.Unlock()
		info, err := at.dir.Lstat(at.name)
		switch {
		case err != nil:
			return err
		case dir && !info.IsDir():
			return refuse(wasi.Notdir)
		case !dir && info.IsDir():
			return refuse(wasi.Isdir)
		}
		if err := at.dir.Remove(at.name); err != nil {
			return err
		}
		t.removed(at.usage, info)
		return nil
	})
}

// removed gives back what a file took: at once, or when the last descriptor of it here is closed.
func (t *Table) removed(u *usage, info fs.FileInfo) {
	size := info.Size()
	if !info.Mode().IsRegular() {
		size = 0
	}
	u.free(0, 1)
	for _, d := range t.fds {
		if d == nil || d.file == nil || !d.write {
			continue
		}
		if open, err := d.file.Stat(); err == nil && os.SameFile(open, info) {
			t.later = append(t.later, freed{u, size})
			return
		}
	}
	u.free(size, 0)
}

func (t *Table) pathRename(mem api.Memory, p []uint64) wasi.Errno {
	from, e := t.movable(mem, p[0], p[1], p[2])
	if e != wasi.Success {
		return e
	}
	to, e := t.movable(mem, p[3], p[4], p[5])
	switch {
	case e != wasi.Success:
		return e
	case from.mount != to.mount, from.dir != to.dir:
		return wasi.Xdev
	}
	return t.change(&from, func() error {
		to.usage.sizes.Lock()
		defer to.usage.sizes.Unlock()
		before, err := to.dir.Lstat(to.name)
		if err != nil {
			before = nil
		}
		moved, err := from.dir.Lstat(from.name)
		if err != nil {
			return err
		}
		if moved.Mode()&fs.ModeSymlink != 0 {
			target, err := from.dir.Readlink(from.name)
			if err != nil {
				return err
			}
			if !pointsDown(target) && path.Dir(from.name) != path.Dir(to.name) {
				return refuse(wasi.Notcapable) // it could come to point out
			}
		}
		if err := from.dir.Rename(from.name, to.name); err != nil {
			return err
		}
		if before != nil && !os.SameFile(before, moved) {
			t.removed(to.usage, before)
		}
		return nil
	})
}
