package loader

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/wasmagent/wasmagent/internal/tomlfile"
)

// LockFile pins the plugins of the directory that it lies in: a table plugins, with the digest of
// each by its name. It comes with the directory, so it can refuse, and never permits.
const LockFile = "wasmagent.lock"

// maxLockFile bounds a lock, in bytes: MaxPlugins with names and digests of usual length.
const maxLockFile = 2 << 20

// LockError is a plugin that a lock does not have, or has with another digest.
type LockError struct {
	File          string // the lock
	Pinned, Found string // digests; Pinned is "" where the lock does not have the plugin
}

func (e *LockError) Error() string {
	if e.Pinned == "" {
		return fmt.Sprintf("%s does not have it: wasmagent lock pins it", show(e.File))
	}
	return fmt.Sprintf("%s pins another file (%s, have %s): wasmagent lock pins this one",
		show(e.File), short(e.Pinned), short(e.Found))
}

// lock is what a LockFile says; nil: there is none.
type lock struct {
	file string
	pins map[string]any
	err  error // nothing is known of what it pins
}

// lockOf reads the lock of the directory that has a plugin's file or folder.
func lockOf(path string) *lock {
	l := &lock{file: lockPath(path)}
	content, err := tomlfile.ReadStranger(l.file, maxLockFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var top map[string]any
	if err == nil {
		top, _, err = tomlfile.Parse(content)
	}
	pins, ok := top["plugins"].(map[string]any)
	switch {
	case err != nil:
		l.err = fmt.Errorf("%s: %w", show(l.file), unwrapPath(err))
	case !ok || len(top) > 1:
		l.err = fmt.Errorf("%s: want one table, plugins, of digests", show(l.file))
	}
	l.pins = pins
	return l
}

// lockPath is where the lock would be of the directory that has a plugin's file or folder.
func lockPath(path string) string {
	dir := filepath.Dir(path)
	if base := filepath.Base(path); base == folderFile || base == manifestFile {
		dir = filepath.Dir(dir)
	}
	return filepath.Join(dir, LockFile)
}

// check refuses a plugin that is not pinned as it is.
func (l *lock) check(name, digest string) error {
	if l == nil {
		return nil
	}
	if l.err != nil {
		return l.err
	}
	pinned, _ := l.pins[name].(string)
	if pinned == digest && strings.HasPrefix(pinned, "sha256:") {
		return nil
	}
	return &LockError{File: l.file, Pinned: show(pinned), Found: digest}
}
