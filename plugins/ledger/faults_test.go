package ledger_test

import (
	"bytes"
	"context"
	"crypto/sha256"
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

func TestClosed(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "l.db"))
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Begin(t.Context(), intent("a", 1)); !errors.Is(err, ledger.ErrClosed) {
		t.Errorf("want ErrClosed, have %v", err)
	}
}

// TestLimits checks that what is as long as it may be is taken, and what is longer is not.
func TestLimits(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "l.db"))
	memory := new(ledger.Memory)
	text := func(n int) string { return strings.Repeat("x", n) }
	for what, in := range map[string]func(*plugins.Intent, int){
		"run":   func(in *plugins.Intent, over int) { in.Run = text(ledger.MaxRun + over) },
		"scope": func(in *plugins.Intent, over int) { in.Scope = text(ledger.MaxScope + over) },
		"tool":  func(in *plugins.Intent, over int) { in.Tool = text(64 + over) },
		"key":   func(in *plugins.Intent, over int) { in.Key = text(ledger.MaxKey + over) },
		"input": func(in *plugins.Intent, over int) { in.Input = []byte(text(ledger.MaxInput + over)) },
	} {
		for over := range 2 {
			for _, l := range []plugins.Ledger{l, memory} {
				one := intent(what, 1)
				one.Run = what
				in(&one, over)
				_, err := l.Begin(t.Context(), one)
				_, tooLong := errors.AsType[*ledger.LimitError](err)
				if tooLong != (over == 1) || !tooLong && err != nil {
					t.Errorf("%s, %d over the limit: %v", what, over, err)
				}
			}
		}
	}
	for _, name := range []string{"-a", ".a", "a b", "a#1", "a/b", "ä", "a\n", "a\x00"} {
		for _, l := range []plugins.Ledger{l, memory} {
			if _, err := l.Begin(t.Context(), intent(name, 1)); err == nil {
				t.Errorf("the run's name %q was taken", name)
			}
		}
	}
	begin(t, l, intent("A9._:@+=-", 1))
	if err := l.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestLimitOfResults checks that a result which is too large to be kept leaves a call of which
// nothing is copied, and nothing runs again.
func TestLimitOfResults(t *testing.T) {
	dir := t.TempDir()
	for i, l := range []plugins.Ledger{open(t, filepath.Join(dir, "l.db")), new(ledger.Memory)} {
		value := bytes.Repeat([]byte("1"), ledger.MaxOutput+1)
		at, over := intent("a", 1), intent("a", 2)
		end(t, l, begin(t, l, at), plugins.Completion{State: plugins.Done,
			Output: gives(string(value[1:]))})
		b := begin(t, l, over)
		err := l.End(t.Context(), b.ID, plugins.Completion{State: plugins.Done,
			Output: gives(string(value))})
		if _, ok := errors.AsType[*ledger.LimitError](err); !ok {
			t.Errorf("ledger %d: want a *LimitError, have %v", i, err)
		}
		if have := sees(t, l, over); have != "parked" {
			t.Errorf("ledger %d: %s", i, have)
		}
		if have := sees(t, l, at); len(have) != ledger.MaxOutput {
			t.Errorf("ledger %d: a result of %d bytes", i, len(have))
		}
	}
}

// TestLongCallIDsAreCut has an ID that is cut within a character.
func TestLongCallIDsAreCut(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "l.db"))
	for position, id := range []string{strings.Repeat("x", ledger.MaxCallID),
		strings.Repeat("x", ledger.MaxCallID-1) + "äöü"} {
		in := intent("a", position+1)
		in.CallID = id
		begin(t, l, in)
	}
	var have []int
	for r, err := range l.Records(t.Context(), "a") {
		if err != nil {
			t.Fatal(err)
		}
		have = append(have, len(r.CallID))
	}
	if want := fmt.Sprint([]int{ledger.MaxCallID, ledger.MaxCallID - 1}); fmt.Sprint(have) != want {
		t.Errorf("IDs of %v bytes, want %s", have, want)
	}
}

// TestOddTextIsKept has keys that no file should be confused by.
func TestOddTextIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	l := open(t, path)
	keys := []string{"pay:", "pay:a\x00b", "pay:a", "pay:\xff", "pay:ä",
		"pay:'; DROP TABLE records; --"}
	for n, key := range keys {
		in := intent("a", n+1)
		in.Key, in.InputHash = key, sha256.Sum256([]byte(key))
		end(t, l, begin(t, l, in), plugins.Completion{State: plugins.Done,
			Output: gives(fmt.Sprint(n))})
	}
	if err := errors.Join(l.Verify(t.Context()), l.Close()); err != nil {
		t.Fatal(err)
	}
	l = open(t, path)
	for n, key := range keys {
		in := intent("b", n+1)
		in.Key, in.InputHash = key, sha256.Sum256([]byte(key))
		if have := sees(t, l, in); have != fmt.Sprint(n) {
			t.Errorf("key %q: %s, want %d", key, have, n)
		}
	}
}
