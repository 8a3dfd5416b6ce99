package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/reduce"
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
	var full bool
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show the messages of a session",
		Long: `Show what was said in a session, with every call and its result, also while it is being
written. With -o jsonl each message is a line, after one about the session.

What was reduced for the model is shown as the model saw it last, with the ids; --full shows
everything as it is recorded.`,
		Args:              takes(1, 1, "one session"),
		ValidArgsFunction: a.completeSessions,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.aSession(args[0], func(dir *session.Dir) error {
				t, err := a.readSession(dir, args[0])
				if err != nil {
					return err
				}
				items, log := whole(t.Messages), reduce.Log(nil)
				if !full {
					items, log = a.shownOf(dir, args[0], t.Messages)
				}
				return a.printTranscript(transcriptJSON{Session: args[0], Header: t.Header,
					Reductions: log}, items)
			})
		},
	}
	cmd.Flags().BoolVar(&full, "full", false, "show what was reduced for the model as it is recorded")
	return cmd
}

// readSession reads a session, and tells what was left out or put right.
func (a *app) readSession(dir *session.Dir, name string) (*session.Transcript, error) {
	t, err := dir.Read(name)
	if err != nil {
		return nil, err
	}
	for _, w := range t.Warnings {
		a.warn(w)
	}
	return t, nil
}

// warn tells a warning of a command that has no events.
func (a *app) warn(text string) {
	fmt.Fprintf(a.err, "%s %s\n", a.paint(a.err).yellow("warning:"), oneLine(text))
}

// transcriptJSON is a session and its messages, which are those of the view when there are
// reductions.
type transcriptJSON struct {
	Session    string            `json:"session"`
	Header     session.Header    `json:"header"`
	Reductions reduce.Log        `json:"reductions,omitempty"`
	Messages   []message.Message `json:"messages,omitzero"`
}

func (a *app) printTranscript(all transcriptJSON, items []reduce.Item) error {
	switch a.form {
	case "json":
		all.Messages = []message.Message{}
		for i := range items {
			all.Messages = append(all.Messages, items[i].Message)
		}
		return writeJSON(a.out, a.form, all)
	case "jsonl":
		if err := writeJSON(a.out, a.form, all); err != nil {
			return err
		}
		for i := range items {
			if err := writeJSON(a.out, a.form, &items[i].Message); err != nil {
				return err
			}
		}
		return nil
	}
	var b strings.Builder
	for i := range items {
		a.writeItem(&b, &items[i])
	}
	_, err := io.WriteString(a.out, b.String())
	return err
}

// writeItem writes a message for people: a line that says whose it is and what of it is reduced,
// then what was said, indented, so that no text passes for such a line.
func (a *app) writeItem(w io.Writer, i *reduce.Item) {
	m := &i.Message
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
	number := fmt.Sprintf("#%d", i.From+1)
	if len(i.Records) == 1 && i.Records[0].Kind == reduce.Turns {
		number, who = fmt.Sprintf("#%d to #%d", i.From+1, i.To), "turns"
	}
	paint := a.paint(a.out)
	fmt.Fprintf(w, "%s", paint.bold(oneLine(number+" "+who)))
	for _, r := range i.Records {
		fmt.Fprintf(w, " %s", paint.yellow("(reduced: "+r.ID+")"))
	}
	fmt.Fprintln(w)
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
