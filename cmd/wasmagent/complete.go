package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/wasmagent/wasmagent/plugins/ledger"
)

// completeTools completes the names of tools; a shell completes files by itself.
func (a *app) completeTools(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion,
	cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	c := a.openQuietly(cmd)
	var names []cobra.Completion
	for name, t := range c.tools {
		names = append(names, cobra.CompletionWithDesc(name, visible(summary(t.Spec().Description))))
	}
	slices.Sort(names)
	return names, cobra.ShellCompDirectiveDefault
}

// completePlugins completes the names of plugins.
func (a *app) completePlugins(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion,
	cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []cobra.Completion
	for _, p := range a.openQuietly(cmd).plugins {
		names = append(names, p.Name)
	}
	return names, cobra.ShellCompDirectiveDefault
}

// openQuietly opens the plugin directories for completion, where an error only means that there is
// nothing to complete.
func (a *app) openQuietly(cmd *cobra.Command) *catalog {
	if a.prepare(cmd, nil) != nil {
		return newCatalog()
	}
	c, err := a.openDirs(cmd.Context())
	if err != nil {
		return newCatalog()
	}
	return c
}

// completeRun completes the name of one run.
func (a *app) completeRun(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion,
	cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeRuns(cmd, args, prefix)
}

// completeRuns completes the names of runs.
func (a *app) completeRuns(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion,
	cobra.ShellCompDirective) {
	var names []cobra.Completion
	for _, r := range a.runsQuietly(cmd) {
		names = append(names, cobra.CompletionWithDesc(r.Name, runState(&r)))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completePending completes the places of calls that wait for a person.
func (a *app) completePending(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion,
	cobra.ShellCompDirective) {
	var places []cobra.Completion
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, r := range a.runsQuietly(cmd) {
		for _, p := range r.Pending {
			text := oneLine(callText(p.Tool, p.Effect.String(), p.Key))
			places = append(places, cobra.CompletionWithDesc(p.Place.String(), text))
		}
	}
	return places, cobra.ShellCompDirectiveNoFileComp
}

// completeKeys completes keys that are held.
func (a *app) completeKeys(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion,
	cobra.ShellCompDirective) {
	l := a.ledgerQuietly(cmd)
	if len(args) > 0 || l == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var keys []cobra.Completion
	for c, err := range l.Claims(cmd.Context(), "") {
		if err == nil && oneLine(c.Key) == c.Key { // what cannot be seen cannot be completed
			keys = append(keys, cobra.CompletionWithDesc(c.Key, "held by "+c.Holder.String()))
		}
	}
	return keys, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) runsQuietly(cmd *cobra.Command) []ledger.Run {
	l := a.ledgerQuietly(cmd)
	all, err := a.runs(cmd.Context(), l)
	if err != nil {
		return nil
	}
	return all
}

// ledgerQuietly opens the ledger for completion, where an error only means that there is nothing to
// complete.
func (a *app) ledgerQuietly(cmd *cobra.Command) *ledger.SQLite {
	if a.prepare(cmd, nil) != nil {
		return nil
	}
	l, err := a.ledgerToRead(cmd.Context())
	if err != nil {
		return nil
	}
	return l
}
