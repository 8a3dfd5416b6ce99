package mount

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Mount is a directory or a file of the host's, at a path of the guest's.
type Mount struct {
	Host    string // absolute; "" with Scratch
	Guest   string // absolute and clean
	Write   bool
	Scratch bool
	Bytes   int64 // that may be added
	Files   int
}

// Error is a mount that cannot be.
type Error struct {
	Index int // in the list
	Err   error
}

func (e *Error) Error() string { return fmt.Sprintf("mount %d: %v", e.Index, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// Set is what a plugin was granted. It is safe for concurrent use.
type Set struct {
	top    *node
	mounts []*mounted
	temp   string // where scratch directories are made; "" without
	paths  string // the mounts, for people
}

// node is a directory that only leads to mounts, or a mount.
type node struct {
	parent   *node
	children map[string]*node
	mount    *mounted
	inode    uint64
}

// mounted is a mount that is open.
type mounted struct {
	guest   string
	write   bool
	scratch bool
	root    *os.Root // of the directory, or of the one that the file is in; nil for scratch
	file    string   // its name there; "" for a directory
	bytes   int64
	files   int
	usage   *usage // of all calls; nil for scratch
}

// Open opens what the mounts name. An error is an *Error.
func Open(mounts []Mount) (_ *Set, err error) {
	s := &Set{top: &node{inode: 1}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	nodes := uint64(1)
	for i, m := range mounts {
		at, err := s.top.make(m.Guest, &nodes)
		if err == nil {
			at.mount, err = s.open(&m)
		}
		if err != nil {
			return nil, &Error{i, err}
		}
		s.mounts = append(s.mounts, at.mount)
	}
	slices.SortFunc(s.mounts, func(a, b *mounted) int { return cmp.Compare(a.guest, b.guest) })
	var words []string
	for _, m := range s.mounts {
		words = append(words, m.guest+" ("+m.mode()+")")
	}
	s.paths = strings.Join(words, ", ")
	return s, nil
}

// maxGuest is the longest guest path of a mount, in bytes.
const maxGuest = 255

// make adds the node of a guest path and those that lead to it.
func (n *node) make(guest string, count *uint64) (*node, error) {
	switch {
	case !path.IsAbs(guest) || path.Clean(guest) != guest:
		return nil, errors.New("the guest path is not absolute and clean, such as /data")
	case len(guest) > maxGuest || strings.ContainsRune(guest, 0):
		return nil, fmt.Errorf("the guest path has a zero byte, or more than %d bytes", maxGuest)
	}
	for name := range strings.SplitSeq(strings.Trim(guest, "/"), "/") {
		if n.mount != nil {
			return nil, fmt.Errorf("it lies inside the mount at %s", n.mount.guest)
		}
		if name == "" { // the root itself
			break
		}
		child := n.children[name]
		if child == nil {
			*count++
			child = &node{parent: n, inode: *count}
			if n.children == nil {
				n.children = map[string]*node{}
			}
			n.children[name] = child
		}
		n = child
	}
	switch {
	case n.mount != nil:
		return nil, errors.New("another mount is there")
	case len(n.children) > 0:
		return nil, errors.New("another mount lies inside it")
	}
	return n, nil
}

func (s *Set) open(m *Mount) (*mounted, error) {
	at := &mounted{guest: m.Guest, write: m.Write || m.Scratch, scratch: m.Scratch,
		bytes: m.Bytes, files: m.Files}
	switch {
	case m.Scratch && m.Host != "":
		return nil, errors.New("a scratch directory is nowhere on the host: leave its path out")
	case m.Scratch:
		return at, s.makeTemp()
	case !filepath.IsAbs(m.Host):
		return nil, errors.New("the host path is not absolute")
	}
	real, err := filepath.EvalSymlinks(m.Host)
	if err != nil {
		return nil, plain(err)
	}
	info, err := os.Stat(real)
	switch {
	case err != nil:
		return nil, plain(err)
	case info.IsDir():
		at.root, err = os.OpenRoot(real)
	case info.Mode().IsRegular() && m.Guest == "/":
		return nil, errors.New("a file cannot be the guest's root: give it a path, such as /data.txt")
	case info.Mode().IsRegular():
		at.file = filepath.Base(real)
		at.root, err = os.OpenRoot(filepath.Dir(real))
	default:
		return nil, errors.New("it is neither a directory nor a regular file")
	}
	at.usage = &usage{maxBytes: m.Bytes, maxFiles: m.Files}
	return at, plain(err)
}

// plain is an error without the path that stands before it anyway.
func plain(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

func (s *Set) makeTemp() (err error) {
	if s.temp == "" {
		s.temp, err = os.MkdirTemp("", "wasmagent-scratch-")
	}
	return err
}

func (m *mounted) mode() string {
	switch {
	case m.scratch:
		return "empty at every call"
	case m.write:
		return "can be written"
	}
	return "read-only"
}

// names are the entries of a directory that only leads to mounts.
func (n *node) names() []string { return slices.Sorted(maps.Keys(n.children)) }

// Close closes all mounts. No Table may be in use.
func (s *Set) Close() error {
	var errs []error
	for _, m := range s.mounts {
		if m.root != nil {
			errs = append(errs, m.root.Close())
		}
	}
	s.mounts = nil
	if s.temp != "" {
		errs = append(errs, os.RemoveAll(s.temp))
	}
	return errors.Join(errs...)
}
