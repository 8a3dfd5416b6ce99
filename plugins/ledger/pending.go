package ledger

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
)

// Why a call is pending.
const (
	WhyCrashed = "crashed" // its process died
	WhyStopped = "stopped" // its caller left, or the host had a fault
	WhyFailed  = "failed"  // the tool's failure is known, but not whether its effect happened
)

// readRun reads how a run stands.
func (l *SQLite) readRun(ctx context.Context, conn *sql.Conn, name string) (*Run, error) {
	r := &Run{Name: name}
	var owner string
	var head []byte
	err := conn.QueryRowContext(ctx, selectRun, name).Scan(&owner, &r.Records, &head, &r.Abandoned)
	if err != nil {
		return nil, err
	}
	if r.Live, err = l.isOwner(owner); err != nil {
		return nil, err
	}
	calls, err := l.readCalls(ctx, conn, r)
	if err != nil {
		return nil, err
	}
	r.Calls = len(calls)
	held, err := readClaims(ctx, conn, "WHERE run = ? AND settled = 0", name)
	if err != nil {
		return nil, err
	}
	holds := map[int]bool{}
	for _, c := range held {
		holds[c.place.Position] = true
	}
	for _, position := range slices.Sorted(maps.Keys(calls)) {
		p, err := l.pending(calls[position], holds[position], r.Abandoned)
		if err != nil {
			return nil, err
		}
		if p != nil {
			r.Pending = append(r.Pending, *p)
		}
	}
	return r, nil
}

// isOwner reports whether the process of that name has the ledger open.
func (l *SQLite) isOwner(name string) (bool, error) {
	if l.owner != nil && l.owner.name == name {
		return true, nil
	}
	return aliveIn(l.owners(), name)
}

// short are the columns with nothing in place of what may be long and is not needed here.
var short = strings.Replace(columns, "input, value, content,", "NULL, NULL, NULL,", 1)

// readCalls reads the histories of a run's calls, by position, and when the run began.
func (l *SQLite) readCalls(ctx context.Context, conn *sql.Conn, r *Run) (map[int]*history, error) {
	rows, err := conn.QueryContext(ctx,
		"SELECT "+short+", hash FROM records WHERE run = ? ORDER BY number", r.Name)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	calls := map[int]*history{}
	for rows.Next() {
		record, _, err := scanRow(rows)
		if err != nil {
			return nil, err
		}
		if r.Started.IsZero() {
			r.Started = record.At
		}
		if record.Position == 0 {
			continue
		}
		_ = record.decode() // Verify tells of what cannot be read
		if calls[record.Position] == nil {
			calls[record.Position] = &history{}
		}
		calls[record.Position].add(record)
	}
	return calls, rows.Err()
}

// pending tells what a call waits for, or gives nil.
func (l *SQLite) pending(h *history, holds, abandoned bool) (*Pending, error) {
	if h.intent == nil || h.known && !holds || abandoned && !holds {
		return nil, nil
	}
	p := &Pending{Place: h.intent.place(), Scope: h.slot.scope, Tool: h.slot.tool, Key: h.slot.key,
		Effect: h.effect, Began: h.intent.At, Person: h.effect == abi.EffectWrite,
		intent: h.intent.Number}
	switch {
	case h.known:
		p.Why = WhyFailed
	case h.ended:
		p.Why = WhyStopped
	default:
		p.Why = WhyCrashed
		if alive, err := l.isAlive(h.intent); err != nil || alive {
			return nil, err
		}
	}
	return p, nil
}

var _ plugins.Ledger = (*SQLite)(nil)
