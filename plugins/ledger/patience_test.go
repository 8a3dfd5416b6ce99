package ledger

import (
	"path/filepath"
	"testing"
)

// TestReadersWait pins that no connection which reads gives up at once while another process has
// the file: the one that makes the file is theirs afterwards.
func TestReadersWait(t *testing.T) {
	l, err := Open(t.Context(), filepath.Join(t.TempDir(), "l.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.prepareFile(t.Context()); err != nil {
		t.Fatal(err)
	}
	var held []interface{ Close() error }
	for range 4 {
		conn, err := l.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, conn)
		var wait int64
		if err := conn.QueryRowContext(t.Context(), "PRAGMA busy_timeout").Scan(&wait); err != nil {
			t.Fatal(err)
		}
		if wait != l.wait.Milliseconds() {
			t.Errorf("a connection waits for %d ms, want %d", wait, l.wait.Milliseconds())
		}
	}
	for _, c := range held {
		c.Close()
	}
}
