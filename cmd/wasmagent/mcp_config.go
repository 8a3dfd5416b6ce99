package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/wasmagent/wasmagent/cmd/wasmagent/internal/clients"
	"github.com/wasmagent/wasmagent/mcpserver"
)

// clientFlags are the flags of what is about a client's settings.
type clientFlags struct {
	shown   shownFlags
	name    string
	project bool

	replace, dryRun bool     // of install
	log             []string // flags about the log that were given, which the server gets too
}

// clientJSON is what belongs, or was put, into a client's file.
type clientJSON struct {
	Client  string      `json:"client"`
	Name    string      `json:"name"`
	File    string      `json:"file"`
	Format  string      `json:"format"` // json or toml
	Snippet string      `json:"snippet"`
	Wants   []string    `json:"variables,omitempty"` // what the client has to give the server
	Did     clients.Did `json:"did,omitempty"`
	Backup  string      `json:"backup,omitempty"`
	DryRun  bool        `json:"dry_run,omitempty"`
}

func (a *app) mcpConfigCommand() *cobra.Command {
	var flags clientFlags
	cmd := &cobra.Command{
		Use:   "config CLIENT",
		Short: "Print what a client's settings need to start the server",
		Long: `Print what belongs into a client's settings to have it start this program as an MCP server,
ready to be pasted: with the full path of this program and of the plugin directories. The file
that it belongs into is told on stderr, and so are the variables that the policy takes secrets
from: the client has to have them, since the snippet has only their names.

Clients: ` + strings.Join(clients.Names(), ", ") + `.`,
		Example: `  wasmagent mcp config claude-desktop -p ./plugins
  wasmagent mcp config codex -p ./plugins --discover`,
		Args:              takes(1, 1, "one client: "+strings.Join(clients.Names(), ", ")),
		ValidArgsFunction: cobra.FixedCompletions(clients.Names(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			flags.log = logFlags(cmd.Flags())
			c, j, entry, err := a.clientEntry(args[0], &flags)
			if err != nil {
				return err
			}
			if isFleeting(entry.Command) {
				a.log.Warn("this program is one of go run's, and will be gone: install it first", "file",
					entry.Command)
			}
			if a.form != "text" {
				a.tellVariables(c, j)
				return writeJSON(a.out, a.form, j)
			}
			fmt.Fprintf(a.err, "for %s, in %s:\n", c.Title, visible(j.File))
			if _, err := fmt.Fprint(a.out, j.Snippet); err != nil {
				return err
			}
			a.tellVariables(c, j)
			return nil
		},
	}
	a.clientFlags(cmd, &flags)
	return cmd
}

func (a *app) mcpInstallCommand() *cobra.Command {
	var flags clientFlags
	cmd := &cobra.Command{
		Use:   "install CLIENT",
		Short: "Have a client start the server",
		Long: `Write into a client's settings that it is to start this program as an MCP server, with these
plugin directories. The rest of the file stays as it is, with what was added to the entry by
hand, and a copy of what it was lies beside it. A file that cannot be edited safely is left
alone, and what belongs into it is printed.

Clients: ` + strings.Join(clients.Names(), ", ") + `.`,
		Example: `  wasmagent mcp install cursor -p ./plugins
  wasmagent mcp install vscode -p ./plugins --project
  wasmagent mcp install codex -p ./plugins --dry-run`,
		Args:              takes(1, 1, "one client: "+strings.Join(clients.Names(), ", ")),
		ValidArgsFunction: cobra.FixedCompletions(clients.Names(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			flags.log = logFlags(cmd.Flags())
			return a.install(args[0], &flags)
		},
	}
	a.clientFlags(cmd, &flags)
	f := cmd.Flags()
	f.BoolVar(&flags.replace, "replace", false, "replace another server of the same name; what was added to one like this stays")
	f.BoolVar(&flags.dryRun, "dry-run", false, "say what would be done, and do nothing")
	return cmd
}

func (a *app) clientFlags(cmd *cobra.Command, flags *clientFlags) {
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&flags.name, "name", "wasmagent", "the server's `name` in the client")
	f.BoolVar(&flags.project, "project", false,
		"the settings of the project in the working directory, not the user's")
	flags.shown.add(f)
	a.ledgerFlag(f, "the `file` of the ledger that records calls with a key")
}

// logFlags are the flags about the log that were given.
func logFlags(f *pflag.FlagSet) []string {
	var given []string
	for _, name := range []string{"log-level", "log-format"} {
		if f.Changed(name) {
			given = append(given, "--"+name, f.Lookup(name).Value.String())
		}
	}
	return given
}

func (a *app) install(name string, flags *clientFlags) error {
	c, j, entry, err := a.clientEntry(name, flags)
	if err != nil {
		return err
	}
	if isFleeting(entry.Command) && !flags.dryRun {
		return &hinted{fmt.Errorf("%s is a program of go run's, and will be gone when the client starts "+
			"it", entry.Command), "make one that stays with go install or go build, and run that"}
	}
	opts := &clients.Options{Replace: flags.replace, DryRun: flags.dryRun}
	if flags.project {
		if opts.Within, err = os.Getwd(); err != nil {
			return err
		}
	}
	change, err := c.Install(j.File, entry, opts)
	if err != nil {
		return installError(err, j.Snippet)
	}
	j.File, j.Did, j.Backup, j.DryRun = change.File, change.Did, change.Backup, flags.dryRun
	j.Snippet = cmp.Or(change.Entry, j.Snippet)
	if change.Did != clients.Unchanged {
		defer a.tellVariables(c, j)
	}
	if a.form != "text" {
		return writeJSON(a.out, a.form, j)
	}
	fmt.Fprintln(a.out, visible(j.told()))
	switch {
	case flags.dryRun:
		fmt.Fprint(a.out, j.Snippet)
	case change.Did != clients.Unchanged:
		fmt.Fprintf(a.err, "%s sees it when it is started again\n", c.Title)
	}
	if flags.project && change.Did == clients.Added {
		fmt.Fprintln(a.err, "do not commit this entry: it has the paths of this machine")
	}
	return nil
}

// tellVariables warns of what the server needs and the entry does not have. What is there now, and
// that the client passes on, it can have.
func (a *app) tellVariables(c *clients.Client, j *clientJSON) {
	wants := slices.DeleteFunc(slices.Clone(j.Wants), func(name string) bool {
		return c.Forwards() && os.Getenv(name) != ""
	})
	if len(wants) == 0 {
		return
	}
	names := visible(strings.Join(wants, ", "))
	if c.Forwards() {
		fmt.Fprintf(a.err, "warning: %s has to have these variables when it starts the server, since "+
			"the policy takes secrets from them: %s\n", c.Title, names)
		return
	}
	fmt.Fprintf(a.err, "warning: %s passes none of its variables on: write the values of %s into the "+
		"entry, or let the policy take these secrets from file: or cmd:\n", c.Title, names)
}

// told says in a line what was done.
func (j *clientJSON) told() string {
	if j.Did == clients.Unchanged {
		return fmt.Sprintf("%s has %s already, as it is to be", j.File, j.Name)
	}
	verb := string(j.Did)
	if j.DryRun {
		verb = map[clients.Did]string{
			clients.Added: "would be added", clients.Replaced: "would be replaced",
		}[j.Did]
	}
	text := fmt.Sprintf("%s: %s in %s", verb, j.Name, j.File)
	if j.Backup != "" {
		text += "; what it was is in " + j.Backup
	}
	return text
}

// installError tells what to do about a file that was left alone.
func installError(err error, snippet string) error {
	if _, refused := errors.AsType[*clients.RefusedError](err); !refused {
		return err
	}
	hint := "add it yourself:"
	if _, exists := errors.AsType[*clients.ExistsError](err); exists {
		hint = "--replace replaces it, and --name gives this one another name; it would have:"
	}
	return &hinted{fmt.Errorf("%w\n%s", err, strings.TrimSuffix(snippet, "\n")), hint}
}

// clientEntry makes the entry for a client.
func (a *app) clientEntry(name string, flags *clientFlags) (
	*clients.Client, *clientJSON, *clients.Entry, error) {
	fail := func(err error) (*clients.Client, *clientJSON, *clients.Entry, error) {
		return nil, nil, nil, err
	}
	c := clients.Find(name)
	if c == nil {
		return fail(&usageError{text: fmt.Sprintf("no client %q", name),
			hint: nearHint(name, clients.Names(), "there are "+strings.Join(clients.Names(), ", "))})
	}
	if err := clients.CheckName(flags.name); err != nil {
		return fail(&usageError{text: "--name: " + err.Error()})
	}
	if err := flags.shown.check(); err != nil {
		return fail(err)
	}
	entry, err := a.serverEntry(flags)
	if err != nil {
		return fail(err)
	}
	m, err := thisMachine()
	if err != nil {
		return fail(err)
	}
	file, err := c.File(m, flags.project)
	if err != nil {
		return fail(&usageError{text: err.Error(), hint: "leave --project out"})
	}
	return c, &clientJSON{Client: c.Name, Name: entry.Name, File: file, Format: c.Format,
		Snippet: c.Snippet(entry), Wants: entry.Variables}, entry, nil
}

func thisMachine() (*clients.Machine, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	return &clients.Machine{OS: runtime.GOOS, Home: home, Dir: dir, Getenv: os.Getenv}, nil
}

// serverEntry is the command line of a server like this, wherever it is started.
func (a *app) serverEntry(flags *clientFlags) (*clients.Entry, error) {
	self, err := thisProgram(os.Args[0])
	if err != nil {
		return nil, err
	}
	e := &clients.Entry{Name: flags.name, Command: self, Args: []string{mcpVerb}, Env: xdgSettings(),
		Flags: map[string]bool{"-p": true, "--plugins": true, "--config": true, "--ledger": true,
			"--discover": false, "--direct-tools": true, "--watch": false}}
	dirs, from, err := a.pluginDirs()
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("plugin directory %s: there is no such directory%s", dir, from)
		}
		e.Args = append(e.Args, "-p", dir)
	}
	if a.configFile != "" {
		if _, err := os.Stat(a.configFile); err != nil {
			return nil, fmt.Errorf("--config: %w", err)
		}
		e.Args = append(e.Args, "--config", a.configFile)
	}
	if a.ledgerFile != "" { // it is made when it is needed
		e.Args = append(e.Args, "--ledger", a.ledgerFile)
	}
	if e.Variables, err = a.wantedVariables(dirs); err != nil {
		return nil, err
	}
	for i := 2; i < len(e.Args); i += 2 {
		if e.Args[i], err = filepath.Abs(e.Args[i]); err != nil {
			return nil, err
		}
	}
	if flags.shown.discover {
		e.Args = append(e.Args, "--discover")
	} else if flags.shown.direct != mcpserver.DefaultDirectTools {
		e.Args = append(e.Args, "--direct-tools", strconv.Itoa(flags.shown.direct))
	}
	if !flags.shown.watch {
		e.Args = append(e.Args, "--watch=false")
	}
	for i := 0; i < len(flags.log); i += 2 {
		e.Flags[flags.log[i]] = true
	}
	e.Args = append(e.Args, flags.log...)
	return e, nil
}

// thisProgram is the file of this program: the one on the PATH by which it was called if that leads to
// it, since a link there outlives a version, else the file itself.
func thisProgram(called string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	path, err := exec.LookPath(filepath.Base(called))
	if err != nil || !filepath.IsAbs(path) {
		return self, nil
	}
	onPath, err := os.Stat(path)
	if err != nil {
		return self, nil
	}
	if own, err := os.Stat(self); err == nil && os.SameFile(onPath, own) {
		return path, nil
	}
	return self, nil
}

// isFleeting tells whether a program is one that go run has built, which will be gone.
func isFleeting(program string) bool {
	return strings.Contains(program, string(filepath.Separator)+"go-build")
}

// wantedVariables are those that the policy takes secrets from for what a server of these directories
// offers. A client may start it with none of them.
func (a *app) wantedVariables(dirs []string) ([]string, error) {
	operator, err := a.operator()
	if err != nil {
		return nil, err
	}
	return operator.Variables(func(plugin string) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool {
			_, noFile := os.Stat(filepath.Join(dir, plugin+".wasm"))
			_, noFolder := os.Stat(filepath.Join(dir, plugin, "plugin.wasm"))
			return noFile == nil || noFolder == nil
		})
	}), nil
}

// xdgSettings are the variables that say where policy, state, cache and plugins are. A client may
// start its servers without them.
func xdgSettings() map[string]string {
	set := map[string]string{}
	for _, name := range []string{
		"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME",
	} {
		if dir := os.Getenv(name); dir != "" {
			set[name] = dir
		}
	}
	return set
}
