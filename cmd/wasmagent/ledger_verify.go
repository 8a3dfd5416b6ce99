package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/wasmagent/wasmagent/plugins/ledger"
)

// verifyJSON tells whether a ledger is as it was written.
type verifyJSON struct {
	Ledger   string       `json:"ledger"`
	Intact   bool         `json:"intact"`
	Runs     int          `json:"runs"`
	Records  int          `json:"records"`
	Tampered []tamperJSON `json:"tampered"`
}

// tamperJSON is a place where it is not.
type tamperJSON struct {
	Run    string `json:"run"`              // "": it is about the whole file
	Place  string `json:"place,omitempty"`  // of the call, or of the nearest one
	Record int    `json:"record,omitempty"` // its number in the run
	Detail string `json:"detail"`
}

func (a *app) ledgerVerifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify [RUN]...",
		Short: "Tell whether somebody changed what is recorded",
		Long: `Check the runs that are named, or all: each record has a hash over all of itself and over
the record before it, so that one which was changed, removed or put in is found, and so
is a table of keys or runs that says something else than the records. Each place is
named, and the exit code is 1. Whoever may write the file can also make all hashes
anew: against them only a copy elsewhere helps.`,
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.ledgerVerify(cmd.Context(), args)
		},
	}
}

func (a *app) ledgerVerify(ctx context.Context, names []string) error {
	v := verifyJSON{Ledger: a.ledgerPath(), Tampered: []tamperJSON{}}
	l, err := a.ledgerToRead(ctx)
	if err != nil {
		return err
	}
	if l == nil {
		if len(names) > 0 {
			return &notFoundError{text: fmt.Sprintf("no run %q: there is no ledger yet", names[0])}
		}
		v.Intact = true
		return a.printVerified(&v, nil)
	}
	found := l.Verify(ctx, names...)
	tampers := tampersOf(found)
	if found != nil && len(tampers) == 0 {
		return a.noSuchRunOf(ctx, l, names, found)
	}
	for _, t := range tampers {
		v.Tampered = append(v.Tampered,
			tamperJSON{t.Run, placeText(t.Run, t.Position), t.Record, t.Detail})
	}
	v.Intact = found == nil
	all, err := a.runs(ctx, l)
	if err != nil && v.Intact {
		return err
	}
	for _, r := range all {
		if len(names) == 0 || slices.Contains(names, r.Name) {
			v.Runs++
			v.Records += r.Records
		}
	}
	return a.printVerified(&v, found)
}

// noSuchRunOf says which of the runs is not there, if that is what err says.
func (a *app) noSuchRunOf(ctx context.Context, l *ledger.SQLite, names []string, err error) error {
	all, listErr := a.runs(ctx, l)
	if listErr != nil {
		return err
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(r ledger.Run) bool { return r.Name == name }) {
			return a.noSuchRun(ctx, l, name, err)
		}
	}
	return err
}

// tampersOf takes joined errors apart.
func tampersOf(err error) []*ledger.TamperError {
	switch e := err.(type) {
	case nil:
		return nil
	case *ledger.TamperError:
		return []*ledger.TamperError{e}
	case interface{ Unwrap() []error }:
		var all []*ledger.TamperError
		for _, each := range e.Unwrap() {
			all = append(all, tampersOf(each)...)
		}
		return all
	}
	return tampersOf(errors.Unwrap(err))
}

// printVerified tells what was found. The file's name comes last, with the verdict.
func (a *app) printVerified(v *verifyJSON, found error) error {
	if a.form != "text" {
		if err := writeJSON(a.out, a.form, v); err != nil {
			return err
		}
	} else {
		v.print(a.out, a.paint(a.out))
	}
	if !v.Intact {
		return a.tampered(found)
	}
	return nil
}

func (v *verifyJSON) print(w io.Writer, c palette) {
	for _, t := range v.Tampered {
		at := t.Place
		if at == "" {
			at = cmp.Or(t.Run, "the file")
		}
		if t.Record > 0 {
			at += fmt.Sprintf(", record %d", t.Record)
		}
		fmt.Fprintf(w, "%s %s\n", c.red("tampered:"), oneLine(at+": "+t.Detail))
	}
	verdict := c.green("intact")
	if !v.Intact {
		verdict = c.red("not intact")
	}
	fmt.Fprintf(w, "%s: %s, %s, %s\n", visible(v.Ledger), verdict, count(v.Runs, "run"),
		count(v.Records, "record"))
}
