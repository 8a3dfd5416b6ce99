package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wasmagent/wasmagent/agentloop/interchange"
	"github.com/wasmagent/wasmagent/agentloop/session"
)

func (a *app) sessionsImportCommand() *cobra.Command {
	var name, format string
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Make a session of one of Claude Code's or Codex's",
		Long: `Make a session of a file of Claude Code's (~/.claude/projects/*/*.jsonl) or Codex's
(~/.codex/sessions/*/*/*/rollout-*.jsonl); - reads stdin. The file stays as it is. All of its lines
are kept, so that "wasmagent sessions export" gives the same file again. What is not part of the
conversation, such as other branches and subagents, is told of.

Without --as the session is named by its ID. Tools that it speaks of need not be there: what they
gave is in the session.`,
		Example: `  wasmagent sessions import ~/.codex/sessions/2026/05/01/rollout-….jsonl --as trip`,
		Args:    takes(1, 1, "one file"),
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := formatOf(format)
			if err != nil {
				return err
			}
			return a.sessionError(name, a.importSession(args[0], name, f))
		},
	}
	cmd.Flags().StringVar(&name, "as", "", "the `name` of the session; default: its ID")
	a.formatFlag(cmd, &format, "whose file it is: claude-code or codex; default: by what is in it")
	return cmd
}

func (a *app) formatFlag(cmd *cobra.Command, format *string, usage string) {
	cmd.Flags().StringVar(format, "format", "", usage)
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formatNames(),
		cobra.ShellCompDirectiveNoFileComp)) // it has the flag
}

func formatNames() (names []string) {
	for _, f := range interchange.Formats {
		names = append(names, string(f))
	}
	return names
}

// formatOf reads the flag --format; "" is no format.
func formatOf(name string) (interchange.Format, error) {
	for _, f := range interchange.Formats {
		if string(f) == name {
			return f, nil
		}
	}
	if name != "" {
		return "", &usageError{text: fmt.Sprintf("--format is %s, not %q",
			strings.Join(formatNames(), " or "), name)}
	}
	return "", nil
}

func (a *app) importSession(file, name string, f interchange.Format) error {
	in, err := a.readForeign(file, f)
	if err != nil {
		return err
	}
	cfg, err := a.configuration(nil)
	if err != nil {
		return err
	}
	dir, err := a.sessionDir(cfg)
	if err != nil {
		return err
	}
	s, err := dir.Import(name, string(in.Format), session.Meta{Title: in.Title}, in.Messages)
	if errors.Is(err, fs.ErrExist) {
		return &usageError{text: fmt.Sprintf("there is a session %q already", name),
			hint: "--as gives it another name"}
	} else if err != nil {
		return err
	}
	c := sessionChange{Did: "imported", Session: s.Name(), From: file, Format: string(in.Format),
		Messages: len(in.Messages)}
	if err := s.Close(); err != nil {
		return err
	}
	for _, n := range in.Notes {
		fmt.Fprintf(a.err, "%s %s (kept)\n", a.paint(a.err).dim("note:"), oneLine(n))
	}
	return a.printSessionChange(c, "imported %s: session %s has %s", visible(file), c.Session,
		count(c.Messages, "message"))
}

// readForeign reads another agent's file, or stdin.
func (a *app) readForeign(file string, f interchange.Format) (*interchange.Imported, error) {
	var in io.Reader = a.in
	if file != "-" {
		opened, err := os.Open(file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, &notFoundError{text: fmt.Sprintf("no file %s", file)}
		} else if err != nil {
			return nil, err
		}
		defer opened.Close()
		if info, err := opened.Stat(); err == nil && info.IsDir() {
			return nil, &usageError{text: file + " is a directory, not a session's file"}
		}
		in = opened
	}
	got, err := interchange.Read(in, f)
	if err != nil && file != "-" {
		err = fmt.Errorf("%s: %w", file, err)
	}
	return got, err
}
