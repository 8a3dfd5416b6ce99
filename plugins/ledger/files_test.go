package ledger_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
)

// TestLinkLeadsToTheSameLedger checks that one who comes by a symbolic link takes those who came by
// the file's own name for alive.
func TestLinkLeadsToTheSameLedger(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "l.db"), filepath.Join(dir, "link.db")
	in := intent("a", 1)
	in.Effect = abi.EffectIdempotent
	begin(t, open(t, path), in)
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	other := open(t, link)
	in.Run = "b"
	_, err := other.Begin(t.Context(), in)
	if held, ok := errors.AsType[*plugins.InFlightError](err); !ok || held.Unresolved {
		t.Errorf("the key of a live process: %v", err)
	}
	_, err = other.Begin(t.Context(), intent("a", 2))
	if _, ok := errors.AsType[*plugins.RunBusyError](err); !ok {
		t.Errorf("the run of a live process: %v", err)
	}
}

// TestLongRunsStayFast checks that a call is found by its place, and not by going through its run.
func TestLongRunsStayFast(t *testing.T) {
	plan, err := open(t, filepath.Join(t.TempDir(), "l.db")).PlanOfPlace()
	if err != nil || !strings.Contains(plan, "records_place (run=? AND position=?)") {
		t.Errorf("%s (%v)", plan, err)
	}
}

// TestMoved checks that nothing is recorded where nobody will find it, and that no call begins
// which others cannot know to be alive.
func TestMoved(t *testing.T) {
	for _, file := range []string{"l.db", "l.db-wal", "l.db-owners"} {
		for verb, move := range map[string]func(path string) error{
			"deleted":  os.RemoveAll,
			"moved":    func(p string) error { return os.Rename(p, p+".old") },
			"replaced": replace,
		} {
			t.Run(file+" "+verb, func(t *testing.T) {
				dir := t.TempDir()
				l := open(t, filepath.Join(dir, "l.db"))
				begun := begin(t, l, intent("a", 1))
				if err := move(filepath.Join(dir, file)); err != nil {
					t.Skip(err)
				}
				if _, err := l.Begin(t.Context(), intent("a", 2)); !errors.Is(err, ledger.ErrMoved) {
					t.Errorf("begin: want ErrMoved, have %v", err)
				}
				if err := l.End(t.Context(), begun.ID, paid); !errors.Is(err, ledger.ErrMoved) {
					t.Errorf("end: want ErrMoved, have %v", err)
				}
			})
		}
	}
}

// replace puts a copy in the place of a file or folder.
func replace(path string) error {
	if err := os.Rename(path, path+".old"); err != nil {
		return err
	}
	if info, err := os.Stat(path + ".old"); err != nil || info.IsDir() {
		return errors.Join(err, os.CopyFS(path, os.DirFS(path+".old")))
	}
	b, err := os.ReadFile(path + ".old")
	return errors.Join(err, os.WriteFile(path, b, 0o600))
}

// TestReadBackup checks that a ledger on a medium that nobody may write to can be looked at.
func TestReadBackup(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "l.db")
	l := open(t, path)
	end(t, l, begin(t, l, intent("a", 1)), paid)
	if err := errors.Join(l.Close(), os.Chmod(path, 0o400), os.Chmod(dir, 0o500)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(dir, 0o700) })
	l, err := ledger.Open(t.Context(), path, &ledger.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Verify(t.Context(), "a"), l.Close()); err != nil {
		t.Error(err)
	}
}

// TestReadLeavesNoFiles checks that looking at a ledger leaves its folder as it was, and takes no
// log away that somebody still needs.
func TestReadLeavesNoFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	names := func() string {
		t.Helper()
		files, err := os.ReadDir(filepath.Dir(path))
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, f := range files {
			all = append(all, f.Name())
		}
		return strings.Join(all, " ")
	}
	look := func() {
		t.Helper()
		before := names()
		l, err := ledger.Open(t.Context(), path, &ledger.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(l.Verify(t.Context()), l.Close()); err != nil {
			t.Error(err)
		}
		if after := names(); after != before {
			t.Errorf("have %s, want %s", after, before)
		}
	}
	leave(t, path, intent("a", 1), nil)
	look()
	if want := "l.db l.db-owners"; names() != want {
		t.Errorf("have %s, want %s", names(), want)
	}
	l := open(t, path)
	begin(t, l, intent("b", 1))
	look()
	begin(t, l, intent("b", 2))
}

// TestMarkIsTakenAway takes an owner's mark for a dead one's before it is locked, as another
// process may: then nobody would find it, and this process would be taken for dead.
func TestMarkIsTakenAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	taken := 0
	ledger.OnBoundary(func(where string) {
		if where != "owner locked" || taken == 2 {
			return
		}
		taken++
		marks := owners(t, path)
		if len(marks) != 1 {
			t.Fatalf("the marks %q", marks)
		}
		if err := os.Remove(marks[0]); err != nil {
			t.Skip(err) // some systems remove no open file
		}
	})
	t.Cleanup(func() { ledger.OnBoundary(nil) })
	l := open(t, path)
	if marks := owners(t, path); taken != 2 || len(marks) != 1 {
		t.Errorf("taken %d times, the marks %q", taken, marks)
	}
	begin(t, l, intent("a", 1))
	_, err := open(t, path).Begin(t.Context(), intent("a", 2))
	if _, busy := errors.AsType[*plugins.RunBusyError](err); !busy {
		t.Errorf("the run of a live process: %v", err)
	}
}

// TestWritesAreSafe checks what a commit's promise hangs on: it waits for the disk, and a schema
// that somebody else has changed calls no functions. Nor can a statement write to the schema.
func TestWritesAreSafe(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "l.db"))
	if err := l.Pragma("writable_schema = 1"); err != nil {
		t.Error(err)
	}
	if err := l.Exec("UPDATE sqlite_schema SET sql = sql"); err == nil {
		t.Error("the schema can be written to")
	}
	for pragma, want := range map[string]int{"synchronous": 2, "trusted_schema": 0} {
		if have, err := l.Setting(pragma); have != want || err != nil {
			t.Errorf("%s is %d, want %d (%v)", pragma, have, want, err)
		}
	}
}
