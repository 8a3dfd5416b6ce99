package kv

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/wasmagent/wasmagent/host"
)

// ErrClosed is what a closed Store's spaces give.
var ErrClosed = errors.New("the store is closed")

// Store has the spaces of all plugins, in a folder. It is safe for concurrent use.
type Store struct {
	dir string

	mu     sync.Mutex
	spaces map[string]*space
	closed bool
}

// Open opens the store in a folder, which it makes with mode 0700 when it is not there. It refuses
// one that others can read. Close must be called, when no call uses it any more.
func Open(dir string) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return nil, err
	}
	info, err := os.Stat(abs)
	switch {
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, &fs.PathError{Op: "open", Path: abs, Err: errors.New("is not a folder")}
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, &fs.PathError{Op: "open", Path: abs,
			Err: fmt.Errorf("others can use it (mode %#o): chmod 700", info.Mode().Perm())}
	}
	return &Store{dir: abs, spaces: map[string]*space{}}, nil
}

// Space gives the space of a scope, any text that names one plugin among all that use this folder.
// Its file is made when a call first uses it.
func (s *Store) Space(scope string) host.KV {
	s.mu.Lock()
	defer s.mu.Unlock()
	sp := s.spaces[scope]
	if sp == nil {
		sp = &space{scope: scope, path: s.path(scope), turn: make(chan struct{}, 1),
			closed: s.closed}
		s.spaces[scope] = sp
	}
	return sp
}

func (s *Store) path(scope string) string {
	sum := sha256.Sum256([]byte(scope))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:16])+".db")
}

// Close waits for the transactions that run and closes all spaces.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	spaces := make([]*space, 0, len(s.spaces))
	for _, sp := range s.spaces {
		spaces = append(spaces, sp)
	}
	s.mu.Unlock()
	var errs []error
	for _, sp := range spaces {
		sp.turn <- struct{}{}
		sp.closed = true
		errs = append(errs, sp.disconnect())
		<-sp.turn
	}
	return errors.Join(errs...)
}

// space is one plugin's.
type space struct {
	scope, path string
	turn        chan struct{} // held by the transaction, or whoever uses the fields below
	file        *file         // nil while it is not open
	closed      bool
}

// Begin is host.KV's.
func (sp *space) Begin(ctx context.Context) (_ host.KVTx, err error) {
	select {
	case sp.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("key-value space %s: %w", sp.path, err), sp.disconnect())
			<-sp.turn
		}
	}()
	if sp.closed {
		return nil, ErrClosed
	}
	if sp.file == nil {
		if sp.file, err = openFile(ctx, sp.path, sp.scope); err != nil {
			return nil, err
		}
	}
	if err := sp.file.begin(ctx); err != nil {
		return nil, err
	}
	return &tx{file: sp.file, space: sp}, nil
}

// disconnect closes the file. The next transaction opens it again.
func (sp *space) disconnect() (err error) {
	if sp.file != nil {
		err = sp.file.close()
		sp.file = nil
	}
	return err
}
