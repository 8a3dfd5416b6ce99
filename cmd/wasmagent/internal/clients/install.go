package clients

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2/maybe"
)

// MaxFile is the size of the largest file that is edited, in bytes. Claude Code's own grows to
// megabytes.
const MaxFile = 32 << 20

// backupSuffix is what a file's copy is called behind the file's own name.
const backupSuffix = ".wasmagent.bak"

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
	Entry  string // of Replaced: a file with this entry only, as it becomes; owner's values are not told
	Backup string // a copy of what the file was before; "" when it was not there, or is unchanged
}

// Options of Install. Nil and zero fields are the documented defaults.
type Options struct {
	Replace bool   // an entry of the same name that is another one
	DryRun  bool   // only look
	Within  string // a directory that the file must really be in, through all links; "" is any
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
type ExistsError struct {
	Name    string
	Differs []string // the members in which it is, as env.HOME or args (what it is, what it would be)
}

func (e *ExistsError) Error() string {
	return fmt.Sprintf("it has another server named %q, with another %s", e.Name,
		strings.Join(e.Differs, ", "))
}

// Install adds an entry to a file, which need not be there. An entry of the name that has all that e
// has is left as it is: what it has besides is its owner's, and so are the values of e's variables.
// What is not to be had, such as a file that only others may write, is the system's error.
func (c *Client) Install(file string, e *Entry, opts *Options) (Change, error) {
	if opts == nil {
		opts = &Options{}
	}
	target, content, mode, err := read(file)
	if err != nil {
		return Change{}, err
	}
	if err := checkWithin(target, opts.Within); err != nil {
		return Change{}, &RefusedError{File: file, Err: err}
	}
	merge := c.mergeJSON
	if c.Format == "toml" {
		merge = c.mergeTOML
	}
	edited, did, snippet, err := merge(content, e, opts.Replace)
	if err != nil {
		return Change{}, &RefusedError{File: target, Err: err}
	}
	change := Change{File: target, Did: did}
	if did == Replaced {
		change.Entry = snippet
	}
	if did == Unchanged || opts.DryRun {
		return change, nil
	}
	if mode == 0 {
		mode = 0o600 // it may get secrets later
		if opts.Within != "" {
			mode = 0o644 // as the other files of a project
		}
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

// checkWithin tells why a file, with all links on the way to it, is not in a directory. A project's
// files come with the project, and a link among them would choose which file is written.
func checkWithin(file, dir string) error {
	if dir == "" {
		return nil
	}
	real, err := realPath(file)
	if err != nil {
		return err
	}
	root, err := realPath(dir)
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(root, real); err != nil || !filepath.IsLocal(rel) {
		return fmt.Errorf("a link leads out of the project, to %s", real)
	}
	return nil
}

// realPath is where a path leads. What is not there yet lies where it would be made.
func realPath(path string) (string, error) {
	for at, rest := path, ""; ; at, rest = filepath.Dir(at), filepath.Join(filepath.Base(at), rest) {
		real, err := filepath.EvalSymlinks(at)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			return "", err
		}
		if _, err := os.Lstat(at); err == nil {
			return "", fmt.Errorf("%s is a link to what is not there", at)
		}
	}
}

// backup writes a copy beside a file, in the place of an earlier one of ours. The mode is the file's
// as it is now: the file may have got secrets since.
func backup(file, content string, mode fs.FileMode) (string, error) {
	name := file + backupSuffix
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(content)
	return name, errors.Join(err, f.Close())
}
