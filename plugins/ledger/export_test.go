package ledger

// Path is where a ledger is.
func (l *SQLite) Path() string { return l.path }
