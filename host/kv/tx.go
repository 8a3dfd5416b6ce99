package kv

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// tx is a call's transaction, which is SQLite's own.
type tx struct {
	file   *file
	space  *space // nil when it has ended
	failed error  // of the first change that could not be made
}

var errEnded = errors.New("the transaction has ended")

func (t *tx) Get(ctx context.Context, key string) (value []byte, ok bool, err error) {
	if t.space == nil {
		return nil, false, errEnded
	}
	err = t.file.conn.QueryRowContext(ctx, "SELECT value FROM entries WHERE key = ?", []byte(key)).
		Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	return value, err == nil, err
}

func (t *tx) Set(ctx context.Context, key string, value []byte) error {
	if value == nil {
		value = []byte{} // and not NULL
	}
	return t.change(ctx, "INSERT INTO entries (key, value) VALUES (?, ?) "+
		"ON CONFLICT (key) DO UPDATE SET value = excluded.value", []byte(key), value)
}

func (t *tx) Delete(ctx context.Context, key string) error {
	return t.change(ctx, "DELETE FROM entries WHERE key = ?", []byte(key))
}

// change changes something. When that fails or is interrupted, SQLite may give up the whole
// transaction, and would keep at once whatever came after: so nothing comes after, and nothing
// interrupts it.
func (t *tx) change(ctx context.Context, query string, args ...any) error {
	switch {
	case t.space == nil:
		return errEnded
	case t.failed != nil:
		return t.failed
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	t.failed = t.file.exec(context.WithoutCancel(ctx), query, args...)
	return t.failed
}

func (t *tx) List(ctx context.Context, prefix, after string, max int) (keys []string, err error) {
	if t.space == nil {
		return nil, errEnded
	}
	query := "SELECT key FROM entries WHERE key >= ? AND key > ?"
	args := []any{[]byte(prefix), []byte(after)}
	if end, ok := behind(prefix); ok {
		query += " AND key < ?"
		args = append(args, []byte(end))
	}
	rows, err := t.file.conn.QueryContext(ctx, query+" ORDER BY key LIMIT ?", append(args, max)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var key []byte
		if err := rows.Scan(&key); err != nil {
			return nil, err
		}
		keys = append(keys, string(key))
	}
	return keys, rows.Err()
}

// behind is the first text behind all that begin with prefix, if there is one.
func behind(prefix string) (string, bool) {
	b := []byte(prefix)
	for len(b) > 0 {
		last := len(b) - 1
		if b[last] < 0xff {
			b[last]++
			return string(b), true
		}
		b = b[:last]
	}
	return "", false
}

func (t *tx) Size(ctx context.Context) (keys int, bytes int64, err error) {
	if t.space == nil {
		return 0, 0, errEnded
	}
	err = t.file.conn.QueryRowContext(ctx,
		"SELECT count(*), coalesce(sum(length(key) + length(value)), 0) FROM entries").
		Scan(&keys, &bytes)
	return keys, bytes, err
}

func (t *tx) End(ctx context.Context, commit bool) (err error) {
	sp := t.space
	if sp == nil {
		return errEnded
	}
	t.space = nil
	defer func() { <-sp.turn }()
	switch {
	case t.failed != nil && commit:
		err = t.failed
	case t.failed != nil:
		return sp.disconnect() // which takes back what there is
	case commit:
		err = t.file.commit(ctx)
	default:
		err = t.file.exec(ctx, "ROLLBACK")
	}
	if err != nil {
		// Closing the connection takes back what it left open.
		err = errors.Join(fmt.Errorf("key-value space %s: %w", sp.path, err), sp.disconnect())
	}
	return err
}
