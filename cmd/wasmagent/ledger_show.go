package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
)

func (a *app) ledgerShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show RUN[#POSITION]",
		Short: "Show the records of a run, or of a call in it",
		Long: `Show what is recorded of a run, in the order in which it was written: an "intent" when
a call was about to run, a "completion" when it had ended, a "copy" when it got the
result of another, a "resolution", "release" or "abandon" when an operator decided
something. In text form inputs and results are shortened; -o json has them whole. A
record that was changed is marked, and the exit code is 1.`,
		Args:              takes(1, 1, "one run or call"),
		ValidArgsFunction: a.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.ledgerShow(cmd.Context(), args[0])
		},
	}
}

func (a *app) ledgerShow(ctx context.Context, arg string) error {
	run, call := arg, ""
	if at, err := a.placeOf(arg); err == nil {
		run, call = at.Run, at.String()
	}
	l, err := a.ledgerThatIs(ctx, &ledger.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	print, done := a.recordPrinter()
	shown := false
	changed, err := eachRecord(ctx, l, run, func(r *recordJSON) error {
		if call != "" && r.Place != call {
			return nil
		}
		shown = true
		return print(r)
	})
	if err != nil {
		return a.isKey(ctx, l, run, a.noSuchRun(ctx, l, run, err))
	} else if !shown && call != "" {
		return &notFoundError{text: fmt.Sprintf("no call %s in %s", call, a.ledgerPath()),
			hint: a.quoted("show", run) + " shows the calls of the run"}
	}
	if err := done(); err != nil {
		return err
	}
	if changed != nil {
		return a.tampered(changed)
	}
	return nil
}

// isKey tells which call holds a key that was taken for a run. Other errors stay.
func (a *app) isKey(ctx context.Context, l *ledger.SQLite, name string, err error) error {
	missing, ok := errors.AsType[*notFoundError](err)
	if !ok || name == "" {
		return err
	}
	claims, listErr := heldKeys(ctx, l, keyOf(name))
	if listErr != nil || len(claims) == 0 {
		return err
	}
	missing.hint = fmt.Sprintf("it is a key: %s shows the call that holds it",
		a.quoted("show", claims[0].Holder.String()))
	return missing
}

// eachRecord goes through a run's records. changed joins what is wrong with some of them.
func eachRecord(ctx context.Context, l *ledger.SQLite, run string, do func(*recordJSON) error) (
	changed, err error) {
	for r, err := range l.Records(ctx, run) {
		tamper, is := errors.AsType[*ledger.TamperError](err)
		if err != nil && !is {
			return nil, err
		}
		j := newRecordJSON(&r)
		if is {
			j.Tampered = tamper.Detail
			changed = errors.Join(changed, tamper)
		}
		if err := do(&j); err != nil {
			return nil, err
		}
	}
	return changed, nil
}

// recordPrinter gives what prints one record and what ends the list. Records may be large, so only
// the form that is one document keeps them.
func (a *app) recordPrinter() (print func(*recordJSON) error, done func() error) {
	list := []recordJSON{}
	rows := [][]string{{"CALL", "AT", "RECORD", "WHAT"}}
	switch a.form {
	case "json":
		return func(r *recordJSON) error { list = append(list, *r); return nil },
			func() error { return writeList(a, "records", list) }
	case "jsonl":
		return func(r *recordJSON) error { return writeJSON(a.out, a.form, r) },
			func() error { return nil }
	}
	return func(r *recordJSON) error { rows = append(rows, r.row()); return nil },
		func() error { return writeRows(a.out, rows) }
}

// tampered ends a command that has shown what is wrong with a ledger. In JSON that is in the
// document already.
func (a *app) tampered(err error) error {
	if a.form == "text" {
		p := a.problemOf(err)
		fmt.Fprintf(a.err, "%s %s\n", a.paint(a.err).dim("hint:"), oneLine(p.Hint))
	}
	return &reported{err}
}

// row is the record's line of a table.
func (r *recordJSON) row() []string {
	call := ""
	if _, position, ok := strings.Cut(r.Place, "#"); ok {
		call = "#" + position
	}
	return []string{call, stamp(r.At), r.Kind, r.what()}
}

// what tells the record in a few words.
func (r *recordJSON) what() string {
	words := r.words()
	if r.Reason != "" {
		words = append(words, "since "+r.Reason)
	}
	if r.Tampered != "" {
		words = append(words, "TAMPERED: "+r.Tampered)
	}
	return strings.Join(words, ", ")
}

func (r *recordJSON) words() []string {
	switch r.Kind {
	case ledger.KindIntent:
		return []string{callText(r.Tool, r.Effect, r.Key), "input " + shortened(string(r.Input))}
	case ledger.KindCompletion, ledger.KindResolution:
		return append([]string{r.outcomeText()}, r.result()...)
	case ledger.KindCopy:
		return []string{callText(r.Tool, "", r.Key), "copied from " + r.From}
	case ledger.KindRelease:
		return []string{fmt.Sprintf("the key %s is free", keyText(r.Key))}
	case ledger.KindAbandon:
		return []string{"nothing begins in this run any more"}
	}
	return nil
}

// outcomeText says what a record says of a call and its key.
func (r *recordJSON) outcomeText() string {
	text := r.Outcome
	switch {
	case r.Kind == ledger.KindResolution && r.Outcome == outcomes[plugins.Done]:
		text = "it happened"
	case r.Kind == ledger.KindResolution:
		text = "it did not happen"
	}
	if r.Attempts > 1 {
		text += fmt.Sprintf(" after %d attempts", r.Attempts)
	}
	return text
}

// result is a call's result or failure.
func (r *recordJSON) result() []string {
	switch {
	case r.Error != nil && r.Kind == ledger.KindResolution:
		return nil // made of the reason
	case r.Error != nil:
		return []string{strings.TrimSpace(r.Error.Kind + " " + shortened(r.Error.Message))}
	case r.Content != nil:
		return []string{"result " + count(len(r.Content), "content block")}
	case r.Value != nil:
		return []string{"result " + shortened(string(r.Value))}
	}
	return nil
}

// callText names a call: its tool, and the effect and key that it has.
func callText(tool, effect, key string) string {
	var more []string
	if effect != "" {
		more = append(more, effect)
	}
	if key != "" {
		more = append(more, "key "+keyText(key))
	}
	if len(more) == 0 {
		return tool
	}
	return fmt.Sprintf("%s (%s)", tool, strings.Join(more, ", "))
}

// maxShown is how many characters of an input or a result are shown on a line.
const maxShown = 72

// shortened is a text, on one line, that says when it is longer.
func shortened(s string) string { return cut(lineBreaks.Replace(s), maxShown) }
