package session

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/google/renameio/v2/maybe"
	"github.com/google/uuid"
)

// Options of OpenDir. Nil and zero fields are the documented defaults.
type Options struct {
	// NoSync leaves it to the system when what was appended reaches the disk. Else each Append, which
	// is what a turn adds, ends with an fsync, and no power failure takes it back. The end of this
	// process, however sudden, takes nothing back in either case.
	NoSync bool

	now func() time.Time // nil is time.Now
}

func (o *Options) clock() time.Time {
	if o == nil || o.now == nil {
		return time.Now().UTC().Truncate(time.Millisecond)
	}
	return o.now()
}

// Dir is a folder of sessions, safe for concurrent use.
type Dir struct {
	folder string
	root   *os.Root // nothing in the folder leads out of it
	opts   *Options
}

// OpenDir opens a folder of sessions, making it (mode 0700) if needed. One that others can write
// to is refused.
func OpenDir(folder string, opts *Options) (*Dir, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	info, err := root.Stat(".")
	if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		err = fmt.Errorf("the sessions in %s can be changed by others: chmod 700 it", folder)
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &Dir{folder: folder, root: root, opts: opts}, nil
}

// Close gives the folder up. Its sessions must have been closed before.
func (d *Dir) Close() error { return d.root.Close() }

func (d *Dir) path(file string) string { return filepath.Join(d.folder, file) }

func sessionFile(name string) string { return name + ".jsonl" }

// Create begins a session and locks it. Its name "" is its ID, and its ledger "" is none. A session
// that is there already is an error that matches fs.ErrExist.
func (d *Dir) Create(name, ledger string, m Meta) (*Session, error) {
	return d.create(name, Header{Source: sourceOwn, Ledger: ledger}, m, nil)
}

// create makes a session of a header, which it completes, and the lines that follow it.
func (d *Dir) create(name string, h Header, m Meta, lines []byte) (_ *Session, err error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, err
	}
	h.Format, h.Version, h.ID, h.Created = formatName, formatVersion, id.String(), d.opts.clock()
	if name == "" {
		name = h.ID
	}
	lock, err := d.lock(name)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Unlock())
		}
	}()
	file := sessionFile(name)
	if _, err := d.root.Lstat(file); err == nil {
		return nil, &fs.PathError{Op: "create session", Path: d.path(file), Err: fs.ErrExist}
	} else if !isMissing(err) {
		return nil, err
	}
	var text bytes.Buffer
	if err := appendLine(&text, h); err != nil {
		return nil, err
	}
	text.Write(lines)
	if text.Len() > MaxFile {
		return nil, &InvalidError{File: d.path(file), Detail: tooBig(MaxFile)}
	}
	if err := maybe.WriteFile(d.path(file), text.Bytes(), 0o600); err != nil { // whole or not there
		return nil, err
	}
	m.Counts = nil
	if err := errors.Join(d.writeMeta(name, m), d.sync()); err != nil {
		return nil, err
	}
	return d.openLocked(name, lock)
}

// sync makes the names in the folder last.
func (d *Dir) sync() error {
	if runtime.GOOS == "windows" || d.opts != nil && d.opts.NoSync {
		return nil
	}
	f, err := d.root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Resume locks a session and goes on with it. Its error is an *InvalidError, a *BusyError,
// ErrArchived, or the file system's, which matches fs.ErrNotExist if there is no such session.
func (d *Dir) Resume(name string) (_ *Session, err error) {
	if err := d.exists(name); err != nil {
		return nil, err
	}
	lock, err := d.lock(name)
	if err != nil {
		return nil, err
	}
	s, err := d.openLocked(name, lock)
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	if s.meta.Archived {
		return nil, errors.Join(fmt.Errorf("session %q: %w", name, ErrArchived), s.Close())
	}
	return s, nil
}

// Read reads a session without locking it, also while it is being written.
func (d *Dir) Read(name string) (*Transcript, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	f, err := d.open(sessionFile(name), MaxFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return d.read(f, name)
}

func (d *Dir) read(f *os.File, name string) (*Transcript, error) {
	t, err := Read(f)
	if invalid := new(InvalidError); errors.As(err, &invalid) {
		invalid.File = d.path(sessionFile(name))
	}
	return t, err
}

// SetArchived puts a session away, or takes it back. One that is in use is refused.
func (d *Dir) SetArchived(name string, archived bool) error {
	if err := d.exists(name); err != nil {
		return err
	}
	lock, err := d.lock(name)
	if err != nil {
		return err
	}
	m, err := d.readMeta(name)
	if err != nil {
		m = Meta{} // it is made anew
	}
	m.Archived = archived
	return errors.Join(d.writeMeta(name, m), lock.Unlock())
}
