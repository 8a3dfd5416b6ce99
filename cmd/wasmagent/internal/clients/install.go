package clients

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2/maybe"
)

// MaxFile is the size of the largest file that is edited, in bytes. Claude Code's own grows to
// megabytes.
const MaxFile = 32 << 20

// maxBackups is how many copies are kept beside a file.
const maxBackups = 100

// Did is what became of a file.
type Did string

// What Install does.
const (
	Added     Did = "added"
	Replaced  Did = "replaced"
	Unchanged Did = "unchanged" // the entry was there already
)

// Change is what Install did, or would do.
type Change struct {
	File   string // the one that was written: where a link leads
	Did    Did
	Backup string // a copy of what was there before; "" when nothing was, or was changed
}

// Options of Install. Nil and zero fields are the documented defaults.
type Options struct {
	Replace bool // an entry of the same name that is another one
	DryRun  bool // only look
}

// RefusedError is a file that is left as it is, because it could not be edited safely.
type RefusedError struct {
	File string
	Err  error // an *ExistsError, or what is the matter
}

func (e *RefusedError) Error() string { return fmt.Sprintf("%s was left as it is: %v", e.File, e.Err) }

// Unwrap gives what is the matter.
func (e *RefusedError) Unwrap() error { return e.Err }

// ExistsError is an entry that is there, and another one.
type ExistsError struct{ Name string }

func (e *ExistsError) Error() string { return fmt.Sprintf("it has another server named %q", e.Name) }

// Install adds an entry to a file, which need not be there. What is not to be had, such as a file
// that only others may write, is the system's error.
func (c *Client) Install(file string, e *Entry, opts *Options) (Change, error) {
	if opts == nil {
		opts = &Options{}
	}
	target, content, mode, err := read(file)
	if err != nil {
		return Change{}, err
	}
	merge := c.mergeJSON
	if c.Format == "toml" {
		merge = c.mergeTOML
	}
	edited, did, err := merge(content, e, opts.Replace)
	if err != nil {
		return Change{}, &RefusedError{File: target, Err: err}
	}
	change := Change{File: target, Did: did}
	if did == Unchanged || opts.DryRun {
		return change, nil
	}
	if mode == 0 {
		mode = 0o600 // it may get secrets later
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return Change{}, err
		}
	} else if change.Backup, err = backup(target, content, mode); err != nil {
		return Change{}, err
	}
	if _, now, _, err := read(target); err != nil || now != content {
		return Change{}, &RefusedError{File: target,
			Err: errors.Join(err, errors.New("something else changed it at the same moment; try again"))}
	}
	return change, maybe.WriteFile(target, []byte(edited), mode)
}

// read reads a file where it really is. One that is not there is empty and has no mode.
func read(file string) (target, content string, mode fs.FileMode, err error) {
	target, err = filepath.EvalSymlinks(file)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(file); err == nil {
			return file, "", 0, &RefusedError{File: file,
				Err: errors.New("it is a link to what is not there")}
		}
		return file, "", 0, nil
	} else if err != nil {
		return file, "", 0, err
	}
	f, err := os.Open(target)
	if err != nil {
		return target, "", 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return target, "", 0, err
	case !info.Mode().IsRegular():
		return target, "", 0, &RefusedError{File: target, Err: errors.New("it is no regular file")}
	case info.Size() > MaxFile:
		return target, "", 0, &RefusedError{File: target,
			Err: fmt.Errorf("it has %d bytes, more than %d", info.Size(), MaxFile)}
	}
	b, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	return target, string(b), info.Mode().Perm(), err
}

// backup writes a copy beside a file, never over one that is there.
func backup(file, content string, mode fs.FileMode) (string, error) {
	for i := 1; i <= maxBackups; i++ {
		name := file + ".bak"
		if i > 1 {
			name += fmt.Sprint(i)
		}
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		} else if err != nil {
			return "", err
		}
		_, err = f.WriteString(content)
		return name, errors.Join(err, f.Close())
	}
	return "", &RefusedError{File: file,
		Err: fmt.Errorf("%d backups lie beside it already; remove some", maxBackups)}
}
