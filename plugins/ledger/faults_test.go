package ledger_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
)

func TestOpenLeavesOtherFilesAlone(t *testing.T) {
	for _, test := range []struct {
		name string
		make func(path string) error
		want error
	}{
		{"text", func(p string) error { return os.WriteFile(p, []byte("dear diary"), 0o600) },
			ledger.ErrNotLedger},
		{"a long text", func(p string) error {
			return os.WriteFile(p, bytes.Repeat([]byte("dear diary\n"), 1000), 0o600)
		}, ledger.ErrNotLedger},
		{"another database", func(p string) error { return run(p, "CREATE TABLE t (x)") },
			ledger.ErrNotLedger},
		{"a database of another program", func(p string) error {
			return run(p, "PRAGMA application_id = 5; PRAGMA user_version = 1; CREATE TABLE t (x)")
		}, ledger.ErrNotLedger},
		{"a newer ledger", func(p string) error {
			l, err := ledger.Open(t.Context(), p, nil)
			return errors.Join(err, l.Close(), run(p, "PRAGMA user_version = 2"))
		}, ledger.ErrNewer},
		{"a folder", func(p string) error { return os.Mkdir(p, 0o700) }, ledger.ErrNotLedger},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "l.db")
			if err := test.make(path); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadFile(path)
			for _, opts := range []*ledger.Options{nil, {ReadOnly: true}} {
				_, err := ledger.Open(t.Context(), path, opts)
				if !errors.Is(err, test.want) || !strings.Contains(err.Error(), path) {
					t.Errorf("want %v, have %v", test.want, err)
				}
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Error("the file was changed")
			}
			files, err := os.ReadDir(filepath.Dir(path))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				if f.Name() != "l.db" && f.Name() != "l.db-owners" {
					t.Errorf("it left %s", f.Name())
				}
			}
		})
	}
}

// run carries out statements in a database file.
func run(path, statements string) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	_, err = db.Exec(statements)
	return errors.Join(err, db.Close())
}

func TestOpenMakesAPrivateFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	path := filepath.Join(dir, "l.db")
	if _, err := ledger.Open(t.Context(), path, &ledger.Options{ReadOnly: true}); !errors.Is(err,
		fs.ErrNotExist) {
		t.Errorf("to read: want fs.ErrNotExist, have %v", err)
	}
	l := open(t, path)
	end(t, l, begin(t, l, intent("a", 1)), paid)
	want := map[string]fs.FileMode{dir: 0o700 | fs.ModeDir, path: 0o600, path + "-wal": 0o600,
		path + "-owners": 0o700 | fs.ModeDir}
	for file, mode := range want {
		info, err := os.Stat(file)
		if err != nil {
			t.Error(err)
		} else if runtime.GOOS != "windows" && info.Mode() != mode {
			t.Errorf("%s has mode %v, want %v", file, info.Mode(), mode)
		}
	}
}

// TestOwnersAreCleared checks that a closed ledger leaves no mark, and that the mark of a process
// that died is taken away.
func TestOwnersAreCleared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	l := open(t, path)
	dead := filepath.Join(path+"-owners", "dead.lock")
	if err := os.WriteFile(dead, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	other := open(t, path)
	if files := owners(t, path); len(files) != 2 {
		t.Errorf("two have it open: %q", files)
	}
	if err := errors.Join(l.Close(), other.Close()); err != nil {
		t.Fatal(err)
	}
	if files := owners(t, path); len(files) != 0 {
		t.Errorf("nobody has it open: %q", files)
	}
}

// TestTwoAskAtOnce has somebody ask whether a dead process lives while another one does.
func TestTwoAskAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	leave(t, path, intent("a", 1), nil)
	l := open(t, path)
	for r, err := range l.Records(t.Context(), "a") {
		if err != nil {
			t.Fatal(err)
		}
		other := flock.New(filepath.Join(path+"-owners", r.Who+".lock"))
		if asked, err := other.TryRLock(); err != nil || !asked {
			t.Fatal(asked, err)
		}
		defer other.Close()
	}
	if have := sees(t, l, intent("a", 1)); have != "parked" {
		t.Errorf("have %s", have)
	}
}

func owners(t *testing.T, path string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(path+"-owners", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestFaults checks that what the file refuses is not recorded, has a clear error, and that the
// ledger is in order when the fault has passed.
func TestFaults(t *testing.T) {
	for _, test := range []struct {
		name, on, off string // pragmas that make the fault and end it
		want          error
	}{
		{"the disk is full", "max_page_count = 1", "max_page_count = 1000000", ledger.ErrFull},
		{"the disk is read-only", "query_only = 1", "query_only = 0", ledger.ErrReadOnly},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := open(t, filepath.Join(t.TempDir(), "l.db"))
			running := begin(t, l, intent("a", 1))
			end(t, l, begin(t, l, intent("b", 1)), paid)
			if err := l.Pragma(test.on); err != nil {
				t.Fatal(err)
			}
			big := intent("a", 2)
			big.Input = bytes.Repeat([]byte("1"), 1<<20)
			if b, err := l.Begin(t.Context(), big); !errors.Is(err, test.want) {
				t.Errorf("want %v, have %+v, %v", test.want, b, err)
			}
			other := intent("b", 2)
			other.Input = big.Input
			if b, err := l.Begin(t.Context(), other); !errors.Is(err, test.want) {
				t.Errorf("want %v, have %+v, %v", test.want, b, err)
			}
			large := plugins.Completion{State: plugins.Done, Output: gives(string(big.Input))}
			if err := l.End(t.Context(), running.ID, large); !errors.Is(err, test.want) {
				t.Errorf("want %v, have %v", test.want, err)
			}
			if err := l.Pragma(test.off); err != nil {
				t.Fatal(err)
			}
			if have := sees(t, l, intent("a", 1)); have != "parked" {
				t.Errorf("the call whose end is not recorded: %s", have)
			}
			end(t, l, begin(t, l, big), large)
			if err := l.Abandon(t.Context(), "b", ""); err != nil {
				t.Errorf("a run of which nothing runs: %v", err)
			}
			if err := l.Verify(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestDamage overwrites a page of the file.
func TestDamage(t *testing.T) {
	file := history(t)
	const page = 4096
	for n := 1; n < len(file)/page; n++ {
		t.Run(fmt.Sprint("page ", n), func(t *testing.T) {
			broken := bytes.Clone(file)
			copy(broken[n*page:], bytes.Repeat([]byte{0xaa}, page))
			path := filepath.Join(t.TempDir(), "l.db")
			if err := os.WriteFile(path, broken, 0o600); err != nil {
				t.Fatal(err)
			}
			l, err := ledger.Open(t.Context(), path, nil)
			if err == nil {
				err = l.Verify(t.Context())
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}
			if !errors.Is(err, ledger.ErrDamaged) {
				t.Errorf("want ErrDamaged, have %v", err)
			}
		})
	}
}

// TestLostIndex takes away what only SQLite looks for.
func TestLostIndex(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	if err := os.WriteFile(path, history(t), 0o600); err != nil {
		t.Fatal(err)
	}
	edit(t, path, "PRAGMA writable_schema = 1; DELETE FROM sqlite_schema WHERE name = 'records_place'")
	if err := open(t, path).Verify(t.Context()); !errors.Is(err, ledger.ErrDamaged) {
		t.Errorf("want ErrDamaged, have %v", err)
	}
}

func TestReadOnlyRecordsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	leave(t, path, intent("a", 1), nil)
	l, err := ledger.Open(t.Context(), path, &ledger.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = l.Begin(t.Context(), intent("b", 1))
	for what, err := range map[string]error{
		"begin":   err,
		"resolve": l.Resolve(t.Context(), at1, ledger.Resolution{Happened: true}),
		"release": l.Release(t.Context(), "s", "pay", "pay:a1", ""),
		"abandon": l.Abandon(t.Context(), "a", ""),
	} {
		if !errors.Is(err, ledger.ErrReadOnly) {
			t.Errorf("%s: want ErrReadOnly, have %v", what, err)
		}
	}
	if err := l.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

// hold keeps a ledger's file for itself until the function given is called.
func hold(t *testing.T, path string) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(t.Context())
	if err == nil {
		_, err = conn.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		_, err := conn.ExecContext(context.Background(), "ROLLBACK")
		if err := errors.Join(err, conn.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	}
}

func TestBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	l, err := ledger.Open(t.Context(), path, &ledger.Options{Wait: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	release := hold(t, path)
	if _, err := l.Begin(t.Context(), intent("a", 1)); !errors.Is(err, ledger.ErrBusy) {
		t.Errorf("want ErrBusy, have %v", err)
	}
	release()
	begin(t, l, intent("a", 1))
}

// TestClosed checks that whatever is asked of a closed ledger says that it is closed, also when it
// is closed while somebody looks at it.
func TestClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	leave(t, path, intent("a", 1), nil)
	for _, opts := range []*ledger.Options{nil, {ReadOnly: true}} {
		l, err := ledger.Open(t.Context(), path, opts)
		if err != nil {
			t.Fatal(err)
		}
		for range l.Records(t.Context(), "a") {
			if err := errors.Join(l.Close(), l.Close()); err != nil {
				t.Fatal(err)
			}
			break
		}
		for what, err := range afterwards(t.Context(), l) {
			if !errors.Is(err, ledger.ErrClosed) {
				t.Errorf("%s: want ErrClosed, have %v", what, err)
			}
		}
	}
}

// afterwards asks everything of a ledger.
func afterwards(ctx context.Context, l *ledger.SQLite) map[string]error {
	_, err := l.Begin(ctx, intent("a", 1))
	all := map[string]error{
		"begin":   err,
		"resolve": l.Resolve(ctx, at1, ledger.Resolution{Happened: true}),
		"release": l.Release(ctx, "s", "pay", "pay:a1", ""),
		"abandon": l.Abandon(ctx, "a", ""),
		"verify":  l.Verify(ctx),
	}
	for _, err := range l.Runs(ctx) {
		all["runs"] = err
	}
	for _, err := range l.Records(ctx, "a") {
		all["records"] = err
	}
	for _, err := range l.Claims(ctx, "") {
		all["claims"] = err
	}
	for _, err := range l.Recover(ctx) {
		all["recover"] = err
	}
	return all
}
