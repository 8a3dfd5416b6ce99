package ledger

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
)

// tx is a transaction that writes. Its first error stays and ends it: whoever sees one later only
// has to stop.
type tx struct {
	w   *writer
	now time.Time
	err error
}

// stmt gives the prepared statement, or nil when the transaction has an error.
func (t *tx) stmt(query string) (s *sql.Stmt) {
	if t.err == nil {
		s, t.err = t.w.same.stmt(context.Background(), query)
	}
	if t.err != nil {
		return nil
	}
	return s
}

func (t *tx) exec(query string, args ...any) {
	if s := t.stmt(query); s != nil {
		_, t.err = s.ExecContext(context.Background(), args...)
	}
}

// find scans the one row that a query has, if it has any.
func (t *tx) find(scan func(scanner) error, query string, args ...any) bool {
	s := t.stmt(query)
	if s == nil {
		return false
	}
	err := scan(s.QueryRowContext(context.Background(), args...))
	if errors.Is(err, sql.ErrNoRows) {
		return false
	}
	t.err = err
	return err == nil
}

// run is a row of the table of runs.
type run struct {
	name      string
	owner     string // who was at it last
	records   int
	head      [32]byte // the hash of the last record
	abandoned bool
	found     bool
}

const selectRun = "SELECT owner, records, head, abandoned FROM runs WHERE run = ?"

func (t *tx) run(name string) *run {
	r := &run{name: name}
	var head []byte
	r.found = t.find(func(row scanner) error {
		return row.Scan(&r.owner, &r.records, &head, &r.abandoned)
	}, selectRun, name)
	copy(r.head[:], head)
	return r
}

const (
	insertRecord = "INSERT INTO records (" + columns + ", hash) VALUES " +
		"(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
	upsertRun = "INSERT INTO runs (run, owner, records, head, abandoned) VALUES (?,?,?,?,?) " +
		"ON CONFLICT (run) DO UPDATE SET owner = excluded.owner, records = excluded.records, " +
		"head = excluded.head, abandoned = excluded.abandoned"
)

// add appends a record to its run's chain. What a process does in a run makes the run its own; what
// an operator or another run's process adds to it does not.
func (t *tx) add(to *run, r *Record) {
	if r.Who != Operator && r.Kind != KindRelease {
		to.owner = r.Who
	}
	r.Run, r.Number, r.Prev, r.At = to.name, to.records+1, to.head, t.now
	if t.err == nil {
		t.err = r.seal()
	}
	t.exec(insertRecord, append(r.values(), r.Hash[:])...)
	to.records, to.head = r.Number, r.Hash
	t.exec(upsertRun, to.name, to.owner, to.records, to.head[:], to.abandoned)
}

// claim is a row of the table of claims.
type claim struct {
	slot    slot
	place   plugins.Place
	hash    [32]byte
	settled int // the number, in its run, of the record that has the result; 0: there is none yet
}

const selectClaim = "SELECT run, position, input_hash, settled FROM claims " +
	"WHERE scope = ? AND tool = ? AND key = ?"

// claim gives who holds a slot, or nil.
func (t *tx) claim(s slot) *claim {
	c := &claim{slot: s}
	var hash []byte
	found := t.find(func(row scanner) error {
		return row.Scan(&c.place.Run, &c.place.Position, &hash, &c.settled)
	}, selectClaim, s.scope, s.tool, s.key)
	if !found {
		return nil
	}
	copy(c.hash[:], hash)
	return c
}

func (t *tx) take(s slot, by *Record) {
	t.exec("INSERT INTO claims (scope, tool, key, run, position, input_hash, settled) "+
		"VALUES (?,?,?,?,?,?,0)", s.scope, s.tool, s.key, by.Run, by.Position, by.InputHash[:])
}

// settle does to a call's claim what a record says became of it. A call that has lost its claim, or
// never had one, changes nothing.
func (t *tx) settle(r *Record) {
	if r.Key == "" || r.Effect == abi.EffectRead {
		return
	}
	const mine = " WHERE scope = ? AND tool = ? AND key = ? AND run = ? AND position = ?"
	switch r.State {
	case plugins.Done:
		t.exec("UPDATE claims SET settled = ?"+mine, r.Number, r.Scope, r.Tool, r.Key, r.Run,
			r.Position)
	case plugins.Released:
		t.exec("DELETE FROM claims"+mine, r.Scope, r.Tool, r.Key, r.Run, r.Position)
	}
}

// record gives one record of a chain, checked.
func (t *tx) record(runName string, number int) (r *Record, err error) {
	t.find(func(row scanner) error {
		r, err = scanRecord(row)
		if _, tampered := errors.AsType[*TamperError](err); tampered {
			return nil
		}
		return err
	}, "SELECT "+columns+", hash FROM records WHERE run = ? AND number = ?", runName, number)
	if t.err != nil {
		return nil, t.err
	}
	if r == nil {
		return nil, &TamperError{Run: runName, Record: number, Detail: "it is missing"}
	}
	return r, err
}

// history is what the records of a place say of its call.
type history struct {
	past
	intent *Record // the last one
	answer *Record // the first that says what became of it
}

const selectPlace = "SELECT " + columns +
	", hash FROM records WHERE run = ? AND position = ? ORDER BY number"

// history reads the records of a place, checked; nil: there are none.
func (t *tx) history(p plugins.Place) (*history, error) {
	s := t.stmt(selectPlace)
	if s == nil {
		return nil, t.err
	}
	rows, err := s.QueryContext(context.Background(), p.Run, p.Position)
	if err != nil {
		t.err = err
		return nil, err
	}
	defer rows.Close()
	var h *history
	for rows.Next() {
		r, err := scanRecord(rows)
		if err != nil {
			if _, tampered := errors.AsType[*TamperError](err); !tampered {
				t.err = err
			}
			return nil, err
		}
		if h == nil {
			h = &history{}
		}
		h.add(r)
	}
	t.err = rows.Err()
	return h, t.err
}

// add takes the next record into account.
func (h *history) add(r *Record) {
	switch r.Kind {
	case KindIntent, KindCopy:
		h.slot, h.hash, h.effect = r.slot(), r.InputHash, r.Effect
		if r.Input != nil {
			h.input = r.Input
		}
		if r.Kind == KindIntent {
			h.intent, h.ended = r, false
		}
	}
	if r.Kind != KindIntent && r.Kind != KindRelease {
		h.ended = true
	}
	if r.known() && h.answer == nil {
		h.answer, h.known = r, true
	}
}
