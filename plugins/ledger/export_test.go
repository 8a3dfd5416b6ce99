package ledger

import "context"

// Path is where a ledger is.
func (l *SQLite) Path() string { return l.path }

// OnBoundary has f called at every place where a process that dies leaves another ledger behind.
func OnBoundary(f func(where string)) { boundary = f }

// Pragma sets something of the connection that writes.
func (l *SQLite) Pragma(pragma string) error {
	_, err := l.w.conn.ExecContext(context.Background(), "PRAGMA "+pragma)
	return err
}

// Queued is how many operations wait for the next transaction.
func (l *SQLite) Queued() int {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	return len(l.w.queue)
}
