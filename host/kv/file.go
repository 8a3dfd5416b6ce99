package kv

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	sqlite "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// What marks a file as a key-value space, and of which version.
const (
	applicationID = 0x77616b76 // "wakv"
	version       = 1
)

const schema = `
CREATE TABLE space (scope TEXT NOT NULL) STRICT;
CREATE TABLE entries (key BLOB NOT NULL PRIMARY KEY, value BLOB NOT NULL) STRICT;
`

// file is an open space: one connection to a database, which one goroutine uses at a time.
type file struct {
	db   *sql.DB
	conn *sql.Conn
}

func openFile(ctx context.Context, path, scope string) (_ *file, err error) {
	if err := makeFile(path); err != nil {
		return nil, err
	}
	f := &file{}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()
	if f.db, err = sql.Open("sqlite", dsn(path)); err != nil {
		return nil, err
	}
	err = retry(ctx, func() (err error) {
		f.conn, err = f.db.Conn(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, f.prepare(ctx, scope)
}

// makeFile makes an empty file that only its owner can read. One that is there is left alone: to
// close it here would drop the locks that this process has on it.
func makeFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// dsn names a file for the driver. Waiting is done here, where it can be ended.
func dsn(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive's letter comes first
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: "mode=rw&_defensive=true&_dqs=false" +
		"&_busy_timeout=0&_pragma=synchronous(full)&_pragma=trusted_schema(off)"}
	return u.String()
}

// prepare makes the tables in a new file, and refuses one that is not this scope's.
func (f *file) prepare(ctx context.Context, scope string) error {
	if err := f.begin(ctx); err != nil {
		return err
	}
	err := f.prepareTables(ctx, scope)
	if err == nil {
		err = f.commit(ctx)
	}
	if err != nil {
		return err // closing the connection takes it back
	}
	return retry(ctx, func() error { return f.exec(ctx, "PRAGMA journal_mode = wal") })
}

func (f *file) prepareTables(ctx context.Context, scope string) error {
	var tables, id, have int64
	err := f.conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables)
	if err != nil {
		return err
	}
	if tables == 0 {
		err := f.exec(ctx, fmt.Sprintf("%s; PRAGMA application_id = %d; PRAGMA user_version = %d",
			schema, applicationID, version))
		if err != nil {
			return err
		}
		return f.exec(ctx, "INSERT INTO space (scope) VALUES (?)", scope)
	}
	if err := f.conn.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id); err != nil {
		return err
	}
	if err := f.conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return err
	}
	switch {
	case id != applicationID:
		return errors.New("the file is not a key-value space")
	case have != version:
		return fmt.Errorf("the file has version %d, this program knows %d", have, version)
	}
	var found string
	if err := f.conn.QueryRowContext(ctx, "SELECT scope FROM space").Scan(&found); err != nil {
		return err
	}
	if found != scope {
		return fmt.Errorf("the file belongs to %q", found)
	}
	return nil
}

func (f *file) exec(ctx context.Context, query string, args ...any) error {
	_, err := f.conn.ExecContext(ctx, query, args...)
	return err
}

// begin begins a transaction that has the file for itself.
func (f *file) begin(ctx context.Context) error {
	return retry(ctx, func() error { return f.exec(ctx, "BEGIN IMMEDIATE") })
}

// commit keeps what the transaction wrote. Until the journal is a WAL, readers keep it out.
func (f *file) commit(ctx context.Context) error {
	return retry(ctx, func() error { return f.exec(ctx, "COMMIT") })
}

// How long to wait before looking again whether another process is done.
const (
	firstWait = time.Millisecond
	maxWait   = 50 * time.Millisecond
)

// retry works until nobody else has the file, or ctx is done.
func retry(ctx context.Context, work func() error) error {
	for wait := firstWait; ; wait = min(2*wait, maxWait) {
		err := work()
		if !isBusy(err) {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}

func isBusy(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code()&0xff == sqlite3.SQLITE_BUSY
}

func (f *file) close() error {
	var errs []error
	if f.conn != nil {
		errs = append(errs, f.conn.Close())
	}
	if f.db != nil {
		errs = append(errs, f.db.Close())
	}
	return errors.Join(errs...)
}
