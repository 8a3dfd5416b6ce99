package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/wasmagent/wasmagent/agentloop/interchange"
	"github.com/wasmagent/wasmagent/agentloop/reduce"
	"github.com/wasmagent/wasmagent/agentloop/session"
)

func (a *app) sessionsExportCommand() *cobra.Command {
	var format, file string
	cmd := &cobra.Command{
		Use:   "export NAME",
		Short: "Write a session as a file that Claude Code or Codex resumes",
		Long: `Write a session as a file of Claude Code's or Codex's, to stdout or to a new file. All of
it is written, whatever a model was last shown of it. A session that was imported from the same
agent is written with the very lines that it came with, and new ones for what was said since.

The other agent finds it where its own files are:
  claude-code   ~/.claude/projects/FOLDER/ID.jsonl, then "claude --resume ID"; FOLDER is the working
                directory with - for whatever is no letter or digit
  codex         ~/.codex/sessions/YYYY/MM/DD/rollout-YYYY-MM-DDThh-mm-ss-ID.jsonl, then
                "codex resume ID"`,
		Example:           `  wasmagent sessions export trip --format codex -f trip.jsonl`,
		Args:              takes(1, 1, "one session"),
		ValidArgsFunction: a.completeSessions,
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := formatOf(format)
			if err == nil && f == "" {
				err = &usageError{text: "--format says for whom: claude-code or codex"}
			}
			if err != nil {
				return err
			}
			return a.aSession(args[0], func(dir *session.Dir) error {
				return a.exportSession(dir, args[0], f, file)
			})
		},
	}
	a.formatFlag(cmd, &format, "for whom: claude-code or codex")
	cmd.Flags().StringVarP(&file, "file", "f", "", "write to a `file`, which must not be there yet")
	return cmd
}

func (a *app) exportSession(dir *session.Dir, name string, f interchange.Format,
	file string) error {
	t, err := dir.Read(name)
	if err != nil {
		return err
	}
	for _, w := range t.Warnings {
		fmt.Fprintf(a.err, "%s %s\n", a.paint(a.err).yellow("warning:"), oneLine(w))
	}
	// The record holds no stubs: one that was edited, or stored by another program, might.
	log, err := reductionsOf(dir, name)
	if err != nil { // the record is whole without it
		a.warn(fmt.Sprintf("%v; the session is exported as it is recorded", err))
	}
	if err := reduce.Leaks(t.Messages, log); err != nil {
		return err
	}
	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	var text bytes.Buffer
	c := &interchange.Conversation{ID: t.Header.ID, Created: t.Header.Created, CWD: cwd,
		Messages: t.Messages} // the record, and not a view of it
	if err := interchange.Write(&text, f, c); err != nil {
		return err
	}
	if file == "" {
		_, err := a.out.Write(text.Bytes())
		return err
	}
	if err := writeNew(file, text.Bytes()); err != nil {
		return err
	}
	return a.printSessionChange(sessionChange{Did: "exported", Session: name, To: file,
		Format: string(f), Messages: len(t.Messages)}, "exported %s: %s in %s", name,
		count(len(t.Messages), "message"), visible(file))
}

// writeNew writes a file that is not there yet: all of it, or none.
func writeNew(file string, text []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return &usageError{text: fmt.Sprintf("there is a file %s already", file)}
	} else if errors.Is(err, fs.ErrNotExist) {
		return &usageError{text: fmt.Sprintf("there is no folder %s to write to", filepath.Dir(file))}
	} else if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(file))
	}
	return nil
}
