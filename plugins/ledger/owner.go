package ledger

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// owner is the mark of an opened ledger that its process lives: a file of a random name that stays
// locked until it is closed. The system gives the lock back whatever way the process ends, so that
// nobody has to trust process numbers or clocks.
type owner struct {
	name string
	dir  string
	lock *flock.Flock
}

const ownerSuffix = ".lock"

// newOwner makes the file in dir, which it makes too, and takes away those of the dead.
func newOwner(dir string) (*owner, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	removeDead(dir)
	for {
		o := &owner{name: strings.ToLower(rand.Text()[:ownerChars]), dir: dir}
		o.lock = flock.New(o.file(o.name), flock.SetPermissions(0o600))
		locked, err := o.lock.TryLock()
		if err != nil {
			return nil, err
		}
		at("owner locked")
		if locked && o.exists() {
			return o, nil
		}
		_ = o.lock.Close() // somebody took it for a dead one's before it was locked
	}
}

const ownerChars = 16 // 80 bits

func (o *owner) file(name string) string { return filepath.Join(o.dir, name+ownerSuffix) }

// exists reports whether the locked file is the one that others find.
func (o *owner) exists() bool {
	named, err := os.Stat(o.file(o.name))
	if err != nil {
		return false
	}
	locked, err := o.lock.Stat()
	return err == nil && os.SameFile(named, locked)
}

func (o *owner) close() error {
	err := o.lock.Close() // first, since some systems remove no open file
	if gone := os.Remove(o.file(o.name)); !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}

// aliveIn reports whether the process of the owner of that name lives. Asking takes a shared lock,
// so that two who ask at once do not take each other for the owner.
func aliveIn(dir, name string) (bool, error) {
	lock := flock.New(filepath.Join(dir, name+ownerSuffix), flock.SetFlag(os.O_RDONLY))
	free, err := lock.TryRLock()
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return !free && err == nil, errors.Join(err, lock.Close())
}

// removeDead takes away the files of processes that were killed. What cannot be removed is left to
// whoever comes next.
func removeDead(dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, "*"+ownerSuffix))
	for _, file := range files {
		lock := flock.New(file, flock.SetFlag(os.O_RDWR))
		if free, err := lock.TryLock(); err == nil && free {
			_ = os.Remove(file)
		}
		_ = lock.Close()
	}
}
