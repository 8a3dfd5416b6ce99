package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/reduce"
	"github.com/wasmagent/wasmagent/agentloop/session"
)

// sessionVerifyJSON tells whether all that a model was shown less of a session can be undone.
type sessionVerifyJSON struct {
	Session    string          `json:"session"`
	Intact     bool            `json:"intact"`
	Messages   int             `json:"messages"`
	Reductions []reductionJSON `json:"reductions"`
	Error      *problem        `json:"error,omitempty"` // the first
}

// reductionJSON is one reduction.
type reductionJSON struct {
	ID      string      `json:"id"`
	Kind    reduce.Kind `json:"kind"`
	Message int         `json:"message"`         // its number, from 1; of several, the first one's
	Bytes   int         `json:"bytes,omitempty"` // of the original
	Error   string      `json:"error,omitempty"`
}

func (a *app) sessionsVerifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify NAME",
		Short: "Tell whether all that was reduced for the model can be undone",
		Long: `Check a session, and all in it that was reduced for the model: each original is held
against the SHA-256 that was taken when it was reduced, and the whole session is made again
of what the model was shown. Each reduction that cannot be undone is named, and the exit code is 1.`,
		Args:              takes(1, 1, "one session"),
		ValidArgsFunction: a.completeSessions,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.aSession(args[0], func(dir *session.Dir) error {
				return a.verifySession(dir, args[0])
			})
		},
	}
}

func (a *app) verifySession(dir *session.Dir, name string) error {
	t, err := a.readSession(dir, name)
	if err != nil {
		return err
	}
	log, err := reductionsOf(dir, name)
	if err != nil {
		return err
	}
	v := sessionVerifyJSON{Session: name, Messages: len(t.Messages), Reductions: []reductionJSON{}}
	var fault error
	for _, r := range log {
		text, err := reduce.InvertOne(t.Messages, log, r.ID)
		each := reductionJSON{r.ID, r.Kind, r.Pointer.Message + 1, len(text), ""}
		if err != nil {
			each.Error = err.Error()
			if fault == nil {
				fault = err
			}
		}
		v.Reductions = append(v.Reductions, each)
	}
	if fault == nil {
		fault = undo(t.Messages, log)
	}
	v.Intact = fault == nil
	if a.form == "text" {
		if err := v.print(a.out, a.paint(a.out)); err != nil {
			return err
		}
		return fault
	}
	if fault != nil {
		fault = a.sessionError(name, fault)
		p := a.problemOf(fault)
		v.Error, fault = &p, &reported{fault}
	}
	if err := writeJSON(a.out, a.form, v); err != nil {
		return err
	}
	return fault
}

// undo makes a view and the whole of it again.
func undo(list []message.Message, log reduce.Log) error {
	items, err := reduce.View(list, log)
	if err != nil {
		return err
	}
	view := make([]message.Message, len(items))
	for i := range items {
		view[i] = items[i].Message
	}
	_, err = reduce.Invert(view, log, list)
	return err
}

func (v *sessionVerifyJSON) print(w io.Writer, c palette) error {
	for _, r := range v.Reductions {
		if r.Error != "" {
			fmt.Fprintf(w, "%s %s\n", c.red("broken:"), oneLine(r.Error))
		}
	}
	verdict := c.green("intact")
	if !v.Intact {
		verdict = c.red("not intact")
	}
	_, err := fmt.Fprintf(w, "%s: %s, %s, %s\n", v.Session, verdict, count(v.Messages, "message"),
		count(len(v.Reductions), "reduction"))
	return err
}
