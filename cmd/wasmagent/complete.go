package main

import (
	"slices"

	"github.com/spf13/cobra"
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
