package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/session"
)

// sessionJSON is a session in a list.
type sessionJSON struct {
	Name     string          `json:"name"`
	ID       string          `json:"id,omitempty"`
	Created  time.Time       `json:"created,omitzero"`
	Modified time.Time       `json:"modified,omitzero"`
	Title    string          `json:"title,omitempty"`
	Model    string          `json:"model,omitempty"`
	Archived bool            `json:"archived,omitempty"`
	Parent   *session.Parent `json:"parent,omitempty"`
	Bytes    int64           `json:"bytes"`
	Messages *int            `json:"messages,omitempty"` // where they were counted
	Calls    *int            `json:"calls,omitempty"`
	Usage    *message.Usage  `json:"usage,omitempty"`
	Error    *problem        `json:"error,omitempty"`
}

func (a *app) newSessionJSON(i *session.Info) sessionJSON {
	s := sessionJSON{Name: i.Name, ID: i.Header.ID, Created: i.Header.Created,
		Modified: i.Modified.UTC(), Title: i.Meta.Title, Model: i.Meta.Model,
		Archived: i.Meta.Archived, Parent: i.Header.Parent, Bytes: i.Bytes}
	if c := i.Meta.Counts; c != nil {
		s.Messages, s.Calls, s.Usage = &c.Messages, &c.Calls, &c.Usage
	}
	if i.Err != nil {
		p := a.problemOf(i.Err)
		s.Error = &p
	}
	return s
}

// maxTitle is how many characters of a title a list shows.
const maxTitle = 60

func (a *app) printSessions(folder string, list []sessionJSON, away int) error {
	switch a.form {
	case "json":
		return writeJSON(a.out, a.form, map[string]any{"folder": folder, "sessions": list})
	case "jsonl":
		for _, s := range list {
			if err := writeJSON(a.out, a.form, s); err != nil {
				return err
			}
		}
		return nil
	}
	rows := [][]string{{"SESSION", "LAST WRITTEN", "MESSAGES", "MODEL", "TITLE"}}
	for _, s := range list {
		messages := "?"
		if s.Messages != nil {
			messages = strconv.Itoa(*s.Messages)
		}
		title := cut(s.Title, maxTitle)
		if s.Archived {
			title = "(archived) " + title
		}
		if s.Error != nil {
			title = "(" + s.Error.Message + ")"
		}
		rows = append(rows, []string{s.listed(), stamp(s.Modified), messages, s.Model, title})
	}
	if len(list) == 0 {
		fmt.Fprintf(a.err, "no sessions in %s\n", folder)
	} else if err := writeRows(a.out, rows); err != nil {
		return err
	}
	if away > 0 {
		fmt.Fprintf(a.err, "%s archived; --all lists them, too\n", count(away, "session"))
	}
	return nil
}

func (a *app) sessionsShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Show the messages of a session",
		Long: `Show what was said in a session, with every call and its result, also while it is being
written. With -o jsonl each message is a line, after one about the session.`,
		Args:              takes(1, 1, "one session"),
		ValidArgsFunction: a.completeSessions,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.aSession(args[0], func(dir *session.Dir) error {
				t, err := dir.Read(args[0])
				if err != nil {
					return err
				}
				for _, w := range t.Warnings {
					fmt.Fprintf(a.err, "%s %s\n", a.paint(a.err).yellow("warning:"), oneLine(w))
				}
				return a.printTranscript(args[0], t)
			})
		},
	}
}

// transcriptJSON is a session and all of its messages.
type transcriptJSON struct {
	Session  string            `json:"session"`
	Header   session.Header    `json:"header"`
	Messages []message.Message `json:"messages,omitzero"`
}

func (a *app) printTranscript(name string, t *session.Transcript) error {
	all := transcriptJSON{name, t.Header, t.Messages}
	switch a.form {
	case "json":
		if all.Messages == nil {
			all.Messages = []message.Message{}
		}
		return writeJSON(a.out, a.form, all)
	case "jsonl":
		all.Messages = nil
		if err := writeJSON(a.out, a.form, all); err != nil {
			return err
		}
		for i := range t.Messages {
			if err := writeJSON(a.out, a.form, &t.Messages[i]); err != nil {
				return err
			}
		}
		return nil
	}
	var b strings.Builder
	for i := range t.Messages {
		a.writeMessage(&b, i+1, &t.Messages[i])
	}
	_, err := io.WriteString(a.out, b.String())
	return err
}

// writeMessage writes a message for people: a line that says whose it is, then what was said,
// indented, so that no text passes for such a line.
func (a *app) writeMessage(w io.Writer, n int, m *message.Message) {
	who := string(m.Role)
	if m.Model != "" {
		who += " (" + m.Model + ")"
	}
	if r := m.Result; r != nil {
		who = fmt.Sprintf("result of %s: %s", r.Name, r.Outcome)
		if r.Code != "" {
			who += fmt.Sprintf(" (%s)", strings.TrimSuffix(r.Code+", "+r.Cause, ", "))
		}
	}
	paint := a.paint(a.out)
	fmt.Fprintf(w, "%s\n", paint.bold(oneLine(fmt.Sprintf("#%d %s", n, who))))
	for _, r := range m.Reasoning {
		if r.Text != "" {
			fmt.Fprintf(w, "%s\n", paint.dim(indented("(thinking) "+r.Text)))
		}
	}
	if m.Text != "" {
		fmt.Fprintf(w, "%s\n", indented(m.Text))
	}
	for _, c := range m.Calls {
		fmt.Fprintf(w, "%s\n", indented(fmt.Sprintf("call %s %s", lineBreaks.Replace(c.Name),
			onOneLine(c.Arguments))))
	}
	if m.Result != nil {
		fmt.Fprintf(w, "%s\n", indented(m.Result.Text))
	}
}

func indented(text string) string {
	text = strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	return "  " + strings.ReplaceAll(visible(text), "\n", "\n  ")
}
