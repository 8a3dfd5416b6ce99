package ledger

// Path is where a ledger is.
func (l *SQLite) Path() string { return l.path }

// OnBoundary has f called at every place where a process that dies leaves another ledger behind.
func OnBoundary(f func(where string)) { boundary = f }
