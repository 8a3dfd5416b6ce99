package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/loader/extism"
)

// adoptJSON is a plugin that was given a first section of the policy.
type adoptJSON struct {
	Plugin  string   `json:"plugin"`
	Path    string   `json:"path"`
	Kind    string   `json:"kind"`
	Tools   []string `json:"tools"`
	File    string   `json:"file"` // the policy
	Adds    string   `json:"adds"` // what is written behind it
	Written bool     `json:"written"`
}

// adoption is what the flags of adopt say.
type adoption struct {
	functions []string
	kind      string
	dryRun    bool
}

func (a *app) adoptCommand() *cobra.Command {
	var how adoption
	cmd := &cobra.Command{
		Use:   "adopt PLUGIN | FILE",
		Short: "Make tools of a plugin that was written for another host",
		Long: `Write a first section of the policy, wasmagent.toml, for a plugin that does not describe
its tools: one that was written for Extism, or a WASI command. The section names the
functions that become tools and has, as comments, where to say what they do and take.
It grants nothing, and what the file says already stays as it is. The plugin's file is
neither copied nor changed.`,
		Example: `  wasmagent adopt vowels
  wasmagent adopt plugins/vowels.wasm --function count_vowels
  wasmagent adopt python --dry-run`,
		Args:              takes(1, 1, "one plugin or file"),
		ValidArgsFunction: a.completePlugins,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.adopt(cmd.Context(), args[0], &how)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringArrayVar(&how.functions, "function", nil,
		"make a tool of this exported `function`, repeatable (else of all that can be one)")
	f.StringVar(&how.kind, "kind", "",
		"the `kind` of plugin, where the file does not tell: "+strings.Join(kindNames(), " or "))
	f.BoolVar(&how.dryRun, "dry-run", false, "show the section and write nothing")
	return cmd
}

func (a *app) adopt(ctx context.Context, name string, how *adoption) error {
	a.makesConfig = true
	found, err := a.findPlugin(ctx, name)
	if err != nil {
		return err
	}
	pl := found.plugin()
	wasm, err := readPlugin(pl.Path)
	if err != nil {
		return err
	}
	facts, err := host.Inspect(wasm)
	if err != nil {
		return &loader.LoadError{Plugin: pl.Name, Path: pl.Path, Err: err}
	}
	section, err := a.adoption(how, pl, facts)
	if err != nil {
		return err
	}
	operator, err := a.operator()
	if err != nil {
		return err
	}
	if err := a.tryAdoption(ctx, operator, wasm, pl, section); err != nil {
		return err
	}
	text, err := operator.Adopt(pl.Name, section)
	if err != nil {
		return err
	}
	j := &adoptJSON{Plugin: pl.Name, Path: pl.Path, Kind: section.Kind, File: a.policyFile(),
		Adds: text, Written: !how.dryRun}
	for _, f := range section.Functions {
		j.Tools = append(j.Tools, f.Tool)
	}
	return a.showAdopted(j)
}

func (a *app) showAdopted(j *adoptJSON) error {
	if a.form != "text" {
		return writeJSON(a.out, a.form, j)
	}
	fmt.Fprint(a.out, visible(j.Adds))
	if !j.Written {
		fmt.Fprintf(a.err, "nothing is written: this would stand behind %s\n", oneLine(j.File))
		return nil
	}
	fmt.Fprintf(a.err, "written behind %s. Say there what the tools do and take; then %q shows them, "+
		"and %q calls one\n", oneLine(j.File), a.aboutFile("inspect", j.Path),
		a.aboutFile("call", j.Path+":"+j.Tools[0]))
	return nil
}

// unnamed tells of a plugin of which no policy says which functions are tools.
func unnamed(err error) bool {
	functions, ok := errors.AsType[*extism.FunctionsError](err)
	return ok && len(functions.Wrong) == 0
}

// adoptHint is the command that makes tools of a plugin which describes none.
func (a *app) adoptHint(err error) string {
	load, ok := errors.AsType[*loader.LoadError](err)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%q writes a first section of the policy for it",
		a.aboutFile("adopt", load.Path))
}
