package session

import (
	"errors"
	"io/fs"
	"os"

	"github.com/gofrs/flock"
)

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
