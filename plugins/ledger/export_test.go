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
	return l.Exec("PRAGMA " + pragma)
}

// Exec carries out a statement on the connection that writes.
func (l *SQLite) Exec(statement string) error {
	_, err := l.w.conn.ExecContext(context.Background(), statement)
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

// Setting is what the connection that writes has for a pragma.
func (l *SQLite) Setting(pragma string) (n int, err error) {
	err = l.w.conn.QueryRowContext(context.Background(), "PRAGMA "+pragma).Scan(&n)
	return n, err
}

// PlanOfPlace is how SQLite finds the records of a place.
func (l *SQLite) PlanOfPlace() (plan string, err error) {
	var id, parent, unused int
	err = l.db.QueryRow("EXPLAIN QUERY PLAN "+selectPlace, "a", 1).Scan(&id, &parent, &unused, &plan)
	return plan, err
}

// HashOf is the hash of a record that has these values.
func HashOf(values ...any) [32]byte { return hashOf(values) }

// Queued is how many operations wait for the next transaction.
func (l *SQLite) Queued() int {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	return len(l.w.queue)
}
