package mount

import (
	"errors"
	"io/fs"
	"os"

	"github.com/tetratelabs/wazero/api"

	"github.com/wasmagent/wasmagent/host/internal/wasi"
)

// Flags and rights of path_open.
const (
	lookupFollow = 1 << 0

	openCreate    = 1 << 0
	openDirectory = 1 << 1
	openExclusive = 1 << 2
	openTruncate  = 1 << 3

	flagAppend   = 1 << 0
	flagDsync    = 1 << 1
	flagNonblock = 1 << 2
	flagRsync    = 1 << 3
	flagSync     = 1 << 4
	flagsKnown   = flagAppend | flagDsync | flagNonblock | flagRsync | flagSync

	rightRead  = 1 << 1
	rightWrite = 1 << 6
)

// opening is how a path is opened.
type opening struct {
	follow                           bool
	create, dir, exclusive, truncate bool
	read, write                      bool
	flags                            uint16
}

func (t *Table) pathOpen(mem api.Memory, p []uint64) wasi.Errno {
	at, e := t.path(mem, p[0], p[2], p[3])
	result, ok := wasi.View(mem, p[8], 4)
	oflags, flags := uint32(p[4]), uint32(p[7])
	switch {
	case !ok:
		return wasi.Fault
	case e != wasi.Success:
		return e
	case flags&^flagsKnown != 0:
		return wasi.Inval
	case !t.room():
		return wasi.Mfile
	}
	how := opening{
		follow: uint32(p[1])&lookupFollow != 0,
		create: oflags&openCreate != 0, dir: oflags&openDirectory != 0,
		exclusive: oflags&openExclusive != 0, truncate: oflags&openTruncate != 0,
		read: p[5]&rightRead != 0, write: p[5]&rightWrite != 0, flags: uint16(flags),
	}
	d, e := t.openAt(&at, &how)
	if e == wasi.Success {
		le.PutUint32(result, t.number(d))
	}
	return e
}

func (t *Table) openAt(at *place, how *opening) (*descriptor, wasi.Errno) {
	d := &descriptor{guest: at.guest, mount: at.mount, usage: at.usage, flags: how.flags}
	if at.node != nil {
		d.node = at.node
		return d, how.ofDirectory()
	}
	if !at.mount.write && (how.write || how.truncate || how.create && how.exclusive) {
		return nil, wasi.Rofs
	}
	var changed bool
	var err error
	t.guest.Away(func() {
		changed, err = d.open(at, how)
	})
	switch {
	case err != nil:
		return nil, t.failed(at, err)
	case changed:
		t.changed(at.mount)
	}
	return d, wasi.Success
}

// ofDirectory says whether a directory can be opened so.
func (how *opening) ofDirectory() wasi.Errno {
	switch {
	case how.create && how.exclusive:
		return wasi.Exist
	case how.write || how.truncate || how.create && !how.dir:
		return wasi.Isdir
	}
	return wasi.Success
}

// open opens what is at a place, or makes a file there.
func (d *descriptor) open(at *place, how *opening) (changed bool, err error) {
	info, err := at.stat(how.follow)
	if errors.Is(err, fs.ErrNotExist) && how.create && !how.dir {
		if changed, err = true, d.create(at, how); err == nil || !errors.Is(err, fs.ErrExist) {
			return changed, err
		}
		if how.exclusive {
			return false, err
		}
		info, err = at.stat(how.follow) // somebody else has made it meanwhile
	}
	switch {
	case err != nil:
		return false, err
	case how.create && how.exclusive:
		return false, refuse(wasi.Exist)
	case info.IsDir():
		if e := how.ofDirectory(); e != wasi.Success {
			return false, refuse(e)
		}
		d.dir, err = at.dir.OpenRoot(at.name)
		return false, err
	case how.dir:
		return false, refuse(wasi.Notdir)
	}
	if err := openable(info); err != nil {
		return false, err
	}
	return d.openFile(at, how)
}

// openable refuses what is not a regular file.
func openable(info fs.FileInfo) error {
	switch {
	case info.Mode().IsRegular():
		return nil
	case info.Mode()&fs.ModeSymlink != 0:
		return refuse(wasi.Loop)
	}
	return refuse(wasi.Acces)
}

// changeable refuses a file that has another name: that may lie outside, as those of a package
// manager's store do. It can be replaced by a file of its own.
func changeable(info fs.FileInfo) error {
	if _, _, links := identity(info); links > 1 {
		return refuse(wasi.Perm)
	}
	return nil
}

// create makes a file that is not there.
func (d *descriptor) create(at *place, how *opening) error {
	if !at.mount.write {
		return refuse(wasi.Rofs)
	}
	return at.make(func() (err error) {
		d.set(how)
		d.file, err = at.dir.OpenFile(at.name, how.system()|os.O_CREATE|os.O_EXCL, 0o666)
		return err
	})
}

// openFile opens a regular file. It may have become something else since it was looked at: so it
// does not wait for a FIFO, and looks again.
func (d *descriptor) openFile(at *place, how *opening) (changed bool, err error) {
	d.set(how)
	file, err := at.dir.OpenFile(at.name, how.system(), 0)
	if err != nil {
		return false, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	at.usage.sizes.Lock()
	defer at.usage.sizes.Unlock()
	info, err := file.Stat()
	if err == nil {
		err = openable(info)
	}
	if err == nil && (how.write || how.truncate) && !at.single() {
		err = changeable(info)
	}
	if err != nil {
		return false, err
	}
	if how.truncate && info.Size() > 0 {
		if err := file.Truncate(0); err != nil {
			return false, err
		}
		at.usage.free(info.Size(), 0)
		changed = true
	}
	d.file = file
	return changed, nil
}

func (d *descriptor) set(how *opening) {
	d.read, d.write = how.read, how.write
	d.appends = how.write && how.flags&flagAppend != 0
}

// system gives the flags of the operating system.
func (how *opening) system() int {
	flags := os.O_RDONLY
	switch {
	case how.write && how.read:
		flags = os.O_RDWR
	case how.write:
		flags = os.O_WRONLY
	case how.truncate:
		flags = os.O_RDWR // to truncate it; the guest may only read
	}
	if how.write && how.flags&flagAppend != 0 {
		flags |= os.O_APPEND
	}
	if how.flags&(flagDsync|flagSync) != 0 {
		flags |= os.O_SYNC
	}
	return flags | nonblock
}
