package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/session"
	"github.com/wasmagent/wasmagent/config"
)

func (a *app) sessionsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List, show, check, fork, put away, import and export recorded conversations",
		Long: `Look at the conversations that "run" and "chat" have recorded with --session, and manage
them. "wasmagent run --resume NAME" and "wasmagent chat --resume NAME" go on with one.
They are files; docs/sessions.md tells what is in them.`,
		Args: a.noSuchCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	cmd.AddCommand(a.sessionsListCommand(), a.sessionsShowCommand(), a.sessionsVerifyCommand(),
		a.sessionsForkCommand(), a.sessionsArchiveCommand(), a.sessionsImportCommand(),
		a.sessionsExportCommand())
	return cmd
}

// sessionDir opens the folder of sessions, and makes it if need be. It closes with the command.
func (a *app) sessionDir(cfg *config.Config) (*session.Dir, error) {
	dir, err := session.OpenDir(cfg.Core.Sessions, nil)
	if err != nil {
		return nil, err
	}
	a.closeAtEnd("sessions", dir.Close)
	return dir, nil
}

// sessionsThatAre opens the folder of sessions to look at it. Where there is none, it is nil: there
// are no sessions.
func (a *app) sessionsThatAre() (dir *session.Dir, folder string, err error) {
	cfg, err := a.configuration(nil)
	if err != nil {
		return nil, "", err
	}
	folder = cfg.Core.Sessions
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		return nil, folder, nil
	}
	dir, err = a.sessionDir(cfg)
	return dir, folder, err
}

// aSession opens the folder for a command about one session, and carries it out.
func (a *app) aSession(name string, do func(*session.Dir) error) error {
	dir, _, err := a.sessionsThatAre()
	if err != nil {
		return err
	}
	if dir == nil {
		return noSession(name, nil)
	}
	return a.sessionError(name, a.noSuchSession(dir, name, do(dir)))
}

// noSuchSession turns the file system's word that a session is not there into one that says what
// is. Other errors stay.
func (a *app) noSuchSession(dir *session.Dir, name string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return noSession(name, sessionNames(dir))
}

func noSession(name string, names []string) error {
	return &notFoundError{text: fmt.Sprintf("no session %q", name),
		hint: nearHint(name, names, `"wasmagent sessions list" shows the sessions`)}
}

func sessionNames(dir *session.Dir) (names []string) {
	list, err := dir.List()
	if err != nil {
		return nil // it only helps to suggest one
	}
	for _, i := range list {
		names = append(names, i.Name)
	}
	return names
}

// sessionError says what to do about an error of the session of this name.
func (a *app) sessionError(about string, err error) error {
	var name *session.NameError
	var at *session.RangeError
	var busy *session.BusyError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &name):
		return &usageError{text: err.Error(), hint: "such as trip-2"}
	case errors.As(err, &at):
		return &usageError{text: err.Error(), hint: "--at is a number of messages; " +
			`"wasmagent sessions show ` + about + `" numbers them`}
	case errors.Is(err, session.ErrArchived):
		return &usageError{text: err.Error(),
			hint: `"wasmagent sessions archive ` + about + ` --undo" takes it back`}
	case errors.As(err, &busy):
		return &hinted{err, "wait until that run has ended, or fork the session: " +
			"wasmagent sessions fork " + busy.Name}
	case agentloop.Code(err) == "reduction":
		return &hinted{err, `"wasmagent sessions show ` + about + ` --full" shows the session as it is ` +
			"recorded; a run that goes on with it reduces it anew"}
	}
	return err
}

// completeSessions completes the names of sessions.
func (a *app) completeSessions(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion,
	cobra.ShellCompDirective) {
	if len(args) > 0 || a.prepare(cmd, nil) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	dir, _, err := a.sessionsThatAre()
	if err != nil || dir == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return sessionNames(dir), cobra.ShellCompDirectiveNoFileComp
}

// sessionChange is what a command did to a session.
type sessionChange struct {
	Did      string `json:"did"` // forked, archived, restored, imported or exported
	Session  string `json:"session"`
	From     string `json:"from,omitempty"`
	To       string `json:"to,omitempty"`
	Format   string `json:"format,omitempty"` // of another agent's file
	Messages int    `json:"messages,omitempty"`
}

func (a *app) printSessionChange(c sessionChange, format string, args ...any) error {
	if a.form != "text" {
		return writeJSON(a.out, a.form, c)
	}
	_, err := fmt.Fprintf(a.out, format+"\n", args...)
	return err
}

func (a *app) sessionsForkCommand() *cobra.Command {
	var at int
	cmd := &cobra.Command{
		Use:   "fork NAME [NEW]",
		Short: "Begin a new session with the first messages of another",
		Long: `Begin a new session with the messages of another, or with the first of them. The other one
stays as it is. Without a name the new one is named by its ID.`,
		Example:           `  wasmagent sessions fork trip trip-2 --at 4`,
		Args:              takes(1, 2, "a session, and at most one name for the new one"),
		ValidArgsFunction: a.completeSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("at") && at < 1 {
				return &usageError{text: fmt.Sprintf("--at is a number of messages from 1, not %d", at)}
			}
			return a.forkSession(args[0], append(args, "")[1], at)
		},
	}
	cmd.Flags().IntVar(&at, "at", 0, "take the first messages only, this `number` of them")
	return cmd
}

func (a *app) forkSession(name, fork string, at int) error {
	return a.aSession(name, func(dir *session.Dir) error {
		s, err := dir.Fork(name, fork, at)
		if errors.Is(err, fs.ErrExist) {
			return &usageError{text: fmt.Sprintf("there is a session %q already", fork)}
		} else if err != nil {
			return err
		}
		c := sessionChange{Did: "forked", Session: s.Name(), From: name,
			Messages: s.Header().Parent.Messages}
		cut := ""
		if n := len(s.Messages()) - c.Messages; n > 0 {
			cut = ", and " + count(n, "call") + " of unknown outcome"
		}
		if err := s.Close(); err != nil {
			return err
		}
		return a.printSessionChange(c, "forked %s: session %s has %s of it%s", name, c.Session,
			count(c.Messages, "message"), cut)
	})
}

func (a *app) sessionsArchiveCommand() *cobra.Command {
	var undo bool
	cmd := &cobra.Command{
		Use:   "archive NAME",
		Short: "Put a session away, or take it back",
		Long: `Put a session away: lists leave it out, and it cannot be gone on with. Nothing of it is
lost; it can be shown and forked, and --undo takes it back.`,
		Args:              takes(1, 1, "one session"),
		ValidArgsFunction: a.completeSessions,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.aSession(args[0], func(dir *session.Dir) error {
				if err := dir.SetArchived(args[0], !undo); err != nil {
					return err
				}
				if undo {
					return a.printSessionChange(sessionChange{Did: "restored", Session: args[0]},
						"took session %s back", args[0])
				}
				return a.printSessionChange(sessionChange{Did: "archived", Session: args[0]},
					"put session %s away", args[0])
			})
		},
	}
	cmd.Flags().BoolVar(&undo, "undo", false, "take the session back")
	return cmd
}

func (a *app) sessionsListCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the sessions, the last written first",
		Long: `List the sessions, those that were written last first. Archived ones are left out, unless
--all is given.`,
		Args: takes(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error { return a.listSessions(all) },
	}
	cmd.Flags().BoolVar(&all, "all", false, "list archived sessions, too")
	return cmd
}

func (a *app) listSessions(all bool) error {
	dir, folder, err := a.sessionsThatAre()
	if err != nil {
		return err
	}
	var infos []session.Info
	if dir != nil {
		if infos, err = dir.List(); err != nil {
			return err
		}
	}
	list, away := []sessionJSON{}, 0
	underParents(infos)
	for i := range infos {
		if infos[i].Meta.Archived && !all {
			away++
			continue
		}
		list = append(list, a.newSessionJSON(&infos[i]))
	}
	return a.printSessions(folder, list, away)
}
