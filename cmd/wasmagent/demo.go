package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/adrg/xdg"
	"github.com/spf13/cobra"

	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
)

func (a *app) demoCommand() *cobra.Command {
	var source string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Build the example plugins and see all of it at work",
		Long: `Build the example plugins of a clone of the repository with the local Go tool chain,
list their tools, call several, and show each kind of error once. The plugins are kept
in the cache directory and built again only when their sources change.`,
		Args: takes(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.demo(cmd.Context(), source)
		},
	}
	cmd.Flags().StringVar(&source, "source", "",
		"the `directory` of the example plugins (else "+examplesDir+" here or above)")
	return cmd
}

// demoDir is where the demo keeps its plugins.
func demoDir() string { return filepath.Join(xdg.CacheHome, "wasmagent", "demo") }

func (a *app) demo(ctx context.Context, source string) error {
	if source == "" {
		var err error
		if source, err = findExamples(); err != nil {
			return err
		}
	}
	dir := demoDir()
	fmt.Fprintf(a.err, "building the plugins of %s into %s\n", source, dir)
	built, err := a.buildExamples(ctx, source, dir)
	if err != nil {
		return err
	}
	if built == 0 {
		fmt.Fprintln(a.err, "all are built from these sources already")
	}
	a.dirs = []string{dir}
	c, err := a.openDirs(ctx)
	if err != nil {
		return err
	}
	calls := make(chan demoResult, len(demoCalls)) // so that nobody waits when printing ends
	go a.runDemoCalls(ctx, c, calls)
	if a.form != "text" {
		return a.printDemoJSON(c, calls)
	}
	return a.printDemo(c, dir, calls)
}

// demoResult is how a call of the demo ended.
type demoResult struct {
	call   demoCall
	result plugins.Result
	err    error
}

// runDemoCalls carries out the calls, as many side by side as there are processors, and gives their
// results in the order of the list.
func (a *app) runDemoCalls(ctx context.Context, c *catalog, results chan<- demoResult) {
	defer close(results)
	running := make(chan struct{}, runtime.GOMAXPROCS(0))
	waiting := make([]chan demoResult, len(demoCalls))
	for i, call := range demoCalls {
		waiting[i] = make(chan demoResult, 1)
		go func() {
			running <- struct{}{}
			defer func() { <-running }()
			result, err := a.demoCall(ctx, c, call)
			waiting[i] <- demoResult{call, result, err}
		}()
	}
	for _, w := range waiting {
		results <- <-w
	}
}

func (a *app) demoCall(ctx context.Context, c *catalog, call demoCall) (plugins.Result, error) {
	owner, ok := c.claimant(call.Tool)
	if !ok {
		return plugins.Result{}, a.noTool(c, call.Tool)
	}
	tool, plugin, err := (&target{c, owner, call.Tool, ""}).callable()
	if err != nil {
		return plugins.Result{}, err
	}
	registry, err := registryOf(tool, plugins.Rule{Key: call.Key}, new(ledger.Memory))
	if err != nil {
		return plugins.Result{}, err
	}
	return a.callLogged(ctx, registry, plugin, a.newCall(call.Tool, json.RawMessage(call.Input)))
}

// printDemo shows the demo to a person.
func (a *app) printDemo(c *catalog, dir string, results <-chan demoResult) error {
	paint := a.paint(a.out)
	fmt.Fprintf(a.out, "\n%s\n\n", paint.bold("The tools"))
	if err := a.printListText(c); err != nil {
		return err
	}
	section := ""
	for r := range results {
		if r.call.Section != section {
			section = r.call.Section
			fmt.Fprintf(a.out, "\n%s\n", paint.bold(section))
		}
		fmt.Fprintf(a.out, "\n%s\n%s %s\n", r.call.Says, paint.dim("$"), r.call.command(dir))
		if r.err == nil {
			if err := a.printResultText(r.result); err != nil {
				return err
			}
			continue
		}
		if err := a.demoError(r); err != nil {
			return err
		}
		a.target = r.call.Tool
		p := a.problemOf(r.err)
		p.print(a.out, paint)
		fmt.Fprintf(a.out, "%s %d\n", paint.dim(" exit:"), p.Exit)
	}
	fmt.Fprintf(a.out, "\n%s\n%s", paint.bold("Now you"), demoNext(dir))
	return nil
}

// demoError tells an error that the demo is there to show from one that ends it.
func (a *app) demoError(r demoResult) error {
	if tool, ok := errors.AsType[*plugins.ToolError](r.err); ok && tool.Kind == r.call.Fails {
		return nil
	}
	return fmt.Errorf("demo call of %s: %w", r.call.Tool, r.err)
}

// demoJSON is the demo for a program.
type demoJSON struct {
	Plugins []pluginJSON   `json:"plugins"`
	Calls   []demoCallJSON `json:"calls"`
}

type demoCallJSON struct {
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
	Value json.RawMessage `json:"value,omitempty"`
	Error *problem        `json:"error,omitempty"`
}

func (a *app) printDemoJSON(c *catalog, results <-chan demoResult) error {
	out := demoJSON{Plugins: []pluginJSON{}, Calls: []demoCallJSON{}}
	for i := range c.plugins {
		out.Plugins = append(out.Plugins, a.pluginJSON(c, i))
	}
	for r := range results {
		j := demoCallJSON{
			Tool: r.call.Tool, Input: json.RawMessage(r.call.Input), Value: r.result.Value,
		}
		if r.err != nil {
			if err := a.demoError(r); err != nil {
				return err
			}
			p := a.problemOf(r.err)
			j.Error = &p
		}
		out.Calls = append(out.Calls, j)
	}
	return writeJSON(a.out, a.form, out)
}

// command is the call as it is typed.
func (c *demoCall) command(dir string) string {
	words := []string{"wasmagent", "-p", shellQuote(dir), "call", c.Tool, shellQuote(c.Input)}
	if c.Key != "" {
		words = append(words, "--key", c.Key)
	}
	return strings.Join(words, " ")
}

// shellQuote quotes s for a POSIX shell, where it must be.
func shellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("/._-:=@%+,#", r)
	}
	if s != "" && s[0] != '#' && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// demoNext says what to try after the demo.
func demoNext(dir string) string {
	return fmt.Sprintf(`
  # the command itself, and these plugins without -p
  go install ./cmd/wasmagent
  export %s=%s

  # what a plugin is, offers and asks for
  wasmagent inspect jq

  # a call whose input is put together from fields, and one for programs
  wasmagent call jq -f filter=.a -f input='{"a": 1}'
  wasmagent call date_now -o json

  # a plugin of your own: copy an example, change it, build it
  wasmagent build ./examples/plugins/jq
`, envPlugins, shellQuote(dir))
}
