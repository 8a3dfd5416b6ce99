package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmagent/wasmagent/plugins/ledger"
)

// runJSON is how a run stands.
type runJSON struct {
	Run     string    `json:"run"`
	Started time.Time `json:"started"`
	Calls   int       `json:"calls"`
	State   string    `json:"state"`
	// Waits are the calls that a person must find out about.
	Waits []waitJSON `json:"waits,omitempty"`
}

type waitJSON struct {
	Place string `json:"place"`
	Tool  string `json:"tool"`
	Key   string `json:"key,omitempty"`
	Why   string `json:"why"`
}

func (a *app) ledgerListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the runs, and the calls that wait for a person",
		Long: `List the runs of the ledger, the oldest first. A call with a key is a run of one; a
program that embeds wasmagent makes runs of many calls. A run is "running" while its
process lives, "waiting" when a person must find out about a call of it, "interrupted"
when a call of it simply runs again, "abandoned" when an operator gave it up, and else
"ended". Nothing is written, and no file is made.`,
		Args: takes(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.ledgerList(cmd.Context()) },
	}
}

func (a *app) ledgerList(ctx context.Context) error {
	l, err := a.ledgerToRead(ctx)
	if err != nil {
		return err
	}
	all, err := a.runs(ctx, l)
	if err != nil {
		return err
	}
	list := make([]runJSON, 0, len(all))
	for i := range all {
		list = append(list, newRunJSON(&all[i]))
	}
	if a.form == "text" {
		return a.printRuns(list)
	}
	return writeList(a, "runs", list)
}

// writeList writes a list of the ledger: as one document for json, as a line for each for jsonl.
func writeList[T any](a *app, name string, list []T) error {
	if a.form == "json" {
		return writeJSON(a.out, a.form, map[string]any{"ledger": a.ledgerPath(), name: list})
	}
	for _, each := range list {
		if err := writeJSON(a.out, a.form, each); err != nil {
			return err
		}
	}
	return nil
}

func newRunJSON(r *ledger.Run) runJSON {
	j := runJSON{Run: r.Name, Started: r.Started, Calls: r.Calls, State: runState(r)}
	for _, p := range r.Pending {
		if p.Person {
			j.Waits = append(j.Waits, waitJSON{p.Place.String(), p.Tool, p.Key, p.Why})
		}
	}
	return j
}

func runState(r *ledger.Run) string {
	waits := slices.ContainsFunc(r.Pending, func(p ledger.Pending) bool { return p.Person })
	switch {
	case r.Abandoned:
		return "abandoned"
	case r.Live:
		return "running"
	case waits:
		return "waiting"
	case len(r.Pending) > 0:
		return "interrupted"
	}
	return "ended"
}

func (a *app) printRuns(runs []runJSON) error {
	if len(runs) == 0 {
		fmt.Fprintf(a.err, "no runs in %s\n", visible(a.ledgerPath()))
		return nil
	}
	rows := [][]string{{"RUN", "STARTED", "CALLS", "STATE", "WAITS FOR A PERSON"}}
	waits := 0
	for _, r := range runs {
		waits += len(r.Waits)
		rows = append(rows, []string{r.Run, stamp(r.Started), strconv.Itoa(r.Calls), r.State,
			waitsText(r.Waits)})
	}
	if err := writeRows(a.out, rows); err != nil {
		return err
	}
	if waits > 0 {
		a.printWaits(waits)
	}
	return nil
}

// printWaits says how to go on where calls wait for a person.
func (a *app) printWaits(calls int) {
	fmt.Fprintf(a.err, "%s tells what to do about %s\n", a.quoted("recover"), count(calls, "call"))
}

// waitsText names the calls that wait, a few of them.
func waitsText(waits []waitJSON) string {
	var words []string
	for _, w := range waits[:min(len(waits), maxWaits)] {
		words = append(words, fmt.Sprintf("%s (%s)", w.Tool, w.Why))
	}
	if more := len(waits) - maxWaits; more > 0 {
		words = append(words, fmt.Sprintf("%d more", more))
	}
	return strings.Join(words, ", ")
}

// maxWaits is how many waiting calls of a run list names.
const maxWaits = 3
