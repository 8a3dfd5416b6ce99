package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/loader"
)

// checkJSON is the verdict on a plugin file.
type checkJSON struct {
	Path     string    `json:"path"`
	Good     bool      `json:"good"` // no finding is an error
	Tools    []string  `json:"tools"`
	Findings []finding `json:"findings"`
}

// finding is one thing that check found. An error keeps the plugin, or a tool of it, from being
// used; a warning does not.
type finding struct {
	Level string `json:"level"` // error or warning
	Where string `json:"where"` // file, module, manifest, a stage of loading, or tool NAME
	Text  string `json:"text"`
}

// errNotGood ends a check that found errors.
var errNotGood = errors.New("not a good plugin")

func (a *app) checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check PLUGIN | FILE",
		Short: "Tell whether a plugin is a good one, and if not, where",
		Long: `Check a plugin, or a plugin file or folder, against the plugin contract: its imports,
exports and memory, that it loads and describes itself, its manifest, and the names,
descriptions and schemas of its tools. Each tool is then called a few times, with no
arguments and nothing granted: equal calls must end alike, keys of a request that it
does not know must be ignored, and a caller who gives up must be let go. Errors keep
the plugin, or a tool of it, from being used, and end the command with exit code 1;
warnings do not. A plugin of another kind is loaded as the policy says, and nothing of
it is called.`,
		Args:              takes(1, 1, "one plugin or file"),
		ValidArgsFunction: a.completePlugins,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.check(cmd.Context(), args[0])
		},
	}
}

func (a *app) check(ctx context.Context, arg string) error {
	path, err := a.checkedFile(ctx, arg)
	if err != nil {
		return err
	}
	wasm, err := readPlugin(path)
	if err != nil {
		return err
	}
	engine, err := a.sandbox(ctx)
	if err != nil {
		return err
	}
	k := &checker{}
	if p, err := a.otherPlugin(ctx, path, wasm); err != nil {
		return err
	} else if p != nil {
		k.other(p)
		err := a.printCheck(k.verdict(path))
		if unnamed(p.Err) && a.form == "text" {
			fmt.Fprintf(a.err, "%s %s\n", a.paint(a.err).dim("hint:"), oneLine(a.adoptHint(p.Err)))
		}
		return err
	}
	err = k.plugin(ctx, engine, wasm)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	return a.printCheck(k.verdict(path))
}

// otherPlugin opens a file that is written to another contract, under the operator's policy; nil:
// it is not, or it is no module.
func (a *app) otherPlugin(ctx context.Context, path string, wasm []byte) (*loader.Plugin, error) {
	if facts, err := host.Inspect(wasm); err != nil || describes(facts) {
		return nil, nil
	}
	c, err := a.openFile(ctx, path)
	if err != nil || c.plugins[0].Kind == "" {
		return nil, err
	}
	return &c.plugins[0], nil
}

// checkedFile is the file that is meant: itself, that of a folder, or that of a plugin's name.
func (a *app) checkedFile(ctx context.Context, arg string) (string, error) {
	if info, err := os.Stat(arg); err == nil && info.Mode().IsRegular() {
		return arg, nil
	}
	found, err := a.findPlugin(ctx, arg)
	if err != nil {
		return "", err
	}
	return found.plugin().Path, nil
}

func (a *app) printCheck(v checkJSON) error {
	if a.form != "text" {
		if err := writeJSON(a.out, a.form, v); err != nil {
			return err
		}
	} else {
		v.print(a.out, a.paint(a.out))
	}
	if !v.Good {
		return &reported{errNotGood}
	}
	return nil
}

func (v *checkJSON) printFindings(w io.Writer, c palette) {
	levels := map[string]func(string) string{"error": c.red, "warning": c.yellow}
	for _, f := range v.Findings {
		fmt.Fprintf(w, "%s %s: %s\n", levels[f.Level](f.Level+":"), visible(f.Where), visible(f.Text))
	}
}

func (v *checkJSON) print(w io.Writer, c palette) {
	v.printFindings(w, c)
	found := map[string]int{}
	for _, f := range v.Findings {
		found[f.Level]++
	}
	verdict := c.green("good")
	if !v.Good {
		verdict = c.red("not good")
	}
	fmt.Fprintf(w, "%s: %s, %s, %s, %s\n", visible(v.Path), verdict, count(len(v.Tools), "tool"),
		count(found["error"], "error"), count(found["warning"], "warning"))
}
