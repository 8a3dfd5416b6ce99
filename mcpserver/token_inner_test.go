package mcpserver

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// TestTokenWithoutLinks pins that a token is made whole and once where files cannot have two names.
func TestTokenWithoutLinks(t *testing.T) {
	noLinks := func(string, string) error { return &os.LinkError{Err: syscall.EPERM} }
	dir := t.TempDir()
	path := filepath.Join(dir, "token")
	errs := make([]error, 16)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			errs[i] = makeToken(path, noLinks)
			if _, err := readToken(path); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
		} else if !errors.Is(err, fs.ErrExist) {
			t.Error(err)
		}
	}
	left, err := os.ReadDir(dir)
	if made != 1 || err != nil || len(left) != 2 {
		t.Errorf("made %d times, left %v, %v", made, left, err)
	}
}
