package loader

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxVersions is what the kept bytes of watched plugins may have together, in bytes. Those that
// were needed longest ago go first.
const maxVersions = 1 << 30

// versions keeps the bytes of the plugins that serve, by digest, in the cache directory: a version
// whose file has been replaced, cut or removed can be compiled all the same, for the calls that
// have found it and for as long as what replaced it does not load. It is filled while a directory
// is watched, and shared by all who do that.
type versions struct {
	dir string
	max int64 // bytes

	mu   sync.Mutex
	on   bool  // somebody watches
	used int64 // bytes
}

// start makes the directory, and counts what lies there.
func (v *versions) start() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := os.MkdirAll(v.dir, 0o700); err != nil {
		return err
	}
	files, err := v.files()
	if err != nil {
		return err
	}
	v.on, v.used = true, 0
	for _, f := range files {
		v.used += f.Size()
	}
	return nil
}

func (v *versions) path(digest string) string {
	return filepath.Join(v.dir, strings.TrimPrefix(digest, "sha256:")+suffix)
}

// has tells whether a version is kept, and that it is needed.
func (v *versions) has(digest string) bool {
	now := time.Now()
	return os.Chtimes(v.path(digest), now, now) == nil
}

// put keeps a version.
func (v *versions) put(digest string, wasm []byte) error {
	if err := v.write(v.path(digest), wasm); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.used += int64(len(wasm)); v.used <= v.max {
		return nil
	}
	return v.prune(filepath.Base(v.path(digest)))
}

// write makes a file that is whole or not there while this machine runs. What a crash spoils has
// another digest, so nobody waits for the disk.
func (v *versions) write(path string, wasm []byte) error {
	f, err := os.CreateTemp(v.dir, "new-")
	if err != nil {
		return err
	}
	_, err = f.Write(wasm)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

// prune removes the files needed longest ago, except one, until the others fit.
func (v *versions) prune(except string) error {
	files, err := v.files()
	if err != nil {
		return err
	}
	v.used = 0
	for i, f := range files { // the youngest first
		if v.used += f.Size(); i > 0 && v.used > v.max && f.Name() != except {
			v.used -= f.Size()
			if err := os.Remove(filepath.Join(v.dir, f.Name())); err != nil && !os.IsNotExist(err) {
				return err
			}
		}
	}
	return nil
}

// files lists what is kept, what was needed last first.
func (v *versions) files() ([]fs.FileInfo, error) {
	entries, err := os.ReadDir(v.dir)
	if err != nil {
		return nil, err
	}
	var files []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	return files, nil
}

// get gives the bytes of a version, if they are kept and nobody has touched them.
func (v *versions) get(digest string, max int64) ([]byte, bool) {
	v.mu.Lock()
	on := v.on
	v.mu.Unlock()
	if !on {
		return nil, false
	}
	wasm, _, err := read(v.path(digest), max)
	return wasm, err == nil && digestOf(wasm) == digest
}
