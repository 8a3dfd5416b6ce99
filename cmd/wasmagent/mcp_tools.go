package main

import (
	"context"
	"errors"
	"sync"

	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

// served are the tools that are served, at first those of plugins. What is not on offer is logged,
// with its reason.
func (a *app) served(c *catalog) (*offering, []*supply) {
	o := newOffering(plugins.NewRegistry(&plugins.Options{
		Ledger: &openingLedger{app: a}, Logger: a.log,
	}), a.logWithheld)
	dirs := o.addDirs(c.dirs)
	var withheld []error
	for _, dir := range c.dirs { // what only the catalog knows of several, the offering tells
		for _, p := range dir.Plugins() {
			withheld = append(withheld, reasons(p)...)
		}
	}
	a.logWithheld(withheld...)
	return o, dirs
}

// logWithheld logs why something is not on offer, each reason once: a name that several plugins
// claim is one of each.
func (a *app) logWithheld(all ...error) {
	told := map[string]bool{}
	for _, err := range all {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			a.logWithheld(joined.Unwrap()...)
		} else if err != nil && !told[err.Error()] {
			told[err.Error()] = true
			a.log.Warn("not offered", a.whyNot(err)...)
		}
	}
}

// whyNot are the attributes of a reason. A policy is read at the start: what allows a plugin reaches
// whoever serves at the next one.
func (a *app) whyNot(err error) []any {
	denied, ok := errors.AsType[*loader.NotAllowedError](err)
	if !ok {
		return []any{"reason", err}
	}
	return []any{"reason", a.here(denied), "then", "start this again: what is allowed is read at the start"}
}

// here is a refusal whose command is about the plugin directories that were named.
func (a *app) here(denied *loader.NotAllowedError) error {
	named := *denied
	named.Allow = a.allowHere(denied.Allow, denied.Plugin, denied.Path)
	return &named
}

// follow takes in what changes in the plugin directories, from when it has looked at them, which this
// does not wait for, until stop.
func (a *app) follow(ctx context.Context, o *offering, dirs []*supply) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	for _, s := range dirs {
		group.Go(func() {
			err := s.dir.Watch(ctx, func(change loader.Change) {
				o.change(s, change.Old, change.New) // the directory logs what has changed
			})
			if err != nil && ctx.Err() == nil {
				a.log.Warn("changes of plugins are not followed", "error", err)
			}
		})
	}
	return func() {
		cancel()
		group.Wait()
	}
}
