package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
)

// changeJSON is what an operator's decision did.
type changeJSON struct {
	Did     string `json:"did"` // resolved, released or abandoned
	Place   string `json:"place,omitempty"`
	Run     string `json:"run,omitempty"`
	Outcome string `json:"outcome,omitempty"`
	Tool    string `json:"tool,omitempty"`
	Scope   string `json:"scope,omitempty"`
	Key     string `json:"key,omitempty"`
}

func (a *app) printChange(c changeJSON, format string, args ...any) error {
	if a.form != "text" {
		return writeJSON(a.out, a.form, c)
	}
	_, err := fmt.Fprintln(a.out, oneLine(fmt.Sprintf(format, args...)))
	return err
}

// tooLong makes what an operator wrote too much of a mistake on the command line.
func tooLong(err error) error {
	if limit, ok := errors.AsType[*ledger.LimitError](err); ok {
		return &usageError{text: limit.Error()}
	}
	return err
}

// undecided says what an operator's command left alone: here nothing was to be called.
func undecided(err error) error {
	if e, ok := errors.AsType[*plugins.InFlightError](err); ok && !e.Unresolved {
		return &stillRunning{e}
	}
	return tooLong(err)
}

// stillRunning is a call that nobody can decide about yet.
type stillRunning struct{ *plugins.InFlightError }

func (e *stillRunning) Error() string {
	return fmt.Sprintf("the call %s is still running; nothing was changed", e.Holder)
}

func (e *stillRunning) Unwrap() error { return e.InFlightError }

// settled adds to the news that something is decided already where that can be seen.
func (a *app) settled(run string, err error) error {
	if errors.Is(err, ledger.ErrSettled) || errors.Is(err, ledger.ErrAbandoned) {
		return &hinted{err, a.showHint(run) + " shows how it came about"}
	}
	return err
}

// unknownResult is the result of a call that happened, when nobody knows its result.
const unknownResult = "null"

func (a *app) ledgerResolveCommand() *cobra.Command {
	var happened, didNot, reason string
	cmd := &cobra.Command{
		Use:   "resolve RUN#POSITION --happened[=JSON | =@FILE] | --did-not-happen REASON",
		Short: "Record what became of a call that nobody knew about",
		Long: `Record whether a call happened that was under way when its process died or its caller
left, or that failed and may have happened all the same. If it happened, its key is
settled: later calls with the same input get the result that is given here, and the
tool is not run. If it did not, its key is free, and the next call with it runs. A program
whose run comes to this call again gets the result, or is told that the call failed. It
cannot be taken back. A call that is still running is refused.`,
		Example: `  wasmagent ledger resolve call-6mbwx3vkdlnvtqpe#1 --happened='{"receipt": "R-17"}'
  wasmagent ledger resolve call-6mbwx3vkdlnvtqpe#1 --happened --reason "on the statement"
  wasmagent ledger resolve call-6mbwx3vkdlnvtqpe#1 --did-not-happen "no charge at the bank"`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 && cmd.Flags().Changed("happened") {
				return &usageError{
					text: "--happened takes its result behind an equals sign",
					hint: "such as --happened='{\"receipt\": \"R-17\"}' or --happened=@FILE",
				}
			}
			return takes(1, 1, "one call, RUN#POSITION")(cmd, args)
		},
		ValidArgsFunction: a.completePending,
		RunE: func(cmd *cobra.Command, args []string) error {
			how, err := a.resolution(cmd, happened, didNot, reason)
			if err != nil {
				return err
			}
			return a.ledgerResolve(cmd.Context(), args[0], how)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&happened, "happened", "",
		"it happened, with this result: `JSON`, or @FILE; "+unknownResult+" when it is not known")
	f.Lookup("happened").NoOptDefVal = unknownResult
	f.StringVar(&didNot, "did-not-happen", "",
		"it did not happen, and this `reason` tells how you know")
	f.StringVar(&reason, "reason", "", "with --happened, a `text` to record with it")
	return cmd
}

// resolution is what the flags say became of a call.
func (a *app) resolution(cmd *cobra.Command, happened, didNot, reason string) (ledger.Resolution,
	error) {
	yes, no := cmd.Flags().Changed("happened"), cmd.Flags().Changed("did-not-happen")
	switch {
	case yes == no:
		return ledger.Resolution{}, &usageError{
			text: "resolve takes either --happened or --did-not-happen",
			hint: "--happened=JSON with the result, --did-not-happen REASON with how you know",
		}
	case no && didNot == "":
		return ledger.Resolution{}, &usageError{text: "--did-not-happen needs a reason",
			hint: "it stays in the ledger for whoever asks how it was known"}
	case no && cmd.Flags().Changed("reason"):
		return ledger.Resolution{}, &usageError{text: "--reason goes with --happened",
			hint: "--did-not-happen takes its reason itself"}
	case no:
		return ledger.Resolution{Reason: didNot}, nil
	}
	text, err := a.readArg(happened)
	if err != nil {
		return ledger.Resolution{}, err
	}
	value := bytes.TrimSpace(text)
	if !json.Valid(value) {
		return ledger.Resolution{}, &usageError{
			text: fmt.Sprintf("--happened: %q is not JSON", cut(string(value), maxQuoted)),
			hint: `a text is quoted: --happened='"done"'`,
		}
	}
	return ledger.Resolution{Happened: true, Output: plugins.Output{Value: value}, Reason: reason}, nil
}

func (a *app) ledgerResolve(ctx context.Context, arg string, how ledger.Resolution) error {
	at, err := a.placeOf(arg)
	if err != nil {
		return err
	}
	l, err := a.ledgerThatIs(ctx, nil)
	if err != nil {
		return err
	}
	if err := l.Resolve(ctx, at, how); err != nil {
		return a.noSuchRun(ctx, l, at.Run, a.settled(at.Run, undecided(err)))
	}
	c := changeJSON{Did: "resolved", Place: at.String(), Outcome: outcomes[plugins.Released]}
	if err := c.addCall(ctx, l, at); err != nil {
		return err
	}
	if !how.Happened && c.Key == "" {
		return a.printChange(c, "resolved %s: it did not happen; its run is told so when it goes on", at)
	}
	if !how.Happened {
		return a.printChange(c, "resolved %s: it did not happen; the next call with its key runs", at)
	}
	c.Outcome = outcomes[plugins.Done]
	return a.printChange(c, "resolved %s: it happened; later calls get its result", at)
}

// addCall tells which call it is about, as its last record has it.
func (c *changeJSON) addCall(ctx context.Context, l *ledger.SQLite, at plugins.Place) error {
	for r, err := range l.Records(ctx, at.Run) {
		if _, tampered := errors.AsType[*ledger.TamperError](err); err != nil && !tampered {
			return err
		}
		if r.Position == at.Position {
			c.Tool, c.Scope, c.Key = r.Tool, r.Scope, r.Key
		}
	}
	return nil
}

func (a *app) ledgerAbandonCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "abandon RUN",
		Short: "Give up a run that nobody will go on with",
		Long: `Give up a run: nothing begins in it any more. Keys of its calls that may be repeated are
freed. A write of which nobody knows whether it happened still holds its key; "resolve"
records what became of it. A run whose process lives is refused.`,
		Args:              takes(1, 1, "one run"),
		ValidArgsFunction: a.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.ledgerAbandon(cmd.Context(), args[0], reason)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "a `text` to record with it")
	return cmd
}

func (a *app) ledgerAbandon(ctx context.Context, run, reason string) error {
	l, err := a.ledgerThatIs(ctx, nil)
	if err != nil {
		return err
	}
	if err := l.Abandon(ctx, run, reason); err != nil {
		return a.noSuchRun(ctx, l, run, a.settled(run, undecided(err)))
	}
	if err := a.printChange(changeJSON{Did: "abandoned", Run: run},
		"abandoned %s: nothing begins in it any more", run); err != nil || a.form != "text" {
		return err
	}
	all, err := a.runs(ctx, l)
	for _, r := range all {
		if waits := len(newRunJSON(&r).Waits); r.Name == run && waits > 0 {
			a.printWaits(waits)
		}
	}
	return err
}
