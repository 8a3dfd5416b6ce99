package loader

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	keyFile  = "cache.key"
	keyBytes = 32
	halfAge  = time.Hour // of a file of makeKey whose maker cannot be at work any more
)

// sealKey gives the key that seals the caches, and makes it when there is none. Whoever can write
// the cache directory but not read this file cannot plant anything in a cache.
func sealKey(dir string) ([]byte, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	path := filepath.Join(dir, keyFile)
	removeHalves(path, time.Now().Add(-halfAge))
	key, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := makeKey(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return readKey(path) // another process may have been first
}

// removeHalves removes what makeKey left beside path before a time, when its process was killed.
// What cannot be removed does no harm.
func removeHalves(path string, before time.Time) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), keyFile+".") {
			continue
		}
		if info, err := e.Info(); err == nil && info.ModTime().Before(before) {
			os.Remove(filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
}

func readKey(path string) ([]byte, error) {
	const most = 1 << 10 // bytes; a file that is no key is refused for its length, not for its size
	key, info, err := read(path, most)
	if err != nil {
		return nil, fmt.Errorf("cache key %s: %w", path, err)
	}
	if len(key) != keyBytes {
		return nil, fmt.Errorf("cache key %s: %d bytes instead of %d: remove it and the caches are "+
			"built anew", path, len(key), keyBytes)
	}
	if err := private(info); err != nil {
		return nil, fmt.Errorf("cache key %s: %w", path, err)
	}
	return key, nil
}

// makeKey writes a new key beside path and links it into place, so that nobody ever reads half of
// one.
func makeKey(path string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), keyFile+".*") // 0600
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	key := make([]byte, keyBytes)
	rand.Read(key) // never fails
	_, err = f.Write(key)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Link(f.Name(), path)
}
