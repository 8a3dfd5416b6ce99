package ledger_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
)

// intent is a write of a run with a key of its own.
func intent(run string, position int) plugins.Intent {
	input := fmt.Appendf(nil, `{"id":"%s%d"}`, run, position)
	return plugins.Intent{Run: run, Position: position, Scope: "s", Tool: "pay",
		Key: fmt.Sprintf("pay:%s%d", run, position), Effect: abi.EffectWrite,
		Input: input, InputHash: sha256.Sum256(input)}
}

func begin(t testing.TB, l plugins.Ledger, in plugins.Intent) plugins.Begun {
	t.Helper()
	b, err := l.Begin(t.Context(), in)
	if err != nil {
		t.Error(err)
	}
	return b
}

func end(t testing.TB, l plugins.Ledger, b plugins.Begun, c plugins.Completion) {
	t.Helper()
	if b.Done {
		t.Fatalf("done already: %+v", b)
	}
	if err := l.End(t.Context(), b.ID, c); err != nil {
		t.Fatal(err)
	}
}

// How calls end in these tests.
var (
	paid    = plugins.Completion{State: plugins.Done, Output: gives(`"paid"`), Attempts: 1}
	down    = plugins.Completion{State: plugins.Unknown, Err: toolDown, Attempts: 1}
	left    = plugins.Completion{State: plugins.Unknown, Err: context.Canceled, Attempts: 1}
	gaveUp  = plugins.Completion{State: plugins.Released, Err: toolDown, Attempts: 3}
	errDown = errors.New("down")

	toolDown = &plugins.ToolError{Tool: "pay", Kind: plugins.ErrHandler, Err: errDown}
)

// history is a closed ledger: the runs a, b and c of three writes each, the last of which failed,
// and d, which has a copy from b.
func history(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "l.db")
	l := open(t, path)
	for _, run := range []string{"a", "b", "c"} {
		end(t, l, begin(t, l, intent(run, 1)), paid)
		end(t, l, begin(t, l, intent(run, 2)), paid)
		end(t, l, begin(t, l, intent(run, 3)), down)
	}
	copied := intent("b", 1)
	copied.Run = "d"
	if b := begin(t, l, copied); !b.Done {
		t.Fatalf("want a copy, have %+v", b)
	}
	if err := errors.Join(l.Verify(t.Context()), l.Close()); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// edit changes a ledger behind its back.
func edit(t *testing.T, path, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statements); err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
}

const noTriggers = "DROP TRIGGER records_stay; DROP TRIGGER records_stay_same; "

// TestTamper changes the run b in one way each.
func TestTamper(t *testing.T) {
	base := history(t)
	tests := []struct {
		name, sql string
		position  int // that the error names
		record    int
	}{
		{"a row deleted in the middle", "DELETE FROM records WHERE run='b' AND number=3", 2, 3},
		{"two rows deleted", "DELETE FROM records WHERE run='b' AND number IN (3, 4)", 3, 3},
		{"the first row deleted", "DELETE FROM records WHERE run='b' AND number=1", 1, 1},
		{"the last row deleted", "DELETE FROM records WHERE run='b' AND number=6", 3, 6},
		{"the tail deleted", "DELETE FROM records WHERE run='b' AND number>3", 2, 4},
		{"all rows deleted", "DELETE FROM records WHERE run='b'", 0, 1},
		{"the run deleted", "DELETE FROM records WHERE run='b'; DELETE FROM runs WHERE run='b'", 0, 0},
		{"a row added", `INSERT INTO records SELECT NULL, run, 7, position, kind, at, who, scope, tool,
			key, call_id, effect, input_hash, state, attempts, from_run, from_position, from_row, reason,
			prev, hash, input, value, content, failure FROM records WHERE run='b' AND number=6`, 3, 7},
		{"a row from another run", `UPDATE records SET (value, prev, hash) = (SELECT value, prev, hash
			FROM records WHERE run='a' AND number=2) WHERE run='b' AND number=2`, 1, 2},
		{"two rows swapped", `UPDATE records SET number=-number WHERE run='b' AND number IN (2,4);
			UPDATE records SET number=CASE number WHEN -2 THEN 4 ELSE 2 END WHERE run='b' AND number<0`,
			2, 2},
		{"the run's head", "UPDATE runs SET head=x'00' WHERE run='b'", 3, 6},
		{"the run's length", "UPDATE runs SET records=5 WHERE run='b'", 3, 6},
		{"the run's owner", "UPDATE runs SET owner='x' WHERE run='b'", 3, 6},
		{"the run given up", "UPDATE runs SET abandoned=1 WHERE run='b'", 3, 6},
		{"the run forgotten", "DELETE FROM runs WHERE run='b'", 0, 0},
		{"the claim of another record", "UPDATE claims SET settled=4 WHERE run='b' AND position=1", 1, 4},
		{"a claim unsettled", "UPDATE claims SET settled=0 WHERE run='b' AND position=1", 1, 0},
		{"a claim settled", "UPDATE claims SET settled=6 WHERE run='b' AND position=3", 3, 6},
		{"a claim deleted", "DELETE FROM claims WHERE run='b' AND position=2", 2, 0},
		{"a claim of another input", "UPDATE claims SET input_hash=x'00' WHERE run='b' AND position=1",
			1, 2},
		{"a claim added", "INSERT INTO claims VALUES ('s','pay','pay:free','b',1,x'00',2)", 1, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "l.db")
			if err := os.WriteFile(path, base, 0o600); err != nil {
				t.Fatal(err)
			}
			edit(t, path, noTriggers+test.sql)
			wantTampered(t, path, test.position, test.record)
		})
	}
}

// TestCopyOfNothing takes a run out with all that refers to it, except a copy in another run.
func TestCopyOfNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	if err := os.WriteFile(path, history(t), 0o600); err != nil {
		t.Fatal(err)
	}
	edit(t, path, noTriggers+"DELETE FROM records WHERE run='b'; DELETE FROM runs WHERE run='b';"+
		"DELETE FROM claims WHERE run='b'")
	err := open(t, path).Verify(t.Context())
	tampered := tamperedOf(err, "d")
	if tampered == nil || tampered.Position != 1 || tampered.Record != 1 {
		t.Errorf("want the copy's place, have %v", err)
	}
}

// TestTamperWithTheFile changes what belongs to no run.
func TestTamperWithTheFile(t *testing.T) {
	base := history(t)
	for _, test := range []struct{ sql, want string }{
		{"DROP TRIGGER records_stay", `the file: its trigger "records_stay" is gone`},
		{`DROP TRIGGER records_stay; CREATE TRIGGER records_stay BEFORE DELETE ON records
			BEGIN SELECT 1; END`, `the file: its trigger "records_stay" was changed`},
		{"CREATE TRIGGER evil AFTER INSERT ON claims BEGIN DELETE FROM claims; END",
			`the file: the trigger "evil" was added`},
		{"DROP INDEX claims_run", `the file: its index "claims_run" is gone`},
		{noTriggers + `DELETE FROM records WHERE run='a'; DELETE FROM runs WHERE run='a';
			DELETE FROM claims WHERE run='a'`, "the file: 6 of its records are gone"},
	} {
		path := filepath.Join(t.TempDir(), "l.db")
		if err := os.WriteFile(path, base, 0o600); err != nil {
			t.Fatal(err)
		}
		edit(t, path, test.sql)
		l := open(t, path)
		if err := l.Verify(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("want %q, have %v", test.want, err)
		}
		if err := l.Verify(t.Context(), "c"); err != nil {
			t.Errorf("another run: %v", err)
		}
	}
}

// TestForgedHash changes a result together with its record's hash: what follows tells.
func TestForgedHash(t *testing.T) {
	base := history(t)
	for _, test := range []struct{ number, position, record int }{{2, 2, 3}, {6, 3, 6}} {
		path := filepath.Join(t.TempDir(), "l.db")
		if err := os.WriteFile(path, base, 0o600); err != nil {
			t.Fatal(err)
		}
		edit(t, path, noTriggers)
		db, err := sql.Open("sqlite", path)
		if err == nil {
			err = errors.Join(ledger.Forge(t.Context(), db, "b", test.number, `"forged"`), db.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		wantTampered(t, path, test.position, test.record)
	}
}

// TestTamperWithAnyColumn changes each column of a record.
func TestTamperWithAnyColumn(t *testing.T) {
	base := history(t)
	to := map[string]string{"position": "9", "kind": "'copy'", "at": "1", "attempts": "7",
		"from_position": "1", "from_row": "1", "effect": "'read'", "state": "'released'",
		"input_hash": "x'00'", "prev": "zeroblob(32)", "hash": "zeroblob(32)",
		"input": "x'7b7d'", "value": "x'31'", "content": "x'90'", "failure": "x'7b7d'"}
	for _, column := range strings.Fields(`position kind at who scope tool key call_id effect
		input_hash state attempts from_run from_position from_row reason prev hash
		input value content failure`) {
		t.Run(column, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "l.db")
			if err := os.WriteFile(path, base, 0o600); err != nil {
				t.Fatal(err)
			}
			value, ok := to[column]
			if !ok {
				value = "'x'"
			}
			edit(t, path, noTriggers+"UPDATE records SET "+column+"="+value+" WHERE run='b' AND number=4")
			position := 2
			if column == "position" {
				position = 9
			}
			wantTampered(t, path, position, 4)
		})
	}
}

// wantTampered checks that the run b, and no other, is known to be tampered with.
func wantTampered(t *testing.T, path string, position, record int) {
	t.Helper()
	l := open(t, path)
	for _, runs := range [][]string{{"b"}, nil} {
		err := l.Verify(t.Context(), runs...)
		tampered := tamperedOf(err, "b")
		if tampered == nil || tampered.Position != position || tampered.Record != record {
			t.Errorf("runs %q: want b, position %d, record %d; have %v", runs, position, record, err)
		}
	}
	if err := l.Verify(t.Context(), "a", "c"); err != nil {
		t.Errorf("the other runs: %v", err)
	}
	n := 0
	for _, err := range l.Records(t.Context(), "a") {
		if err != nil {
			t.Error(err)
		}
		n++
	}
	if n != 6 {
		t.Errorf("the other run has %d records", n)
	}
	if b := begin(t, l, intent("c", 1)); string(b.Output.Value) != `"paid"` {
		t.Errorf("the other run gave %+v", b)
	}
}

// tamperedOf finds what a joined error says of a run: a copy elsewhere may be reported first.
func tamperedOf(err error, run string) *ledger.TamperError {
	switch e := err.(type) {
	case *ledger.TamperError:
		if e.Run == run {
			return e
		}
	case interface{ Unwrap() error }:
		return tamperedOf(e.Unwrap(), run)
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if found := tamperedOf(one, run); found != nil {
				return found
			}
		}
	}
	return nil
}

// TestTamperedResultIsNotGiven changes what a call would get: from its own place, by its key, and
// by a copy that its run has.
func TestTamperedResultIsNotGiven(t *testing.T) {
	base := history(t)
	byKey, byCopy := intent("b", 1), intent("b", 1)
	byKey.Run, byCopy.Run = "new", "d"
	for _, test := range []struct {
		name, sql string
		in        plugins.Intent
	}{
		{"own result", "UPDATE records SET value=x'31' WHERE run='b' AND number=2", intent("b", 1)},
		{"copied result", "UPDATE records SET value=x'31' WHERE run='b' AND number=2", byKey},
		{"result copied before", "UPDATE records SET value=x'31' WHERE run='b' AND number=2", byCopy},
		{"deleted result", "DELETE FROM records WHERE run='b' AND number=2", byKey},
		{"claim led elsewhere", "UPDATE claims SET settled=4, position=2 WHERE run='b' AND position=1",
			byKey},
		{"claim led to another run", "UPDATE claims SET run='a' WHERE run='b' AND position=1", byKey},
		{"claim without an intent",
			"UPDATE claims SET settled=0, position=8 WHERE run='b' AND position=1", byKey},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "l.db")
			if err := os.WriteFile(path, base, 0o600); err != nil {
				t.Fatal(err)
			}
			edit(t, path, noTriggers+test.sql)
			b, err := open(t, path).Begin(t.Context(), test.in)
			if _, ok := errors.AsType[*ledger.TamperError](err); !ok {
				t.Errorf("want a *TamperError, have %+v, %v", b, err)
			}
		})
	}
}

// TestClaimLedToAnotherKey has two calls with the same input and different keys, and leads the key
// of one to the result of the other.
func TestClaimLedToAnotherKey(t *testing.T) {
	one, other := intent("a", 1), intent("a", 1)
	other.Run, other.Key = "b", "pay:other"
	changed := one
	changed.Run, changed.InputHash = "c", [32]byte{1}
	same := one
	same.Run = "c"
	for _, test := range []struct {
		sql  string
		call plugins.Intent
	}{
		{"UPDATE claims SET run='b' WHERE key='pay:a1'", same},
		{"UPDATE claims SET settled=1 WHERE key='pay:a1'", same},
		{"UPDATE claims SET position=2 WHERE key='pay:a1'", same},
		{"UPDATE claims SET input_hash=x'01" + strings.Repeat("00", 31) + "' WHERE key='pay:a1'",
			changed},
	} {
		path := filepath.Join(t.TempDir(), "l.db")
		l := open(t, path)
		end(t, l, begin(t, l, one), paid)
		end(t, l, begin(t, l, other), paid)
		edit(t, path, test.sql)
		b, err := l.Begin(t.Context(), test.call)
		if _, ok := errors.AsType[*ledger.TamperError](err); !ok {
			t.Errorf("%s: want a *TamperError, have %+v, %v", test.sql, b, err)
		}
	}
}

func TestRecordsStay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	if err := os.WriteFile(path, history(t), 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{"DELETE FROM records", "UPDATE records SET value = NULL"} {
		if _, err := db.ExecContext(t.Context(), statement); err == nil {
			t.Errorf("%s was carried out", statement)
		}
	}
}

// TestRecordsTell checks that a run's records say what happened, and that a changed one is still
// shown.
func TestRecordsTell(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	if err := os.WriteFile(path, history(t), 0o600); err != nil {
		t.Fatal(err)
	}
	edit(t, path, noTriggers+"UPDATE records SET value=x'31' WHERE run='b' AND number=2")
	var have []string
	for r, err := range open(t, path).Records(t.Context(), "b") {
		line := fmt.Sprintf("%d %s %d %s", r.Number, r.Kind, r.Position, r.Output.Value)
		if _, tampered := errors.AsType[*ledger.TamperError](err); tampered {
			line += " changed"
		} else if err != nil {
			t.Error(err)
		}
		if r.Failure != nil {
			line += r.Failure.Text
		}
		have = append(have, line)
	}
	want := []string{`1 intent 1 `, `2 completion 1 1 changed`, `3 intent 2 `, `4 completion 2 "paid"`,
		`5 intent 3 `, `6 completion 3 down`}
	if a, b := strings.Join(have, "\n"), strings.Join(want, "\n"); a != b {
		t.Errorf("have\n%s\nwant\n%s", a, b)
	}
}
