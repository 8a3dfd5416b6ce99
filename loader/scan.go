package loader

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
)

// The names that mean something inside a plugin directory.
const (
	suffix     = ".wasm"
	folderFile = "plugin.wasm" // what makes a folder a plugin
)

// authority are the files that only mean something where an operator writes them.
var authority = []string{"approvals.toml", "wasmagent.toml"}

// namePattern is what a plugin may be called: it is shown, typed and used as a key.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// IsName tells whether a plugin can have this name.
func IsName(name string) bool { return namePattern.MatchString(name) }

// candidate is a file that may be a plugin.
type candidate struct {
	name, path string
	err        error // why it cannot be one
}

// scan lists the candidates of a directory by name. Hidden files and whatever is neither a .wasm
// file, nor a folder with a plugin.wasm, nor a manifest are passed over.
func (o *Options) scan(dir string) ([]candidate, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, unwrapPath(err)
	}
	var found []candidate
	for _, e := range entries {
		name, path := e.Name(), filepath.Join(dir, e.Name())
		switch {
		case strings.HasPrefix(name, "."):
		case slices.Contains(authority, name):
			found = append(found, candidate{name, path, &AuthorityError{path}})
		default:
			if stem, ok := o.stem(name); ok && !e.IsDir() {
				found = append(found, newCandidate(stem, path))
			} else if c, ok := o.scanFolder(name, path); ok {
				found = append(found, c)
			}
		}
		if len(found) > MaxPlugins {
			return nil, fmt.Errorf("more than %d plugins", MaxPlugins)
		}
	}
	found = speaks(found, o)
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.name, b.name) })
	refuseNamesakes(found)
	return found, nil
}

// scanFile makes the one candidate of a path that a person named.
func (o *Options) scanFile(path string) (candidate, error) {
	info, err := os.Stat(path)
	if err != nil {
		return candidate{}, unwrapPath(err)
	}
	if !info.IsDir() {
		base := filepath.Base(path)
		if base == folderFile || base == manifestFile {
			if abs, err := filepath.Abs(path); err == nil {
				return newCandidate(filepath.Base(filepath.Dir(abs)), path), nil
			}
		}
		name, _ := o.stem(path)
		return newCandidate(name, path), nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return candidate{}, err
	}
	c, ok := o.scanFolder(filepath.Base(abs), path)
	if !ok {
		return candidate{}, errNoPlugin
	}
	return c, nil
}

var errNoPlugin = errors.New("there is no " + folderFile + " in this folder")

// scanFolder makes the candidate of a folder, if it has a plugin.wasm or a manifest.
func (o *Options) scanFolder(name, path string) (candidate, bool) {
	file := filepath.Join(path, folderFile)
	if _, err := os.Lstat(file); err != nil {
		file = filepath.Join(path, manifestFile)
		if _, err := os.Lstat(file); err != nil || o.bundler(file) == nil {
			return candidate{}, false
		}
	}
	c := newCandidate(name, file)
	for _, a := range authority {
		if _, err := os.Lstat(filepath.Join(path, a)); err == nil {
			c.err = errors.Join(c.err, &AuthorityError{filepath.Join(path, a)})
		}
	}
	return c, true
}

func newCandidate(name, path string) candidate {
	c := candidate{name: name, path: path}
	if !IsName(name) {
		c.name = abi.CleanText(name, abi.MaxTextChars)
		c.err = fmt.Errorf("the name must match %s", namePattern)
	}
	return c
}

// refuseNamesakes marks NAME.wasm and NAME/plugin.wasm that lie side by side. found is sorted.
func refuseNamesakes(found []candidate) {
	for i := 1; i < len(found); i++ {
		a, b := &found[i-1], &found[i]
		if a.name != b.name || a.err != nil || b.err != nil {
			continue
		}
		paths := slices.Sorted(slices.Values([]string{a.path, b.path}))
		a.err = &CollisionError{What: "plugin", Name: a.name, Paths: paths}
		b.err = a.err
	}
}

// errNotRegular is a folder, pipe, socket or device where a file is needed.
var errNotRegular = errors.New("not a regular file")

// stat follows links to a regular file of at most max bytes.
func stat(path string, max int64) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, unwrapPath(err)
	}
	return info, regular(info, max)
}

func regular(info fs.FileInfo, max int64) error {
	if !info.Mode().IsRegular() {
		return errNotRegular
	}
	if info.Size() > max {
		return fmt.Errorf("%d bytes, over the limit of %d bytes", info.Size(), max)
	}
	return nil
}

// read gives a whole file of at most max bytes, and the identity of what was read.
func read(path string, max int64) ([]byte, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|openNonblock, 0) // a pipe must not block us
	if err != nil {
		return nil, nil, unwrapPath(err)
	}
	defer f.Close()
	return readFrom(f, max)
}

func readFrom(f *os.File, max int64) ([]byte, fs.FileInfo, error) {
	info, err := f.Stat()
	if err == nil {
		err = regular(info, max)
	}
	if err != nil {
		return nil, nil, unwrapPath(err)
	}
	b := make([]byte, 0, info.Size()+1) // one more, to see the end without growing
	for {
		n, err := f.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if int64(len(b)) > max || len(b) == cap(b) {
			return nil, nil, errors.New("the file grew while it was read")
		}
		if errors.Is(err, io.EOF) {
			return b, info, nil
		}
		if err != nil {
			return nil, nil, unwrapPath(err)
		}
	}
}

// unwrapPath drops the path from an error whose reader adds it.
func unwrapPath(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}
