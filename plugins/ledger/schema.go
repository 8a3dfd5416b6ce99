package ledger

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

	sqlite "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// What marks a file as a ledger, and of which version.
const (
	applicationID = 0x77616c67 // "walg"
	version       = 1
)

// The records are all that there is; runs and claims are made of them, for looking things up, and
// Verify makes them again and compares.
const schema = `
CREATE TABLE records (
	id            INTEGER PRIMARY KEY,
	run           TEXT    NOT NULL,
	number        INTEGER NOT NULL,
	position      INTEGER NOT NULL,
	kind          TEXT    NOT NULL,
	at            INTEGER NOT NULL,
	who           TEXT    NOT NULL,
	scope         TEXT    NOT NULL,
	tool          TEXT    NOT NULL,
	key           TEXT    NOT NULL,
	call_id       TEXT    NOT NULL,
	effect        TEXT    NOT NULL,
	input_hash    BLOB    NOT NULL,
	state         TEXT    NOT NULL,
	attempts      INTEGER NOT NULL,
	from_run      TEXT    NOT NULL,
	from_position INTEGER NOT NULL,
	from_row      INTEGER NOT NULL,
	reason        TEXT    NOT NULL,
	prev          BLOB    NOT NULL,
	hash          BLOB    NOT NULL,
	input         BLOB,
	value         BLOB,
	content       BLOB,
	failure       BLOB,
	UNIQUE (run, number)
) STRICT;
CREATE INDEX records_place ON records (run, position, number);
CREATE TRIGGER records_stay BEFORE DELETE ON records
	BEGIN SELECT RAISE(ABORT, 'records are never deleted'); END;
CREATE TRIGGER records_stay_same BEFORE UPDATE ON records
	BEGIN SELECT RAISE(ABORT, 'records are never changed'); END;
CREATE TABLE runs (
	id        INTEGER PRIMARY KEY,
	run       TEXT    NOT NULL UNIQUE,
	owner     TEXT    NOT NULL,
	records   INTEGER NOT NULL,
	head      BLOB    NOT NULL,
	abandoned INTEGER NOT NULL
) STRICT;
CREATE TABLE claims (
	scope      TEXT    NOT NULL,
	tool       TEXT    NOT NULL,
	key        TEXT    NOT NULL,
	run        TEXT    NOT NULL,
	position   INTEGER NOT NULL,
	input_hash BLOB    NOT NULL,
	settled    INTEGER NOT NULL,
	PRIMARY KEY (scope, tool, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX claims_run ON claims (run);
`

// dsn names a file for the driver.
func dsn(path string, params ...string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive's letter comes first
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: strings.Join(params, "&")}
	return u.String()
}

// checkFile refuses a file that is no ledger before anything opens it for writing. It goes through
// SQLite, since closing a file of one's own would drop the locks that this process has on it.
func checkFile(ctx context.Context, path string) (err error) {
	db, err := sql.Open("sqlite", dsn(path, "mode=ro", "immutable=1"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return checkVersion(ctx, db)
}

// queryer is a database, one connection to it, or that with statements that are prepared.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func checkVersion(ctx context.Context, db queryer) error {
	var id, have int64
	err := db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id)
	if err == nil {
		err = db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have)
	}
	switch {
	case code(err) == sqlite3.SQLITE_NOTADB, err == nil && id != applicationID:
		return ErrNotLedger
	case err != nil:
		return err
	case have > version:
		return fmt.Errorf("%w: it has version %d, this program knows %d", ErrNewer, have, version)
	case have != version:
		return fmt.Errorf("%w: its version is %d", ErrNotLedger, have)
	}
	return nil
}

// newFile are the names of files that are being made.
const newFile = ".ledger-*"

// makeFile makes an empty file that only its owner may read, in a folder of the same kind, unless
// it is there. It is linked into place so that no file of that name is ever closed by us.
func makeFile(path string) (err error) {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := checkFolder(dir); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, newFile) // 0600
	if err != nil {
		return err
	}
	defer func() {
		if gone := os.Remove(f.Name()); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}()
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// empty reports whether a file has no bytes: a ledger that is yet to be made.
func empty(path string) (bool, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return false, err
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("%w: not a regular file", ErrNotLedger)
	}
	return info.Size() == 0, nil
}

// code is the primary code of an error of SQLite, or 0.
func code(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

// classes are the errors that SQLite's own become.
var classes = map[int]error{
	sqlite3.SQLITE_FULL:     ErrFull,
	sqlite3.SQLITE_BUSY:     ErrBusy,
	sqlite3.SQLITE_READONLY: ErrReadOnly,
	sqlite3.SQLITE_PERM:     ErrReadOnly,
	sqlite3.SQLITE_CORRUPT:  ErrDamaged,
	sqlite3.SQLITE_NOTADB:   ErrDamaged,
	sqlite3.SQLITE_ERROR:    ErrDamaged, // our statements are right, so a table is gone
}

// classify says what an error of SQLite means for a ledger.
func classify(err error) error {
	if class, ok := classes[code(err)]; ok {
		return fmt.Errorf("%w: %w", class, err)
	}
	return err
}
