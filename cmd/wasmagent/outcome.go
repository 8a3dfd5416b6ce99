package main

import (
	"fmt"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// outcome is how a run ended: what -o json prints, and with jsonl the last line.
type outcome struct {
	Event   message.EventKind `json:"event,omitempty"` // of a line: ended
	Answer  string            `json:"answer,omitempty"`
	End     message.End       `json:"end"`            // or error
	Why     string            `json:"text,omitempty"` // why it has stopped
	Usage   message.Usage     `json:"usage"`
	Dollars float64           `json:"dollars,omitempty"`
	Turns   int               `json:"turns"`
	Calls   int               `json:"calls"`
	Model   string            `json:"model"`
	Session string            `json:"session,omitempty"`
	Hint    string            `json:"hint,omitempty"`
	Error   *problem          `json:"error,omitempty"`
}

// endedBadly is the End of a run that an error ended.
const endedBadly message.End = "error"

// printOutcome prints how a run ended, and gives the error that the command ends with.
func (g *agent) printOutcome(o outcome, err error) error {
	a := g.app
	if a.form == "text" {
		return g.printOutcomeText(o, err)
	}
	if a.form == "jsonl" {
		o.Event = message.Ended
	}
	switch stopped := isStopped(err); {
	case stopped:
		o.Hint = a.problemOf(err).Hint
	case err != nil:
		p := a.problemOf(err)
		o.End, o.Error = endedBadly, &p
	}
	if werr := writeJSON(a.out, a.form, o); werr != nil {
		return werr
	}
	if err != nil {
		return &reported{err}
	}
	return nil
}

func (g *agent) printOutcomeText(o outcome, err error) error {
	a := g.app
	if o.End == message.EndAnswer && !g.heard.stream { // err may be of what it left at work
		if werr := printLine(a.out, o.Answer); err == nil {
			err = werr
		}
	}
	if o.Turns > 0 {
		text := fmt.Sprintf("%s: %s, %s, %s", o.Model, count(o.Turns, "turn"), count(o.Calls, "call"),
			count(int(o.Usage.Input+o.Usage.Output), "token"))
		if o.Dollars > 0 {
			text += fmt.Sprintf(", $%.4f", o.Dollars)
		}
		if o.Session != "" {
			text += ", session " + o.Session
		}
		fmt.Fprintln(a.err, a.paint(a.err).dim(oneLine(text)))
	}
	return err
}
