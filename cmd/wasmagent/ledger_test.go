package main

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
)

// tamperMain does to a ledger what nobody should: tamper FILE STATEMENT runs a statement with the
// guards taken away.
func tamperMain() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: tamper FILE STATEMENT")
		os.Exit(2)
	}
	if err := tamper(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func tamper(file, statement string) error {
	full, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.ToSlash(full)}).String())
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, s := range []string{
		"DROP TRIGGER IF EXISTS records_stay", "DROP TRIGGER IF EXISTS records_stay_same", statement,
	} {
		if _, err := db.Exec(s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// Each way in which a ledger stops a call or a command has its exit code, tells what it is about,
// and gives the very command that goes on.
func TestLedgerProblems(t *testing.T) {
	place, input := plugins.Place{Run: "r", Position: 2}, json.RawMessage("{}")
	for _, c := range []struct {
		err  error
		want problem
	}{
		{&plugins.CollisionError{Tool: "pay", Key: "pay:1", Holder: place}, problem{
			Kind: "collision", Exit: 15, Tool: "pay", Key: "pay:1", Holder: "r#2",
			Hint: `"wasmagent ledger show r --ledger 'my db'" shows that call; ` +
				`another key makes another call`,
		}},
		{&plugins.InFlightError{Tool: "pay", Key: "pay:1", Holder: place}, problem{
			Kind: "in_flight", Exit: 16, Tool: "pay", Key: "pay:1", Holder: "r#2",
			Hint: `try again when it is done; "wasmagent ledger show r --ledger 'my db'" shows it`,
		}},
		{&plugins.InFlightError{Tool: "pay", Key: "pay:1", Holder: place, Unresolved: true}, problem{
			Kind: "needs_reconciliation", Exit: 17, Tool: "pay", Key: "pay:1", Holder: "r#2",
			Hint: "find out whether it happened, then: wasmagent ledger resolve r#2 --happened " +
				"--ledger 'my db', or with --did-not-happen REASON",
		}},
		{&plugins.ReconciliationError{Tool: "pay", Key: "pay:1", Place: place, Input: input}, problem{
			Kind: "needs_reconciliation", Exit: 17, Tool: "pay", Key: "pay:1", Place: "r#2", Input: input,
			Hint: "find out whether it happened, then: wasmagent ledger resolve r#2 --happened " +
				"--ledger 'my db', or with --did-not-happen REASON",
		}},
		{&plugins.RunBusyError{Run: "r"}, problem{Kind: "in_flight", Exit: 16,
			Hint: `wait until its process has ended; "wasmagent ledger show r --ledger 'my db'" shows it`,
		}},
		{ledger.ErrSettled, problem{Kind: "settled", Exit: 18}},
		{ledger.ErrAbandoned, problem{Kind: "settled", Exit: 18}},
		{&ledger.TamperError{Run: "r", Position: 2, Record: 3, Detail: "it is missing"}, problem{
			Kind: "host", Exit: 1, Place: "r#2",
			Hint: `"wasmagent ledger verify --ledger 'my db'" names every place; ` +
				`only a copy from before tells what was there`,
		}},
		{plugins.HostFault(ledger.ErrFull), problem{Kind: "host", Exit: 1,
			Hint: "make room on the disk; what is recorded is not lost"}},
		{&unrecorded{errors.New("lost"), plugins.Output{Value: input}}, problem{Kind: "host", Exit: 1,
			Value: input}},
		{ledger.ErrBusy, problem{Kind: "host", Exit: 1,
			Hint: "another process is writing to it all the time; try again when it has ended"}},
	} {
		a := &app{ctx: t.Context(), started: true, ledgerFile: "my db"}
		c.want.Message = c.err.Error()
		if got := a.problemOf(c.err); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%T:\n%+v, want\n%+v", c.err, got, c.want)
		}
	}
}

// What an operator writes is bounded, and too much of it is a mistake that changes nothing.
func TestReasonsAreBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "my.db")
	l, err := ledger.Open(t.Context(), file, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Begin(t.Context(), plugins.Intent{Run: "r", Position: 1, Tool: "pay", Key: "pay:1"})
	if err == nil {
		err = l.Close() // the call never ends, as after a crash
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		size int
		args []string
		want int
	}{
		{ledger.MaxReason + 1, []string{"resolve", "r#1", "--did-not-happen"}, exitUsage},
		{ledger.MaxReason + 1, []string{"release", "pay:1", "--reason"}, exitUsage},
		{ledger.MaxReason + 1, []string{"abandon", "r", "--reason"}, exitUsage},
		{ledger.MaxReason, []string{"resolve", "r#1", "--did-not-happen"}, exitOK},
		{ledger.MaxReason, []string{"abandon", "r", "--reason"}, exitOK},
	} {
		args := slices.Concat([]string{"ledger", "--ledger", file}, c.args,
			[]string{strings.Repeat("x", c.size)})
		var out, errs strings.Builder
		if got := run(t.Context(), args, nil, &out, &errs); got != c.want {
			t.Errorf("%v with %d bytes: exit code %d, want %d: %s", c.args, c.size, got, c.want, &errs)
		}
	}
}
