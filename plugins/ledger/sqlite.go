package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/wasmagent/wasmagent/plugins"
)

// DefaultWait is how long an operation waits for the transactions of other processes.
const DefaultWait = 10 * time.Second

// Options of Open. Zero fields are the documented defaults.
type Options struct {
	// ReadOnly opens a ledger to look at it: the file must be there, and nothing is written. Files
	// beside it, which readers and writers share, are there only while it is open, unless a crash
	// has left them.
	ReadOnly bool

	// Wait is how long an operation waits for the transactions of other processes before it gives
	// up with ErrBusy; 0 is DefaultWait.
	Wait time.Duration
}

// SQLite is a ledger in a file that any number of processes share, and that outlives them. It is
// safe for concurrent use.
type SQLite struct {
	path  string
	wait  time.Duration
	db    *sql.DB
	owner *owner  // nil when it can only be read
	w     *writer // as owner

	anchors []anchor // as owner

	mu      sync.Mutex
	open    map[string]*Record     // the intents that were given to callers, by their IDs
	running map[plugins.Place]bool // where they are

	closing  atomic.Bool
	closed   sync.Once
	closeErr error
}

// Open opens the ledger in the file path, and makes it with its folder if it is not there. A file
// that is something else is left alone: ErrNotLedger, ErrNewer. So is one that other users could
// change, unless it is only to be read: *UnsafeError. Close must be called.
func Open(ctx context.Context, path string, opts *Options) (_ *SQLite, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("ledger %s: %w", path, classify(err))
		}
	}()
	if opts == nil {
		opts = &Options{}
	}
	l := &SQLite{wait: opts.Wait, open: map[string]*Record{}, running: map[plugins.Place]bool{}}
	if l.wait <= 0 {
		l.wait = DefaultWait
	}
	if l.path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	if opts.ReadOnly {
		return l, l.openToRead(ctx)
	}
	return l, l.openToWrite(ctx)
}

func (l *SQLite) openToRead(ctx context.Context) (err error) {
	if err := l.resolve(); err != nil {
		return err
	}
	if none, err := empty(l.path); err != nil {
		return err
	} else if none {
		return ErrNotLedger
	}
	if err := checkFile(ctx, l.path); err != nil {
		return err
	}
	access := []string{"mode=ro"}
	if !hasLog(l.path) { // only who may write takes away the files that readers and writers share
		access = []string{"mode=rw", "_pragma=query_only(on)"}
	}
	err = l.connectToRead(ctx, access...)
	if code(err) != sqlite3.SQLITE_READONLY && code(err) != sqlite3.SQLITE_CANTOPEN || hasLog(l.path) {
		return err
	}
	// SQLite wants to make those files, and this user may not. Without a write-ahead log nobody
	// writes, and all there is lies in the file: a backup, most likely.
	if err := l.db.Close(); err != nil {
		return err
	}
	return l.connectToRead(ctx, "mode=ro", "immutable=1")
}

func (l *SQLite) connectToRead(ctx context.Context, params ...string) (err error) {
	l.db, err = sql.Open("sqlite", dsn(l.path, append(params, "_dqs=false", l.busy())...))
	if err != nil {
		return err
	}
	return checkVersion(ctx, l.db)
}

func (l *SQLite) openToWrite(ctx context.Context) error {
	if err := makeFile(l.path); err != nil {
		return err
	}
	if err := l.resolve(); err != nil {
		return err
	}
	none, err := empty(l.path)
	if err == nil && !none {
		err = checkFile(ctx, l.path)
	}
	if err == nil {
		err = checkSafe(l.path, l.owners())
	}
	if err != nil {
		return err
	}
	l.db, err = sql.Open("sqlite", dsn(l.path, "mode=rw", "_defensive=true", "_dqs=false", l.busy(),
		"_pragma=synchronous(full)", "_pragma=trusted_schema(off)"))
	if err != nil {
		return err
	}
	if err := l.prepareFile(ctx); err != nil {
		return err
	}
	if l.owner, err = newOwner(l.owners()); err != nil {
		return err
	}
	if err := checkVersion(ctx, l.db); err != nil { // a look makes the write-ahead log
		return err
	}
	if l.anchors, err = anchors(l.path); err != nil {
		return err
	}
	l.w, err = newWriter(ctx, l.db, l.wait, l.inPlace)
	return err
}

// resolve makes path the name of the file itself: who comes by a link must find the marks of those
// who did not.
func (l *SQLite) resolve() (err error) {
	path, err := filepath.EvalSymlinks(l.path)
	if err == nil {
		l.path = path
	}
	return err
}

// owners is the folder of the marks of those who have the file open.
func (l *SQLite) owners() string { return l.path + "-owners" }

// busy is the wait of the connections that read.
func (l *SQLite) busy() string { return fmt.Sprintf("_busy_timeout=%d", l.wait.Milliseconds()) }

// prepareFile makes the tables in a new file and sets the journal's mode. The tables come first:
// until they are there, every process that opens the file takes part in making them.
func (l *SQLite) prepareFile(ctx context.Context) (err error) {
	conn, err := impatient(ctx, l.db)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer func() { // those who read next get it
		wait := fmt.Sprintf("PRAGMA busy_timeout = %d", l.wait.Milliseconds())
		if _, e := conn.ExecContext(context.WithoutCancel(ctx), wait); err == nil {
			err = e
		}
	}()
	if err := begin(ctx, conn, l.wait, nil); err != nil {
		return err
	}
	none, err := noTables(ctx, conn)
	if err == nil && none {
		_, err = conn.ExecContext(ctx, fmt.Sprintf(
			"%s; PRAGMA application_id = %d; PRAGMA user_version = %d", schema, applicationID, version))
	}
	if err == nil {
		err = checkVersion(ctx, conn)
	}
	if err == nil {
		at("before the tables")
		err = retry(ctx, l.wait, nil, func() error { // until the journal is WAL, readers keep it out
			_, err := conn.ExecContext(ctx, "COMMIT")
			return err
		})
	}
	if err != nil {
		_, undone := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		return errors.Join(err, undone)
	}
	at("after the tables")
	return retry(ctx, l.wait, nil, func() error {
		_, err := conn.ExecContext(ctx, "PRAGMA journal_mode = wal")
		return err
	})
}

func noTables(ctx context.Context, db queryer) (bool, error) {
	var n int
	err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&n)
	return n == 0, err
}

// mayWrite tells why nothing can be written.
func (l *SQLite) mayWrite() error {
	switch {
	case l.closing.Load():
		return ErrClosed
	case l.w == nil:
		return ErrReadOnly
	}
	return nil
}

// Close waits for what is being recorded and gives the file free. Calls that were begun and not
// ended stay as they are, as after a crash.
func (l *SQLite) Close() error {
	l.closing.Store(true)
	l.closed.Do(func() {
		var errs []error
		if l.w != nil {
			errs = append(errs, l.w.close())
		}
		if l.db != nil {
			errs = append(errs, l.db.Close())
		}
		if l.owner != nil { // last: until here, what this process began may still be recorded
			errs = append(errs, l.owner.close())
		}
		l.closeErr = errors.Join(errs...)
	})
	return l.closeErr
}
