package main

import (
	"errors"
	"fmt"

	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
)

// ledgerExit classifies what a ledger says of a call or a run: that something else stands in its
// way.
func ledgerExit(err error) (code int, ok bool) {
	if _, is := errors.AsType[*plugins.CollisionError](err); is {
		return exitCollision, true
	}
	if busy, is := errors.AsType[*plugins.InFlightError](err); is {
		if busy.Unresolved {
			return exitUnresolved, true
		}
		return exitInFlight, true
	}
	if _, is := errors.AsType[*plugins.RunBusyError](err); is {
		return exitInFlight, true
	}
	if _, is := errors.AsType[*plugins.ReconciliationError](err); is {
		return exitUnresolved, true
	}
	if errors.Is(err, ledger.ErrSettled) || errors.Is(err, ledger.ErrAbandoned) {
		return exitSettled, true
	}
	return 0, false
}

// addLedgerError tells what a call's ledger has to say besides its text.
func (p *problem) addLedgerError(err error) {
	if e, ok := errors.AsType[*plugins.CollisionError](err); ok {
		p.Tool, p.Key, p.Holder = e.Tool, e.Key, e.Holder.String()
	}
	if e, ok := errors.AsType[*plugins.InFlightError](err); ok {
		p.Tool, p.Key, p.Holder = e.Tool, e.Key, e.Holder.String()
	}
	if e, ok := errors.AsType[*plugins.ReconciliationError](err); ok {
		p.Tool, p.Key, p.Place, p.Input = e.Tool, e.Key, e.Place.String(), e.Input
	}
	if e, ok := errors.AsType[*unrecorded](err); ok {
		p.Value, p.Content = e.given.Value, blocksJSON(e.given.Content)
	}
	if e, ok := errors.AsType[*ledger.TamperError](err); ok {
		p.Place = placeText(e.Run, e.Position)
	}
}

// addRecord tells where a call that failed is recorded, and whether its key waits for a person.
func (p *problem) addRecord(r *callLedger) {
	if r.at() == "" {
		return
	}
	p.Place, p.Key, p.Unresolved = r.at(), r.key, r.held
}

// ledgerHint says what to do about a call or a command that the ledger stopped, or "".
func (a *app) ledgerHint(err error) string {
	if a.record != nil && a.record.held && errors.Is(err, plugins.ErrOutputSerialization) {
		return "it has happened, and its key is held until that is recorded: " +
			a.ledgerCommandLine("resolve", a.record.at(), "--happened") + ", with =JSON for its result"
	} else if a.record != nil && a.record.held {
		return "nobody knows whether it happened, and until somebody does its key is held: " +
			a.resolveHint(a.record.at())
	}
	if e, ok := errors.AsType[*plugins.CollisionError](err); ok {
		return fmt.Sprintf("%s shows that call; another key makes another call",
			a.showHint(e.Holder.Run))
	}
	if e, ok := errors.AsType[*plugins.InFlightError](err); ok {
		if e.Unresolved {
			return "find out whether it happened, then: " + a.resolveHint(e.Holder.String())
		}
		return fmt.Sprintf("try again when it is done; %s shows it", a.showHint(e.Holder.Run))
	}
	if e, ok := errors.AsType[*plugins.RunBusyError](err); ok {
		return fmt.Sprintf("wait until its process has ended; %s shows it", a.showHint(e.Run))
	}
	if e, ok := errors.AsType[*plugins.ReconciliationError](err); ok {
		return "find out whether it happened, then: " + a.resolveHint(e.Place.String())
	}
	if _, ok := errors.AsType[*ledger.TamperError](err); ok {
		return a.quoted("verify") + " names every place; only a copy from before tells what was there"
	}
	for _, f := range fileHints {
		if errors.Is(err, f.class) {
			return f.hint
		}
	}
	return ""
}

// resolveHint is the two commands of which one is right.
func (a *app) resolveHint(place string) string {
	return a.ledgerCommandLine("resolve", place, "--happened") + ", or with --did-not-happen REASON"
}

func (a *app) showHint(run string) string { return a.quoted("show", run) }

// fileHints say what to do about a ledger that cannot be used.
var fileHints = []struct {
	class error
	hint  string
}{
	{ledger.ErrNotLedger, "nothing was written to it; --ledger names another file"},
	{ledger.ErrNewer, "a newer wasmagent made it, and only that can use it; --ledger names another"},
	{ledger.ErrReadOnly, "this user must be able to write the file and its folder"},
	{ledger.ErrMoved, "put it back where it was, or end this process and start again"},
	{ledger.ErrFull, "make room on the disk; what is recorded is not lost"},
	{ledger.ErrBusy, "another process is writing to it all the time; try again when it has ended"},
	{ledger.ErrDamaged, "keep a copy of it as it is; a backup has what was recorded until then"},
}
