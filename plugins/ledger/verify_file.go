package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// checkShape finds tables, indexes and triggers that are not those of a ledger: without its
// triggers records can be changed, and others could change what is written.
func checkShape(ctx context.Context, conn *sql.Conn) (found []error, err error) {
	db, err := sql.Open("sqlite", "file::memory:")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	model, err := db.Conn(ctx) // its memory is the connection's own
	if err != nil {
		return nil, err
	}
	if _, err := model.ExecContext(ctx, schema); err != nil {
		return nil, err
	}
	want, err := readShape(ctx, model)
	if err != nil {
		return nil, err
	}
	have, err := readShape(ctx, conn)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if text, ok := have[name]; !ok {
			found = append(found, &TamperError{Detail: "its " + name + " is gone"})
		} else if text != want[name] {
			found = append(found, &TamperError{Detail: "its " + name + " was changed"})
		}
		delete(have, name)
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		found = append(found, &TamperError{Detail: fmt.Sprintf("the %s was added", name)})
	}
	return found, nil
}

// readShape gives what makes the things in a database, by their kind and name, apart from SQLite's
// own.
func readShape(ctx context.Context, conn *sql.Conn) (map[string]string, error) {
	rows, err := conn.QueryContext(ctx, "SELECT type, name, tbl_name || ' ' || coalesce(sql, '') "+
		`FROM sqlite_schema WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\'`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	shape := map[string]string{}
	for rows.Next() {
		var kind, name, text string
		if err := rows.Scan(&kind, &name, &text); err != nil {
			return nil, err
		}
		shape[fmt.Sprintf("%s %q", kind, name)] = text
	}
	return shape, rows.Err()
}

// checkGaps finds out whether rows are gone that nothing else misses, such as all of one run: they
// are numbered as they are written, and never deleted.
func checkGaps(ctx context.Context, conn *sql.Conn) (found []error, err error) {
	for _, table := range []string{"records", "runs"} {
		var gone int
		err := conn.QueryRowContext(ctx, "SELECT coalesce(max(id), 0) - count(*) FROM "+table).Scan(&gone)
		if err != nil {
			return nil, err
		}
		if gone != 0 {
			found = append(found, &TamperError{Detail: fmt.Sprintf("%d of its %s are gone", gone, table)})
		}
	}
	return found, nil
}
