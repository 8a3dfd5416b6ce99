package main

import (
	"context"
	"io"
	"os"
	"slices"

	"github.com/spf13/pflag"

	"github.com/wasmagent/wasmagent/host"
)

func main() {
	if slices.Equal(os.Args[1:], []string{compileVerb}) {
		os.Exit(host.CompileChild(os.Stdin, os.Stdout, os.Stderr))
	}
	beSDK()
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// compileVerb is what this program says to itself, in a process that can be killed: to compile one
// plugin.
const compileVerb = "__compile"

// compileCommand runs this program with that verb. Without a known file of its own there is none,
// and a plugin that wants it says so.
func compileCommand() []string { return selfCommand(compileVerb) }

func selfCommand(verb string) []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self, verb}
}

// run is the whole command: it carries out args and gives the exit code. Results go to out and
// everything else to err, so that a pipe sees results only.
func run(ctx context.Context, args []string, in io.Reader, out, err io.Writer) int {
	a := &app{in: in, out: out, err: err}
	return a.run(ctx, args)
}

func (a *app) run(ctx context.Context, args []string) int {
	ctx, stop := a.signals.watch(ctx)
	defer stop()
	defer a.close()
	root := a.command()
	root.SetArgs(args)
	cmd, e := root.ExecuteContextC(ctx)
	if !a.started {
		a.form = formOf(args, a.form)
	}
	return a.finish(cmd.CommandPath(), e)
}

// formOf is the form of results that args ask for, also behind a mistake that kept the rest from
// being read; else it is form.
func formOf(args []string, form string) string {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.ParseErrorsAllowlist.UnknownFlags = true
	f.Usage = func() {}
	f.StringVarP(&form, "output", "o", form, "")
	_ = f.Parse(args) // whoever reads it all tells of mistakes
	return form
}
