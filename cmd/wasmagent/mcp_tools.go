package main

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

// served are the tools that are served. What is not on offer is logged, with its reason.
func (a *app) served(c *catalog) *plugins.Registry {
	registry := plugins.NewRegistry(&plugins.Options{
		Ledger: &openingLedger{app: a}, Logger: a.log,
	})
	var withheld []error
	for i, p := range c.plugins {
		for _, name := range c.offered(i) {
			withheld = append(withheld, registry.Add(c.tools[name]))
		}
		withheld = append(withheld, reasons(p)...)
	}
	a.logWithheld(withheld...)
	if len(slices.Collect(registry.Specs())) == 0 {
		a.log.Warn("there are no tools to serve", "plugins", c.origin)
	}
	return registry
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
			a.log.Warn("not offered", "reason", err)
		}
	}
}

// follow puts what changes in the plugin directories into the registry, from when it has looked at
// them, which this does not wait for, until stop.
func (a *app) follow(ctx context.Context, c *catalog, registry *plugins.Registry) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	for _, dir := range c.dirs {
		group.Go(func() {
			err := dir.Watch(ctx, func(change loader.Change) { a.change(c, registry, change) })
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

// change takes in what is new. A name that two directories claimed at the start is nobody's.
func (a *app) change(c *catalog, registry *plugins.Registry, change loader.Change) {
	var lost []error
	fresh := slices.DeleteFunc(slices.Clone(change.New), func(t plugins.Tool) bool {
		name := t.Spec().Name
		i, claimed := c.owners[name]
		if claimed && c.tools[name] == nil {
			lost = append(lost, errors.Join(c.withheld(i, name)))
			return true
		}
		return false
	})
	err := registry.Replace(change.Old, fresh)
	a.log.Info("plugins changed", "added", change.Added, "replaced", change.Replaced,
		"removed", change.Removed)
	a.logWithheld(append(append(lost, err), change.Refused...)...)
}
