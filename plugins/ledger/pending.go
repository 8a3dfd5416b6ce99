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

// survey is a look at all runs at one moment. What is the same for many is asked once.
type survey struct {
	l     *SQLite
	conn  *prepared
	held  map[plugins.Place]bool // the calls whose keys are not settled
	lives map[string]bool        // owners that were asked for; a dead one never lives again
}

func (l *SQLite) newSurvey(ctx context.Context, conn *sql.Conn) (*survey, error) {
	held, err := readClaims(ctx, conn, "WHERE settled = 0")
	if err != nil {
		return nil, err
	}
	s := &survey{l: l, conn: prepare(conn), held: map[plugins.Place]bool{}, lives: map[string]bool{}}
	for _, c := range held {
		s.held[c.place] = true
	}
	return s, nil
}

// run reads how a run stands.
func (s *survey) run(ctx context.Context, row *run) (*Run, error) {
	r := &Run{Name: row.name, Records: row.records, Abandoned: row.abandoned}
	var err error
	if r.Live, err = s.owns(row.owner); err != nil {
		return nil, err
	}
	calls, err := s.readCalls(ctx, r)
	if err != nil {
		return nil, err
	}
	r.Calls = len(calls)
	for _, position := range slices.Sorted(maps.Keys(calls)) {
		p, err := s.pending(calls[position], r.Abandoned)
		if err != nil {
			return nil, err
		}
		if p != nil {
			r.Pending = append(r.Pending, *p)
		}
	}
	return r, nil
}

// owns reports whether the process of that name has the ledger open.
func (s *survey) owns(name string) (lives bool, err error) {
	if s.l.owner != nil && s.l.owner.name == name {
		return true, nil
	}
	lives, asked := s.lives[name]
	if !asked {
		lives, err = aliveIn(s.l.owners(), name)
		s.lives[name] = lives
	}
	return lives, err
}

// isAlive reports whether the call of an intent, which has not ended, may still be running.
func (s *survey) isAlive(intent *Record) (bool, error) {
	if s.l.owner != nil && intent.Who == s.l.owner.name {
		return s.l.isRunning(intent.place()), nil
	}
	return s.owns(intent.Who)
}

// short are the columns with nothing in place of what may be long and is not needed here.
var short = strings.Replace(columns, "input, value, content,", "NULL, NULL, NULL,", 1)

// readCalls reads the histories of a run's calls, by position, and when the run began.
func (s *survey) readCalls(ctx context.Context, r *Run) (map[int]*history, error) {
	rows, err := s.conn.QueryContext(ctx,
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
func (s *survey) pending(h *history, abandoned bool) (*Pending, error) {
	if h.intent == nil {
		return nil, nil
	}
	holds := s.held[h.intent.place()]
	if h.known && !holds || abandoned && !holds {
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
		if alive, err := s.isAlive(h.intent); err != nil || alive {
			return nil, err
		}
	}
	return p, nil
}

var (
	_ plugins.Ledger   = (*SQLite)(nil)
	_ plugins.Recaller = (*SQLite)(nil)
)
