package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
)

// Run is a run as it stands.
type Run struct {
	Name      string
	Started   time.Time
	Calls     int  // places of which something is recorded
	Records   int  // in its chain
	Live      bool // the process that was at it last has the ledger open
	Abandoned bool
	Pending   []Pending // without their inputs
}

// Pending is a call that is over and whose outcome, or whose key, waits for somebody.
type Pending struct {
	Place            plugins.Place
	Scope, Tool, Key string     // Key may be ""
	Effect           abi.Effect // when it began
	Began            time.Time
	Why              string // crashed, stopped (by its caller, or by the host's fault) or failed

	// Person is that Resolve must say what happened. Else the call runs when its run begins it again,
	// unless its tool is a write by then: that is refused with a *plugins.ReconciliationError, and
	// Resolve helps.
	Person bool

	Input  []byte // JSON
	intent int    // its record's number
}

// Claim is a key that is held.
type Claim struct {
	Scope, Tool, Key string
	Holder           plugins.Place
	Settled          bool // later calls get its result
}

// Runs lists the runs, the oldest first.
func (l *SQLite) Runs(ctx context.Context) iter.Seq2[Run, error] {
	return func(yield func(Run, error) bool) {
		err := l.view(ctx, func(conn *sql.Conn) error {
			rows, err := readRuns(ctx, conn)
			if err != nil {
				return err
			}
			s, err := l.newSurvey(ctx, conn)
			if err != nil {
				return err
			}
			defer s.conn.close()
			for _, row := range rows {
				r, err := s.run(ctx, row)
				if err != nil {
					return err
				}
				if !yield(*r, nil) {
					return errStop
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(Run{}, err)
		}
	}
}

// errStop is that whoever ranges over something has enough.
var errStop = errors.New("enough")

// Records lists the records of a run in their order. A record that was changed comes with a
// *TamperError, and the others after it.
func (l *SQLite) Records(ctx context.Context, name string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		found := false
		err := l.view(ctx, func(conn *sql.Conn) error {
			return eachRecord(ctx, conn, name, func(r *Record, err error) error {
				found = true
				if !yield(*r, err) {
					return errStop
				}
				return nil
			})
		})
		switch {
		case errors.Is(err, errStop):
		case err != nil:
			yield(Record{}, err)
		case !found:
			err = fmt.Errorf("%w: no run %q", ErrNotFound, name)
			l.wrap(&err)
			yield(Record{}, err)
		}
	}
}

// Claims lists the keys that are held, sorted; only those that equal key unless that is "".
func (l *SQLite) Claims(ctx context.Context, key string) iter.Seq2[Claim, error] {
	return func(yield func(Claim, error) bool) {
		var all []*claim
		err := l.view(ctx, func(conn *sql.Conn) (err error) {
			all, err = readClaims(ctx, conn, "WHERE ? IN ('', key) ORDER BY key, tool, scope", key)
			return err
		})
		if err != nil {
			yield(Claim{}, err)
			return
		}
		for _, c := range all {
			if !yield(Claim{c.slot.scope, c.slot.tool, c.slot.key, c.place, c.settled != 0}, nil) {
				return
			}
		}
	}
}

// Recover lists what crashes, callers that left and failures have left behind, the oldest run
// first: what will run again when its run goes on, and what waits for Resolve. It changes nothing.
func (l *SQLite) Recover(ctx context.Context) iter.Seq2[Pending, error] {
	return func(yield func(Pending, error) bool) {
		for r, err := range l.Runs(ctx) {
			if err != nil {
				yield(Pending{}, err)
				return
			}
			for _, p := range r.Pending {
				err := l.view(ctx, func(conn *sql.Conn) error {
					return conn.QueryRowContext(ctx, "SELECT input FROM records WHERE run = ? AND number = ?",
						p.Place.Run, p.intent).Scan(&p.Input)
				})
				if !yield(p, err) || err != nil {
					return
				}
			}
		}
	}
}

// view looks at the ledger as it is at one moment.
func (l *SQLite) view(ctx context.Context, do func(*sql.Conn) error) (err error) {
	defer func() {
		if err == nil || errors.Is(err, errStop) {
			return
		}
		if err = classify(err); l.closing.Load() {
			err = ErrClosed // whatever the driver says of it
		}
		l.wrap(&err)
	}()
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
		return err
	}
	defer conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") // nothing was written
	return do(conn)
}

// readRuns reads the table of runs, the oldest first.
func readRuns(ctx context.Context, conn queryer) ([]*run, error) {
	rows, err := conn.QueryContext(ctx, "SELECT run, owner, records, head, abandoned FROM runs "+
		"ORDER BY id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []*run
	for rows.Next() {
		r := &run{found: true}
		var head []byte
		if err := rows.Scan(&r.name, &r.owner, &r.records, &head, &r.abandoned); err != nil {
			return nil, err
		}
		copy(r.head[:], head)
		all = append(all, r)
	}
	return all, rows.Err()
}

func readClaims(ctx context.Context, conn queryer, where string, args ...any) ([]*claim, error) {
	rows, err := conn.QueryContext(ctx,
		"SELECT scope, tool, key, run, position, input_hash, settled FROM claims "+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []*claim
	for rows.Next() {
		var c claim
		var hash []byte
		err := rows.Scan(&c.slot.scope, &c.slot.tool, &c.slot.key, &c.place.Run, &c.place.Position, &hash,
			&c.settled)
		if err != nil {
			return nil, err
		}
		copy(c.hash[:], hash)
		all = append(all, &c)
	}
	return all, rows.Err()
}

// eachRecord calls do with every record of a run, checked.
func eachRecord(ctx context.Context, conn queryer, name string,
	do func(*Record, error) error) error {
	rows, err := conn.QueryContext(ctx,
		"SELECT "+columns+", hash FROM records WHERE run = ? ORDER BY number", name)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		r, err := scanRecord(rows)
		if r == nil {
			return err
		}
		if err := do(r, err); err != nil {
			return err
		}
	}
	return rows.Err()
}
