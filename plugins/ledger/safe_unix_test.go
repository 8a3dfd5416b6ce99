//go:build unix

package ledger_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/plugins/ledger"
)

// TestUnsafe checks that nothing is recorded where another user could change it, that the error
// says what to type, and that one may still look.
func TestUnsafe(t *testing.T) {
	const nobody = 65534
	const theirs = "be that user, as with sudo -u '#65534', or make it yours: chown "
	chmod := func(mode os.FileMode, file string) func(string) error {
		return func(dir string) error { return os.Chmod(filepath.Join(dir, file), mode) }
	}
	chown := func(file string) func(string) error {
		return func(dir string) error { return os.Chown(filepath.Join(dir, file), nobody, -1) }
	}
	log := func(dir string) error {
		wal := filepath.Join(dir, "l.db-wal")
		return errors.Join(os.WriteFile(wal, nil, 0o600), os.Chmod(wal, 0o666))
	}
	tests := []struct {
		name string
		make func(dir string) error
		want string // in the text; "": it opens
	}{
		{"the file, as it is made", chmod(0o600, "l.db"), ""},
		{"the file, others may read", chmod(0o644, "l.db"), ""},
		{"the file, its group may write", chmod(0o620, "l.db"), "chmod go-w DIR/l.db"},
		{"the file, all may write", chmod(0o602, "l.db"), "chmod go-w DIR/l.db"},
		{"the log, all may write", log, "chmod go-w DIR/l.db-wal"},
		{"the file is another user's", chown("l.db"), theirs},
		{"the owners, all may write", chmod(0o703, "l.db-owners"), "chmod go-w DIR/l.db-owners"},
		{"the owners are another user's", chown("l.db-owners"), theirs},
		{"the folder is a group's", chmod(0o770, "."), ""},
		{"the folder, all may write", chmod(0o707, "."), "chmod o-w DIR"},
		{"the folder, all may write their own", chmod(0o707|os.ModeSticky, "."), ""},
		{"the folder is another user's", chown("."), theirs},
		{"the file has two names", func(dir string) error {
			return os.Link(filepath.Join(dir, "l.db"), filepath.Join(dir, "copy.db"))
		}, "find / -xdev -samefile DIR/l.db"},
		{"its maker died", func(dir string) error {
			return os.Link(filepath.Join(dir, "l.db"), filepath.Join(dir, ".ledger-123"))
		}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "l.db")
			leave(t, path, intent("a", 1), nil)
			if err := test.make(dir); err != nil {
				t.Skip(err) // only root may give files away
			}
			l, err := ledger.Open(t.Context(), path, nil)
			if err == nil {
				err = l.Close()
			}
			unsafe, refused := errors.AsType[*ledger.UnsafeError](err)
			want := strings.ReplaceAll(test.want, "DIR", dir)
			switch {
			case !refused && (want != "" || err != nil):
				t.Errorf("want a *UnsafeError with %q, have %v", want, err)
			case refused && (want == "" || !strings.Contains(unsafe.Do, want)):
				t.Errorf("have %v, want %q", err, want)
			case refused && !strings.HasSuffix(err.Error(), unsafe.Do):
				t.Errorf("it does not say what to do: %v", err)
			}
			l, err = ledger.Open(t.Context(), path, &ledger.Options{ReadOnly: true})
			if err != nil {
				t.Fatalf("to read: %v", err)
			}
			if err := errors.Join(l.Verify(t.Context()), l.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestUnsafeFolderIsLeftAlone checks that no ledger is made where one would be refused.
func TestUnsafeFolderIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	_, err := ledger.Open(t.Context(), filepath.Join(dir, "l.db"), nil)
	if _, refused := errors.AsType[*ledger.UnsafeError](err); !refused {
		t.Errorf("want a *UnsafeError, have %v", err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("it left %v (%v)", files, err)
	}
}
