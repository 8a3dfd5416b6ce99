package ledger

import (
	"context"
	"database/sql"
)

// Path is where a ledger is.
func (l *SQLite) Path() string { return l.path }

// OnBoundary has f called at every place where a process that dies leaves another ledger behind.
func OnBoundary(f func(where string)) { boundary = f }

// Pragma sets something of the connection that writes.
func (l *SQLite) Pragma(pragma string) error {
	_, err := l.w.conn.ExecContext(context.Background(), "PRAGMA "+pragma)
	return err
}

// Forge changes a result and computes the record's own hash anew.
func Forge(ctx context.Context, db *sql.DB, run string, number int, value string) error {
	r, _, err := scanRow(db.QueryRowContext(ctx, "SELECT "+columns+
		", hash FROM records WHERE run = ? AND number = ?", run, number))
	if err != nil {
		return err
	}
	r.Output.Value = []byte(value)
	hash := hashOf(r.values())
	_, err = db.ExecContext(ctx, "UPDATE records SET value = ?, hash = ? WHERE run = ? AND number = ?",
		[]byte(value), hash[:], run, number)
	return err
}

// Queued is how many operations wait for the next transaction.
func (l *SQLite) Queued() int {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	return len(l.w.queue)
}
