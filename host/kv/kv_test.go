package kv_test

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/host/kv"
)

func open(t *testing.T, dir string) *kv.Store {
	t.Helper()
	s, err := kv.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func folder(t *testing.T) string { return filepath.Join(t.TempDir(), "state", "kv") }

func TestStore(t *testing.T) {
	hosttest.TestKV(t, func(t *testing.T) host.KV { return open(t, folder(t)).Space("plugin") })
}

func TestMemory(t *testing.T) {
	hosttest.TestKV(t, func(*testing.T) host.KV { return kv.Memory() })
}

// TestReopened runs the suite on spaces that are closed and opened before each transaction.
func TestReopened(t *testing.T) {
	hosttest.TestKV(t, func(t *testing.T) host.KV { return &reopened{t: t, dir: folder(t)} })
}

type reopened struct {
	t   *testing.T
	dir string
}

func (r *reopened) Begin(ctx context.Context) (host.KVTx, error) {
	return open(r.t, r.dir).Space("plugin").Begin(ctx)
}

func set(t *testing.T, space host.KV, key, value string) {
	t.Helper()
	tx, err := space.Begin(t.Context())
	if err == nil {
		err = errors.Join(tx.Set(t.Context(), key, []byte(value)), tx.End(t.Context(), true))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, space host.KV, key string) string {
	t.Helper()
	tx, err := space.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	value, _, err := tx.Get(t.Context(), key)
	if err := errors.Join(err, tx.End(t.Context(), false)); err != nil {
		t.Fatal(err)
	}
	return string(value)
}

func TestSpacesAreApart(t *testing.T) {
	dir := folder(t)
	s := open(t, dir)
	a, b := s.Space("/plugins#a"), s.Space("/plugins#b")
	set(t, a, "k", "of a")
	set(t, b, "k", "of b")
	if got := get(t, a, "k") + ", " + get(t, b, "k"); got != "of a, of b" {
		t.Error(got)
	}
	if s.Space("/plugins#a") != a {
		t.Error("one scope has two spaces")
	}
	other := open(t, dir) // as another process would
	if got := get(t, other.Space("/plugins#a"), "k"); got != "of a" {
		t.Error(got)
	}
}

// TestOtherProcess waits for a transaction that is not this store's.
func TestOtherProcess(t *testing.T) {
	dir := folder(t)
	a, b := open(t, dir).Space("p"), open(t, dir).Space("p")
	set(t, a, "k", "1")
	get(t, b, "k")
	tx, err := a.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := b.Begin(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while another has it: %v", err)
	}
	if err := tx.End(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if got := get(t, b, "k"); got != "1" {
		t.Error(got)
	}
}

func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("has no such modes")
	}
	dir := folder(t)
	set(t, open(t, dir).Space("p"), "k", "v")
	var files int
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		} else {
			files++
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %o", path, info.Mode().Perm())
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Errorf("%d files, %v", files, err)
	}
	if err := os.Chmod(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Open(dir); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("a folder that others can read: %v", err)
	}
}

func TestRefusedFiles(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(t *testing.T, file string)
		says  string
	}{
		"another scope's": {func(t *testing.T, file string) {
			change(t, file, "UPDATE space SET scope = 'q'")
		}, `belongs to "q"`},
		"a later version": {func(t *testing.T, file string) {
			change(t, file, "PRAGMA user_version = 2")
		}, "version 2"},
		"another program's": {func(t *testing.T, file string) {
			change(t, file, "PRAGMA application_id = 1")
		}, "not a key-value space"},
		"no database": {func(t *testing.T, file string) {
			if err := os.WriteFile(file, []byte(strings.Repeat("text ", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "not a database"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t)
			first, err := kv.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			set(t, first.Space("p"), "k", "v")
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			files, _ := filepath.Glob(filepath.Join(dir, "*.db"))
			if len(files) != 1 {
				t.Fatalf("files %q", files)
			}
			test.spoil(t, files[0])
			_, err = open(t, dir).Space("p").Begin(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.says) ||
				!strings.Contains(err.Error(), files[0]) {
				t.Errorf("%v", err)
			}
		})
	}
}

func change(t *testing.T, file, query string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err == nil {
		_, err = db.Exec(query)
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestClosed(t *testing.T) {
	s := open(t, folder(t))
	before := s.Space("p")
	set(t, before, "k", "v")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, space := range []host.KV{before, s.Space("q")} {
		if _, err := space.Begin(t.Context()); !errors.Is(err, kv.ErrClosed) {
			t.Errorf("%v", err)
		}
	}
}
