package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/wasmagent/wasmagent/plugins"
)

// Verify checks the chains of the runs that are named, or of all, and that what the ledger keeps
// for looking things up is what the records make. The error joins a *TamperError for each place
// that is not as it was written. With no names, the file is checked too: that it is whole, else
// ErrDamaged, that its tables and triggers are a ledger's, and that no run is gone.
func (l *SQLite) Verify(ctx context.Context, runs ...string) error {
	return l.view(ctx, func(conn *sql.Conn) error {
		if len(runs) == 0 {
			return verifyAll(ctx, conn)
		}
		found, err := verifyRuns(ctx, conn, runs)
		return errors.Join(append(found, err)...)
	})
}

func verifyAll(ctx context.Context, conn *sql.Conn) error {
	if err := checkIntegrity(ctx, conn); err != nil {
		return err
	}
	shape, err := checkShape(ctx, conn)
	if err != nil {
		return err
	}
	names, err := allNames(ctx, conn)
	if err != nil {
		return err
	}
	found, err := verifyRuns(ctx, conn, names)
	if err == nil && len(found) == 0 { // else what is gone is named already
		found, err = checkGaps(ctx, conn)
	}
	return errors.Join(slices.Concat(shape, found, []error{err})...)
}

// verifyRuns lists what is wrong with runs.
func verifyRuns(ctx context.Context, conn *sql.Conn, names []string) (found []error, err error) {
	same := prepare(conn)
	defer same.close()
	for _, name := range names {
		c := &chain{name: name, claims: map[slot]*claim{}}
		if err := c.verify(ctx, same); err != nil {
			return found, err
		}
		found = append(found, c.found...)
	}
	return found, nil
}

// checkIntegrity has SQLite look for damage.
func checkIntegrity(ctx context.Context, conn *sql.Conn) error {
	var answer string
	err := conn.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&answer)
	if err == nil && answer != "ok" {
		err = fmt.Errorf("%w: %s", ErrDamaged, answer)
	}
	return err
}

// allNames lists every run that any table knows.
func allNames(ctx context.Context, conn *sql.Conn) ([]string, error) {
	known, err := readRuns(ctx, conn)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(known))
	for i, r := range known {
		names[i] = r.name
	}
	rows, err := conn.QueryContext(ctx, "SELECT DISTINCT run FROM (SELECT run FROM records "+
		"UNION SELECT run FROM claims) WHERE run NOT IN (SELECT run FROM runs) ORDER BY run")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// chain is a run's records as they are read one after the other.
type chain struct {
	name      string
	position  int // of the last record that has one
	number    int // of the last record
	head      [32]byte
	owner     string
	abandoned bool
	claims    map[slot]*claim // as the records make them
	found     []error
}

func (c *chain) tampered(position, record int, detail string) {
	c.found = append(c.found, &TamperError{c.name, position, record, detail})
}

func (c *chain) verify(ctx context.Context, conn queryer) error {
	var copies []*Record
	err := eachRecord(ctx, conn, c.name, func(r *Record, err error) error {
		c.follow(r, err)
		if r.Kind == KindCopy {
			copies = append(copies, r)
		}
		return nil
	})
	if err == nil {
		err = c.compareRun(ctx, conn)
	}
	if err == nil && len(c.found) == 0 { // else whatever is made of the records differs too
		err = c.compareClaims(ctx, conn)
	}
	for _, r := range copies {
		if err == nil {
			err = c.checkCopy(ctx, conn, r)
		}
	}
	return err
}

// follow takes the next record into account; err is what is wrong with it alone.
func (c *chain) follow(r *Record, err error) {
	if r.Position > 0 {
		c.position = r.Position
	}
	switch want := c.number + 1; {
	case r.Number == want+1:
		c.tampered(c.position, want, "it is missing")
	case r.Number != want:
		c.tampered(c.position, want, fmt.Sprintf("it is missing, and so are all before record %d",
			r.Number))
	case err == nil && r.Prev != c.head:
		c.tampered(r.Position, r.Number,
			"it does not follow the record before it: one of them was changed")
	}
	if err != nil {
		c.found = append(c.found, err)
	}
	c.number, c.head = r.Number, r.Hash
	if r.Who != Operator && r.Kind != KindRelease {
		c.owner = r.Who
	}
	c.abandoned = c.abandoned || r.Kind == KindAbandon
	c.claim(r)
}

// claim does to the claims what the record says.
func (c *chain) claim(r *Record) {
	at := r.slot()
	held := c.claims[at]
	mine := held != nil && held.place == r.place()
	switch {
	case r.claims() && !mine:
		c.claims[at] = &claim{slot: at, place: r.place(), hash: r.InputHash}
	case !mine || r.Kind == KindIntent || r.Kind == KindCopy:
	case r.State == plugins.Done:
		held.settled = r.Number
	case r.State == plugins.Released:
		delete(c.claims, at)
	}
}

// compareRun compares the chain with the table of runs, which knows where it ends.
func (c *chain) compareRun(ctx context.Context, conn queryer) error {
	var owner string
	var records int
	var head []byte
	var abandoned bool
	err := conn.QueryRowContext(ctx, selectRun, c.name).Scan(&owner, &records, &head, &abandoned)
	switch {
	case errors.Is(err, sql.ErrNoRows) && c.number == 0:
		var held int
		err = conn.QueryRowContext(ctx, "SELECT count(*) FROM claims WHERE run = ?", c.name).Scan(&held)
		if err == nil && held == 0 {
			return fmt.Errorf("%w: no run %q", ErrNotFound, c.name)
		}
		c.tampered(0, 0, "it holds keys, and its records are gone")
		return err
	case errors.Is(err, sql.ErrNoRows):
		c.tampered(0, 0, "it is not in the table of runs")
		return nil
	case err != nil:
		return err
	case records > c.number:
		c.tampered(c.position, c.number+1, fmt.Sprintf(
			"it is missing: the run had %d records and has %d", records, c.number))
	case records < c.number:
		c.tampered(c.position, records+1, "the table of runs does not know it")
	case len(c.found) > 0: // the end, the owner and the rest are as wrong as the records
	case string(head) != string(c.head[:]), owner != c.owner, abandoned != c.abandoned:
		c.tampered(c.position, c.number, "the table of runs says otherwise")
	}
	return nil
}

// compareClaims compares the claims that the records make with the table of claims.
func (c *chain) compareClaims(ctx context.Context, conn queryer) error {
	held, err := readClaims(ctx, conn, "WHERE run = ?", c.name)
	if err != nil {
		return err
	}
	for _, have := range held {
		want := c.claims[have.slot]
		delete(c.claims, have.slot)
		if want == nil || *want != *have {
			c.tampered(have.place.Position, have.settled, fmt.Sprintf(
				"its claim of the key %q is not what the records say", have.slot.key))
		}
	}
	lost := make([]*claim, 0, len(c.claims))
	for _, want := range c.claims {
		lost = append(lost, want)
	}
	slices.SortFunc(lost, func(a, b *claim) int { return a.place.Position - b.place.Position })
	for _, want := range lost {
		c.tampered(want.place.Position, 0, fmt.Sprintf("its claim of the key %q is missing",
			want.slot.key))
	}
	return nil
}

// checkCopy checks that the record which a copy is of is there.
func (c *chain) checkCopy(ctx context.Context, conn queryer, r *Record) error {
	var n int
	err := conn.QueryRowContext(ctx, "SELECT count(*) FROM records WHERE run = ? AND number = ? AND "+
		"position = ? AND scope = ? AND tool = ? AND key = ? AND input_hash = ? AND state = 'done'",
		r.From.Run, r.FromRow, r.From.Position, r.Scope, r.Tool, r.Key, r.InputHash[:]).Scan(&n)
	if err == nil && n != 1 {
		c.tampered(r.Position, r.Number, fmt.Sprintf("what it is a copy of is not at %s", r.From))
	}
	return err
}
