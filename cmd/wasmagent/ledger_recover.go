package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmagent/wasmagent/plugins/ledger"
)

// pendingJSON is a call that crashes, callers that left, or failures have left behind.
type pendingJSON struct {
	Place  string          `json:"place"`
	Tool   string          `json:"tool"`
	Effect string          `json:"effect"`
	Scope  string          `json:"scope,omitempty"`
	Key    string          `json:"key,omitempty"`
	Began  time.Time       `json:"began"`
	Why    string          `json:"why"`
	Person bool            `json:"person"` // somebody must find out whether it happened
	Input  json.RawMessage `json:"input"`
	// Commands are those of which one is right, when a person must say which.
	Commands []string `json:"commands,omitempty"`
}

func (a *app) ledgerRecoverCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "recover",
		Short: "Tell what crashes have left, and how to go on",
		Long: `List the calls that are over without an outcome: their process died, or their caller
left while they ran, or they failed and may have happened all the same. What may be
repeated runs again by itself, when it is called again or its run goes on; a run stops
at it if its tool counts as a write by then. A write does not run again: a person must
find out whether it happened, and the command that records it is printed. Nothing is
changed, and no file is made.`,
		Args: takes(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.ledgerRecover(cmd.Context()) },
	}
}

func (a *app) ledgerRecover(ctx context.Context) error {
	l, err := a.ledgerToRead(ctx)
	if err != nil {
		return err
	}
	list := []pendingJSON{}
	if l != nil {
		for p, err := range l.Recover(ctx) {
			if err != nil {
				return err
			}
			list = append(list, a.newPendingJSON(&p))
		}
	}
	if a.form != "text" {
		return writeList(a, "pending", list)
	}
	if len(list) == 0 {
		fmt.Fprintf(a.err, "nothing to recover in %s\n", visible(a.ledgerPath()))
	}
	a.printPending(list)
	return nil
}

func (a *app) newPendingJSON(p *ledger.Pending) pendingJSON {
	j := pendingJSON{
		Place: p.Place.String(), Tool: p.Tool, Effect: p.Effect.String(), Scope: p.Scope, Key: p.Key,
		Began: p.Began, Why: p.Why, Person: p.Person, Input: rawJSON(p.Input),
	}
	if p.Person {
		j.Commands = []string{
			a.ledgerCommandLine("resolve", j.Place, "--happened"),
			a.ledgerCommandLine("resolve", j.Place) + " --did-not-happen REASON",
		}
	}
	return j
}

// whyTexts say what happened to a call.
var whyTexts = map[string]string{
	ledger.WhyCrashed: "its process died",
	ledger.WhyStopped: "it was stopped",
	ledger.WhyFailed:  "it failed",
}

// againUnless is what may still keep a call from running again: the ledger does not know the rules
// by which it will be called.
const againUnless = "(if its tool counts as a write by then, its run stops at it until " +
	"\"wasmagent ledger resolve\" has told)"

// printPending writes what a person must do first.
func (a *app) printPending(list []pendingJSON) {
	paint := a.paint(a.out)
	waits, again := []pendingJSON{}, []pendingJSON{}
	for _, p := range list {
		if p.Person {
			waits = append(waits, p)
		} else {
			again = append(again, p)
		}
	}
	if len(waits) > 0 {
		fmt.Fprintln(a.out, paint.bold("Find out whether each of these happened, and record it with one "+
			"of its commands"))
	}
	for _, p := range waits {
		fmt.Fprintf(a.out, "\n%s\n  input: %s\n", p.text(), oneLine(shortened(string(p.Input))))
		for _, command := range p.Commands {
			fmt.Fprintf(a.out, "  %s\n", oneLine(command))
		}
	}
	if len(waits) > 0 && len(again) > 0 {
		fmt.Fprintln(a.out)
	}
	if len(again) > 0 {
		fmt.Fprintf(a.out, "%s\n%s\n\n", paint.bold("Nothing to do: each of these runs again when it is "+
			"called again, or its run goes on"), againUnless)
	}
	for _, p := range again {
		fmt.Fprintln(a.out, p.text())
	}
}

// text says which call it is and what happened to it.
func (p *pendingJSON) text() string {
	return oneLine(fmt.Sprintf("%s  %s, began %s: %s", p.Place, callText(p.Tool, p.Effect, p.Key),
		stamp(p.Began), whyTexts[p.Why]))
}
