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

	"github.com/gofrs/flock"
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

// Create begins a session and locks it. Its name "" is its ID. A session that is there already is an
// error that matches fs.ErrExist.
func (d *Dir) Create(name string, m Meta) (*Session, error) {
	return d.create(name, Header{Source: sourceOwn}, m, nil)
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

// Fork makes a new session of the first messages of another, at of them, 0 for all, and locks it.
func (d *Dir) Fork(name, fork string, at int) (*Session, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	f, err := d.open(sessionFile(name), MaxFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := d.read(f, name)
	if err != nil {
		return nil, err
	}
	if at < 0 || at > len(t.Messages) {
		return nil, &RangeError{Name: name, At: at, Messages: len(t.Messages)}
	}
	if at == 0 {
		at = len(t.Messages)
	}
	lines, err := copyLines(f, t.view.closed(d.opts.clock())[:at])
	if err != nil {
		return nil, err
	}
	m, err := d.readMeta(name)
	if err != nil {
		m = Meta{} // it is made anew
	}
	m.Archived = false
	h := Header{Source: t.Header.Source, Parent: &Parent{t.Header.ID, name, at}}
	return d.create(fork, h, m, lines)
}

// copyLines copies lines as they are, with all that this version does not know.
func copyLines(f *os.File, list []entry) ([]byte, error) {
	var text bytes.Buffer
	for i := range list {
		e := &list[i]
		if e.size == 0 {
			if err := appendLine(&text, e.Message); err != nil {
				return nil, err
			}
			continue
		}
		line := make([]byte, e.size)
		if _, err := f.ReadAt(line, e.offset); err != nil {
			return nil, err
		}
		text.Write(bytes.TrimSuffix(line, newline))
		text.Write(newline)
	}
	return text.Bytes(), nil
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
	if err == nil {
		m.Archived = archived
		err = d.writeMeta(name, m)
	}
	return errors.Join(err, lock.Unlock())
}

func (d *Dir) exists(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	_, err := d.stat(sessionFile(name), MaxFile)
	return err
}

// lock takes a session's lock, which ends with this process at the latest.
func (d *Dir) lock(name string) (*flock.Flock, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	file := name + ".lock"
	if _, err := d.stat(file, MaxFile); err != nil && !isMissing(err) {
		return nil, err
	}
	lock := flock.New(d.path(file))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errors.Join(&BusyError{Name: name, File: d.path(file)}, lock.Close())
	}
	return lock, nil
}

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// stat tells of a file of the folder that is one, and no larger than max.
func (d *Dir) stat(file string, max int64) (fs.FileInfo, error) {
	info, err := d.root.Lstat(file)
	if path := new(fs.PathError); errors.As(err, &path) {
		return nil, &fs.PathError{Op: "open", Path: d.path(file), Err: path.Err}
	} else if err != nil {
		return nil, err
	}
	refuse := func(detail string) (fs.FileInfo, error) {
		return nil, &InvalidError{File: d.path(file), Detail: detail}
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return refuse("a symbolic link, which is not followed")
	case info.IsDir():
		return refuse("a directory")
	case !info.Mode().IsRegular():
		return refuse("no regular file")
	case info.Size() > max:
		return refuse(tooBig(max))
	}
	return info, nil
}

func (d *Dir) open(file string, max int64) (*os.File, error) {
	if _, err := d.stat(file, max); err != nil {
		return nil, err
	}
	return d.root.Open(file)
}
