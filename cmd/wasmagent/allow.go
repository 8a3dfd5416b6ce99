package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/policy"
)

// allowJSON is what allow shows: facts first, then the plugin's own words under asks.
type allowJSON struct {
	Plugin   string      `json:"plugin"`
	Path     string      `json:"path"`
	Digest   string      `json:"digest"`
	Size     int64       `json:"size"`
	Imports  []string    `json:"imports"`
	Grants   []string    `json:"grants"`
	Adds     string      `json:"adds,omitempty"` // the text that goes behind the policy file
	First    bool        `json:"first"`          // it was never allowed
	Changes  []sinceJSON `json:"changes"`
	Warnings []string    `json:"warnings"`
	Asks     []string    `json:"asks"`
	Allowed  bool        `json:"allowed"`
}

// sinceJSON is what is not as it was when the plugin was allowed.
type sinceJSON struct {
	What string `json:"what"`
	Was  string `json:"was,omitempty"`
	Now  string `json:"now,omitempty"`
}

func (a *app) allowCommand() *cobra.Command {
	var add policy.Additions
	var yes bool
	cmd := &cobra.Command{
		Use:   "allow PLUGIN | FILE",
		Short: "Grant a plugin what it needs, or allow it again after a change",
		Long: `Show what a plugin is, what it would be granted and what it asks for, ask once, and record
the answer. What is granted stands in the plugin's section of the policy, wasmagent.toml; flags
add to that section and leave the rest of the file as it is. A plugin that is granted anything
must be allowed again when its file, what it asks for, or its section changes. Nothing that a
plugin asks for is granted because it asks.`,
		Example: `  wasmagent allow fetch --http example.org
  wasmagent allow issues --http 'POST api.example.org' --secret token=env:TOKEN@api.example.org
  wasmagent allow notes --kv --yes`,
		Args:              takes(1, 1, "one plugin or file"),
		ValidArgsFunction: a.completePlugins,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.allow(cmd.Context(), args[0], &add, yes)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringArrayVar(&add.HTTP, "http", nil,
		"let it send GET and HEAD to this `host` or URL; others as in 'POST,PUT example.org'")
	f.BoolVar(&add.KV, "kv", false, "let it keep keys and values from call to call")
	f.StringArrayVar(&add.Mounts, "mount", nil,
		"let it read a directory or file, `DIRECTORY:GUEST`, or write with :rw behind that; "+
			"scratch:GUEST is empty at every call")
	f.StringArrayVar(&add.Secrets, "secret", nil,
		"send a secret with its requests: `NAME=SOURCE@HOST`, the source being env:VARIABLE, "+
			"file:PATH or cmd:PROGRAM")
	f.StringArrayVar(&add.Env, "env", nil, "let it see a variable, `NAME=VALUE`")
	f.StringArrayVar(&add.Config, "set", nil, "let it read a setting, `NAME=VALUE`")
	f.BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

func (a *app) allow(ctx context.Context, name string, add *policy.Additions, yes bool) error {
	found, err := a.findPlugin(ctx, name)
	if err != nil {
		return err
	}
	pl := found.plugin()
	if _, refused := errors.AsType[*loader.NotAllowedError](pl.Err); pl.Err != nil && !refused {
		return pl.Err
	}
	operator, err := a.operator()
	if err != nil {
		return err
	}
	review, err := operator.Review(pl, add)
	if err != nil {
		return err
	}
	j, err := newAllowJSON(review)
	if err != nil {
		return err
	}
	if len(review.Grants) == 0 {
		fmt.Fprintf(a.err, "%s is granted nothing, and needs no approval\n", visible(pl.Name))
		return a.showReview(j)
	}
	if a.form == "text" {
		if err := a.showReview(j); err != nil {
			return err
		}
	}
	if !review.First && len(review.Changes) == 0 && review.Adds == "" {
		j.Allowed = true // as it is: there is nothing to ask
		return a.showAllowed(ctx, pl, j)
	}
	if err := a.agree(pl.Name, yes); err != nil {
		return err
	}
	if err := operator.Allow(review); err != nil {
		return err
	}
	j.Allowed = true
	return a.showAllowed(ctx, pl, j)
}

func newAllowJSON(r *policy.Review) (*allowJSON, error) {
	imports, err := hostImports(r.Plugin)
	if err != nil {
		return nil, err
	}
	j := &allowJSON{
		Plugin: r.Plugin.Name, Path: r.Plugin.Path, Digest: r.Plugin.Digest, Size: r.Plugin.Size,
		Imports: imports, Grants: r.Grants, Adds: r.Adds, First: r.First,
		Changes: []sinceJSON{}, Warnings: append([]string{}, r.Warnings...), Asks: r.Asks,
	}
	for _, c := range r.Changes {
		j.Changes = append(j.Changes, sinceJSON(c))
	}
	return j, nil
}
