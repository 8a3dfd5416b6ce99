package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/adrg/xdg"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
)

func (a *app) ledgerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ledger",
		Short: "Show and mend the record of calls that must happen once",
		Long: `Show the record of the calls that have a key, and decide what only a person can.

A call that changes something is written down before the tool runs and after. When
something comes between, a crash, an interrupt or a failure, nobody knows whether it
happened, and nothing with its key runs until somebody has found out. "recover" says
what is left and how to go on; "resolve" writes down what happened.

The ledger is a file in the state directory, unless --ledger names another. What is in
it is never changed or taken away, only added to; "verify" tells whether somebody did.
docs/ledger.md tells the story with an example.`,
		Args: a.noSuchCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	a.ledgerFlag(cmd.PersistentFlags(), "the `file` of the ledger")
	cmd.AddCommand(a.ledgerListCommand(), a.ledgerShowCommand(), a.ledgerRecoverCommand(),
		a.ledgerResolveCommand(), a.ledgerReleaseCommand(), a.ledgerAbandonCommand(),
		a.ledgerVerifyCommand())
	return cmd
}

func (a *app) ledgerFlag(f *pflag.FlagSet, usage string) {
	f.Var(&someText{&a.ledgerFile}, "ledger", usage+" (else ledger.db in the state directory)")
}

// ledgerPath is the file of the ledger.
func (a *app) ledgerPath() string {
	if a.ledgerFile != "" {
		return a.ledgerFile
	}
	return filepath.Join(xdg.StateHome, "wasmagent", "ledger.db")
}

// openLedger opens the ledger, and makes it if it is not there and is to be written to. It closes
// with the command.
func (a *app) openLedger(ctx context.Context, opts *ledger.Options) (*ledger.SQLite, error) {
	l, err := ledger.Open(ctx, a.ledgerPath(), opts)
	if err != nil {
		return nil, err
	}
	a.closeAtEnd("ledger", l.Close)
	return l, nil
}

// ledgerToRead opens a ledger to look at. Where none was ever made, and none is named, it is nil:
// there is nothing in it.
func (a *app) ledgerToRead(ctx context.Context) (*ledger.SQLite, error) {
	if a.ledgerFile == "" && !a.ledgerExists() {
		return nil, nil
	}
	return a.ledgerThatIs(ctx, &ledger.Options{ReadOnly: true})
}

// ledgerThatIs opens a ledger that must be there.
func (a *app) ledgerThatIs(ctx context.Context, opts *ledger.Options) (*ledger.SQLite, error) {
	if !a.ledgerExists() {
		return nil, &notFoundError{
			text: "no ledger " + a.ledgerPath(),
			hint: "a call with --key makes one, unless its tool only reads",
		}
	}
	return a.openLedger(ctx, opts)
}

func (a *app) ledgerExists() bool {
	_, err := os.Stat(a.ledgerPath())
	return !errors.Is(err, fs.ErrNotExist)
}

// placeOf reads RUN#POSITION.
func (a *app) placeOf(arg string) (plugins.Place, error) {
	i := strings.LastIndexByte(arg, '#')
	if i > 0 {
		if n, err := strconv.Atoi(arg[i+1:]); err == nil && n > 0 {
			return plugins.Place{Run: arg[:i], Position: n}, nil
		}
	}
	return plugins.Place{}, &usageError{
		text: fmt.Sprintf("%q is not RUN#POSITION", arg),
		hint: a.quoted("recover") + " shows the places that wait",
	}
}

// ledgerCommandLine is a command of the ledger as it is typed, for the same file.
func (a *app) ledgerCommandLine(words ...string) string {
	line := []string{"wasmagent", "ledger"}
	for _, w := range words {
		line = append(line, shellQuote(w))
	}
	if a.ledgerFile != "" {
		line = append(line, "--ledger", shellQuote(a.ledgerFile))
	}
	return strings.Join(line, " ")
}

// quoted is a command of the ledger in a sentence.
func (a *app) quoted(words ...string) string { return `"` + a.ledgerCommandLine(words...) + `"` }

// runs reads how all runs stand.
func (a *app) runs(ctx context.Context, l *ledger.SQLite) ([]ledger.Run, error) {
	var all []ledger.Run
	if l == nil {
		return nil, nil
	}
	for r, err := range l.Runs(ctx) {
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// noSuchRun turns the ledger's word that something is not there into one that says what is. Other
// errors stay.
func (a *app) noSuchRun(ctx context.Context, l *ledger.SQLite, run string, err error) error {
	if !errors.Is(err, ledger.ErrNotFound) {
		return err
	}
	all, listErr := a.runs(ctx, l)
	if listErr != nil {
		return listErr
	}
	names := make([]string, 0, len(all))
	for _, r := range all {
		if r.Name == run {
			return &notFoundError{text: err.Error(), hint: a.quoted("show", run) + " shows its calls"}
		}
		names = append(names, r.Name)
	}
	return &notFoundError{
		text: fmt.Sprintf("no run %q in %s", run, a.ledgerPath()),
		hint: nearHint(run, names, a.quoted("list")+" shows the runs"),
	}
}
