package mount

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/tetratelabs/wazero/api"

	"github.com/wasmagent/wasmagent/host/internal/wasi"
)

// Limits of one instance.
const (
	MaxOpen     = 64       // descriptors that a guest opens
	MaxTransfer = 64 << 10 // bytes that one read or write moves; the guest asks again for more
	MaxPath     = 4096     // bytes of a path
	MaxEntries  = 10_000   // of a directory that can be listed
)

// Guest is what a Table asks of the instance that it serves.
type Guest struct {
	Ready func() bool       // files can be opened now
	Look  func()            // asked before each function: it may not return, when time is up
	Away  func(work func()) // does work that the guest waits for; its memory is left alone
	Spend func(bytes int)   // prices bytes that are about to be moved; it may not return
	Wrote func()            // something changed that outlives the call
	// Missing tells people of a path that is not there, once a call, and whether it lies outside
	// all mounts.
	Missing func(text string, outside bool)
	Trouble func(error) // the host's own, with cleaning up
}

// Table has one instance's descriptors. It belongs to the goroutine that runs the instance.
type Table struct {
	set     *Set
	guest   Guest
	fds     []*descriptor // from wasi.FirstFile on; nil: not open
	scratch map[*mounted]*scratch
	listing listing
	later   []freed // what comes free when the descriptors are closed
	buf     []byte
	open    int  // descriptors that the guest opened
	used    bool // since the last Reset
	noted   bool
}

// scratch is a directory of this call.
type scratch struct {
	dir   string
	root  *os.Root
	usage usage
}

// freed is a file that was removed while it was open.
type freed struct {
	usage *usage
	bytes int64
}

// descriptor is an open file, directory of a mount, or directory that only leads to mounts.
type descriptor struct {
	node *node
	dir  *os.Root
	file *os.File

	guest       string // its path
	mount       *mounted
	usage       *usage
	opened      bool // by the guest
	read, write bool
	appends     bool
	flags       uint16
	pos         int64
}

// NewTable makes the descriptors of an instance.
func (s *Set) NewTable(g Guest) *Table {
	t := &Table{set: s, guest: g}
	t.begin()
	return t
}

func (t *Table) begin() {
	clear(t.fds)
	t.fds = append(t.fds[:0], &descriptor{node: t.set.top, guest: "/"})
}

// Reset closes what was opened since the last, and empties the scratch directories.
func (t *Table) Reset() {
	if !t.used {
		return
	}
	var errs []error
	for _, d := range t.fds {
		errs = append(errs, d.close())
	}
	for _, f := range t.later {
		f.usage.free(f.bytes, 0)
	}
	for _, s := range t.scratch {
		errs = append(errs, s.root.Close(), os.RemoveAll(s.dir))
	}
	*t = Table{set: t.set, guest: t.guest, buf: t.buf, fds: t.fds}
	t.begin()
	if err := errors.Join(errs...); err != nil {
		t.guest.Trouble(err)
	}
}

func (d *descriptor) close() (err error) {
	switch {
	case d == nil:
	case d.file != nil:
		err = d.file.Close()
	case d.dir != nil:
		err = d.dir.Close()
	}
	return err
}

// Call is a function of WASI, as wasi.Files says.
func (t *Table) Call(_ context.Context, mem api.Memory, function string, p []uint64) wasi.Errno {
	t.used = true
	t.guest.Look() // the host's work can take far longer than what it is priced at
	if call, ok := byDescriptor[function]; ok {
		d, e := t.descriptor(p[0])
		if e != wasi.Success {
			return e
		}
		return call(t, mem, d, p)
	}
	if call, ok := byPath[function]; ok {
		if !t.guest.Ready() {
			return wasi.Notcapable
		}
		return call(t, mem, p)
	}
	return wasi.Notsup
}

var byDescriptor = map[string]func(*Table, api.Memory, *descriptor, []uint64) wasi.Errno{
	"fd_advise":             (*Table).fdAdvise,
	"fd_allocate":           (*Table).fdAllocate,
	"fd_close":              (*Table).fdClose,
	"fd_datasync":           (*Table).fdSync,
	"fd_fdstat_get":         (*Table).fdFdstatGet,
	"fd_fdstat_set_flags":   (*Table).fdFdstatSetFlags,
	"fd_filestat_get":       (*Table).fdFilestatGet,
	"fd_filestat_set_size":  (*Table).fdFilestatSetSize,
	"fd_filestat_set_times": (*Table).fdFilestatSetTimes,
	"fd_pread":              (*Table).fdPread,
	"fd_prestat_get":        (*Table).fdPrestatGet,
	"fd_prestat_dir_name":   (*Table).fdPrestatDirName,
	"fd_pwrite":             (*Table).fdPwrite,
	"fd_read":               (*Table).fdRead,
	"fd_readdir":            (*Table).fdReaddir,
	"fd_renumber":           (*Table).fdRenumber,
	"fd_seek":               (*Table).fdSeek,
	"fd_sync":               (*Table).fdSync,
	"fd_tell":               (*Table).fdTell,
	"fd_write":              (*Table).fdWrite,
	"poll_oneoff": func(*Table, api.Memory, *descriptor,
		[]uint64) wasi.Errno {
		return wasi.Success
	},
}

var byPath = map[string]func(*Table, api.Memory, []uint64) wasi.Errno{
	"path_create_directory":   (*Table).pathCreateDirectory,
	"path_filestat_get":       (*Table).pathFilestatGet,
	"path_filestat_set_times": (*Table).pathFilestatSetTimes,
	"path_link":               (*Table).pathLink,
	"path_open":               (*Table).pathOpen,
	"path_readlink":           (*Table).pathReadlink,
	"path_remove_directory":   (*Table).pathRemoveDirectory,
	"path_rename":             (*Table).pathRename,
	"path_symlink":            (*Table).pathSymlink,
	"path_unlink_file":        (*Table).pathUnlinkFile,
}

func (t *Table) descriptor(fd uint64) (*descriptor, wasi.Errno) {
	n := uint64(uint32(fd)) - wasi.FirstFile
	if n >= uint64(len(t.fds)) || t.fds[n] == nil {
		return nil, wasi.Badf
	}
	return t.fds[n], wasi.Success
}

// room reports whether the guest may open one more.
func (t *Table) room() bool { return t.open < MaxOpen }

// number gives a descriptor the lowest number that is free.
func (t *Table) number(d *descriptor) uint32 {
	t.open++
	d.opened = true
	for n, taken := range t.fds {
		if taken == nil {
			t.fds[n] = d
			return uint32(n + wasi.FirstFile)
		}
	}
	t.fds = append(t.fds, d)
	return uint32(len(t.fds) - 1 + wasi.FirstFile)
}

func (t *Table) fdClose(_ api.Memory, d *descriptor, p []uint64) wasi.Errno {
	return t.drop(uint32(p[0]), d)
}

// drop closes a descriptor.
func (t *Table) drop(fd uint32, d *descriptor) wasi.Errno {
	t.fds[fd-wasi.FirstFile] = nil
	if d.opened {
		t.open--
	}
	if t.listing.of == d {
		t.listing = listing{}
	}
	var err error
	t.guest.Away(func() { err = d.close() })
	return errno(err)
}

// fdRenumber moves a descriptor onto another, which is closed.
func (t *Table) fdRenumber(_ api.Memory, d *descriptor, p []uint64) wasi.Errno {
	from, to := uint32(p[0]), uint32(p[1])
	over, e := t.descriptor(p[1])
	if e != wasi.Success || from == to {
		return e
	}
	e = t.drop(to, over)
	t.fds[to-wasi.FirstFile], t.fds[from-wasi.FirstFile] = d, nil
	return e
}

// missing tells the operator of a path that is not there, and which are.
func (t *Table) missing(guest string, outside bool) wasi.Errno {
	if !t.noted {
		t.noted = true
		text := fmt.Sprintf("no such file: %q; the plugin's paths are %s", guest, t.set.paths)
		t.guest.Missing(text, outside)
	}
	return wasi.Noent
}

// enter gives the directory that a mount is, made now if it is scratch.
func (t *Table) enter(m *mounted) (*os.Root, *usage, error) {
	if !m.scratch {
		return m.root, m.usage, nil
	}
	if s := t.scratch[m]; s != nil {
		return s.root, &s.usage, nil
	}
	dir, err := os.MkdirTemp(t.set.temp, "call-")
	if err != nil {
		return nil, nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("scratch: %w", err), os.Remove(dir))
	}
	if t.scratch == nil {
		t.scratch = map[*mounted]*scratch{}
	}
	s := &scratch{dir: dir, root: root, usage: usage{maxBytes: m.bytes, maxFiles: m.files}}
	t.scratch[m] = s
	return root, &s.usage, nil
}

// changed counts a change that outlives the call.
func (t *Table) changed(m *mounted) {
	if !m.scratch {
		t.guest.Wrote()
	}
}
