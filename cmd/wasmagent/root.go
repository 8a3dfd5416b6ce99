package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/policy"
)

// errTimeout is the cause of a context that --timeout ended.
var errTimeout error = &endError{"--timeout passed", context.DeadlineExceeded}

// endError is the cause of a context that ended, of the class that the context's own error is of.
type endError struct {
	text  string
	class error
}

func (e *endError) Error() string { return e.text }
func (e *endError) Unwrap() error { return e.class }

// app is one run of the command: its streams and what the global flags said.
type app struct {
	in       io.Reader
	out, err io.Writer

	dirs      []string // -p
	target    string   // the tool, plugin or file of the command, as it was typed
	tool      string   // the name of the tool that was called
	form      string   // -o: text, json or jsonl
	timeout   time.Duration
	logLevel  string
	logFormat string
	noColor   bool

	configFile  string         // --config; "" is that of the configuration directory
	makesConfig bool           // the command makes that file where there is none
	policy      *policy.Policy // nil until something is opened

	ledgerFile string      // --ledger; "" is that of the state directory
	record     *callLedger // of the call, when it is to be recorded

	signals signals
	status  *statusLine // of stderr
	typed   *lineReader // of stdin, once lines of it are wanted

	ctx     context.Context // the running command's, for telling how it ended
	started bool            // flags and arguments were good: errors from here on are no usage errors
	log     *slog.Logger
	engine  *host.Engine // nil until something is opened

	mu    sync.Mutex // guards the rest
	atEnd []func()
}

// configShort is the configuration file's place in the configuration directory.
const configShort = "wasmagent/wasmagent.toml"

var (
	forms      = []string{"text", "json", "jsonl"}
	logFormats = []string{"text", "json"}
	logLevels  = []string{"debug", "info", "warn", "error"}
)

// command builds the tree of commands and flags.
func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "wasmagent",
		Short: "Call the tools of WebAssembly plugins, each in its sandbox",
		Long: `wasmagent points at a directory of WebAssembly plugins, shows the tools in it, calls
them with JSON, and has a model call them. A plugin runs in a sandbox that is given
nothing, no files, no network, no environment, but what you allow it. When a call
goes wrong, the error says exactly what went wrong and who must act.

Start with "wasmagent demo" in a clone of the repository.`,
		Args:              a.noSuchCommand,
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: a.prepare,
		RunE:              func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	a.globalFlags(root)
	root.AddCommand(a.demoCommand(), a.buildCommand(), a.listCommand(), a.inspectCommand(),
		a.checkCommand(), a.callCommand(), a.runCommand(), a.chatCommand(), a.sessionsCommand(),
		a.mcpCommand(), a.configCommand(), a.adoptCommand(), a.allowCommand(), a.revokeCommand(), a.lockCommand(),
		a.ledgerCommand(), a.versionCommand())
	return root
}

func (a *app) globalFlags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.SortFlags = false
	f.StringArrayVarP(&a.dirs, "plugins", "p", nil,
		"a plugin `directory`, repeatable (else $"+envPlugins+", ./plugins, the data directory)")
	f.StringVar(&a.configFile, "config", "",
		"the user's `file` with policy and settings (else "+configShort+" in the "+
			"configuration directory)")
	f.StringVarP(&a.form, "output", "o", "text", "`form` of results: text, json or jsonl")
	f.DurationVar(&a.timeout, "timeout", 0, "end the command after this `duration`, such as 5s")
	f.StringVar(&a.logLevel, "log-level", "warn", "`level` of the log: debug, info, warn or error")
	f.StringVar(&a.logFormat, "log-format", "text", "`form` of the log on stderr: text or json")
	f.BoolVar(&a.noColor, "no-color", false, "no colour, as with $NO_COLOR")
	for name, words := range map[string][]string{
		"output": forms, "log-level": logLevels, "log-format": logFormats,
	} {
		complete := cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
		if err := root.RegisterFlagCompletionFunc(name, complete); err != nil {
			panic(err) // a flag that is not there
		}
	}
}

// noSuchCommand refuses what is no command.
func (a *app) noSuchCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range root.Commands() {
		names = append(names, c.Name())
	}
	return &usageError{
		text: fmt.Sprintf("no command %q", args[0]),
		hint: nearHint(args[0], names, fmt.Sprintf("%q shows the commands", root.CommandPath()+" --help")),
	}
}

// takes checks the number of a command's arguments, which words name.
func takes(least, most int, words string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && len(args) <= most {
			return nil
		}
		return &usageError{text: fmt.Sprintf("%s takes %s, not %s",
			cmd.CommandPath(), words, count(len(args), "argument"))}
	}
}

// prepare checks the global flags and readies the log and the deadline. It runs when the arguments
// have been found good, before every command.
func (a *app) prepare(c *cobra.Command, _ []string) error {
	for _, flag := range []struct {
		name, value string
		words       []string
	}{
		{"output", a.form, forms},
		{"log-level", a.logLevel, logLevels},
		{"log-format", a.logFormat, logFormats},
	} {
		if !slices.Contains(flag.words, flag.value) {
			return fmt.Errorf("--%s is one of %s, not %q",
				flag.name, strings.Join(flag.words, ", "), flag.value)
		}
	}
	if a.timeout < 0 {
		return fmt.Errorf("--timeout is a positive duration, not %v", a.timeout)
	}
	a.ctx = c.Context()
	if a.timeout > 0 {
		ctx, cancel := context.WithTimeoutCause(a.ctx, a.timeout, errTimeout)
		a.onEnd(cancel)
		a.ctx = ctx
		c.SetContext(ctx)
	}
	a.status = &statusLine{w: a.err}
	a.log = newLogger(a.status, a.logLevel, a.logFormat)
	a.started = true
	return nil
}

// newLogger makes the log. level and format have been checked.
func newLogger(w io.Writer, level, format string) *slog.Logger {
	opts := &slog.HandlerOptions{}
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		panic(err)
	}
	opts.Level = l
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}

// closeGrace is how long a command that was ended early goes on tidying up. A compile cannot be
// stopped, and nobody waits for it.
const closeGrace = time.Second

// onEnd has f called when the command ends.
func (a *app) onEnd(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.atEnd = append(a.atEnd, f)
}

// close gives back what the command opened, the last thing first.
func (a *app) close() {
	early := a.ctx != nil && a.ctx.Err() != nil
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.mu.Lock()
		list := a.atEnd
		a.mu.Unlock()
		for _, f := range slices.Backward(list) {
			f()
		}
	}()
	if !early {
		<-done
		return
	}
	select {
	case <-done:
	case <-time.After(closeGrace):
	}
}

// isTerminal tells whether w is a terminal that a person looks at.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// colour tells whether w is to be written in colour.
func (a *app) colour(w io.Writer) bool {
	return !a.noColor && os.Getenv("NO_COLOR") == "" && isTerminal(w)
}
