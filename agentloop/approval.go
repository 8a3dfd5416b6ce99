package agentloop

import (
	"context"
	"errors"
	"fmt"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/agentloop/message"
)

// Mode says which calls a person is asked about.
type Mode string

const (
	OnRequest Mode = "on_request" // those of tools that do more than read; the default
	Untrusted Mode = "untrusted"  // every call
	Never     Mode = "never"      // none
)

// Approval decides whether a call may run. Its zero value lets tools run that only read, and denies
// all others.
type Approval struct {
	Mode Mode // "": OnRequest

	// Rule is the operator's word on a call; nil: there is none. Deny and AskFirst hold in every
	// mode. Allow spares the question, but for Untrusted.
	Rule func(Question) Verdict

	// Ask asks a person. Calls are asked about one at a time, those of jobs and of subagents in the
	// background from other goroutines than Run's. Nil: what would be asked is denied. An error ends the run.
	Ask func(ctx context.Context, q Question) (Answer, error)

	// Subject is what an answer for the session is about, beside the tool; nil: the very arguments.
	// A Subject that is always "" makes such an answer hold for all calls of the tool.
	Subject func(call message.Call) string
}

// Question is a call that somebody must decide on, with the arguments that it would run with.
type Question struct {
	Call    message.Call
	Tool    abi.ToolSpec
	Subject string
	Agent   string // the ID of the subagent whose call it is; "": the top agent's
}

// Verdict is what a rule says of a call.
type Verdict uint8

const (
	NoRule Verdict = iota
	Allow
	AskFirst
	Deny
)

// Answer is what a person says of a call.
type Answer uint8

const (
	AnswerDeny         Answer = iota
	AnswerAllow               // this call
	AnswerAllowSession        // and all later ones of the tool with the same subject
)

// grant is an answer that holds for the session.
type grant struct{ tool, subject string }

func (a *Approval) check() error {
	switch a.Mode {
	case "", OnRequest, Untrusted, Never:
		return nil
	}
	return fmt.Errorf("there is no approval mode %q; want %s, %s or %s", a.Mode, OnRequest, Untrusted,
		Never)
}

// permit decides on a call that is ready to run.
func (l *Loop) permit(ctx context.Context, c *call) error {
	a := &l.Approval
	q := Question{Call: c.Call, Tool: c.tool.ToolSpec, Subject: c.Arguments, Agent: l.tree.agent}
	if a.Subject != nil {
		q.Subject = a.Subject(c.Call)
	}
	verdict := NoRule
	if a.Rule != nil {
		verdict = a.Rule(q)
	}
	reads := c.tool.Effect == abi.EffectRead
	switch {
	case verdict == Deny:
		return &DeniedError{c.Name, "a rule of the operator's forbids it"}
	case verdict == AskFirst:
	case a.Mode == Never, c.tool.own: // what it leads to is asked about by itself
		return nil
	case a.Mode != Untrusted && (verdict == Allow || reads):
		return nil
	}
	return l.askPerson(ctx, q)
}

// askPerson puts a question, unless it has been answered for the session.
func (l *Loop) askPerson(ctx context.Context, q Question) error {
	session := grant{q.Call.Name, q.Subject}
	f := l.tree.family
	if f.mayRun(session) {
		return nil
	}
	if l.Approval.Ask == nil {
		return &DeniedError{q.Call.Name, "it needs somebody's approval, and nobody can be asked"}
	}
	select {
	case f.asking <- struct{}{}:
		defer func() { <-f.asking }()
	case <-ctx.Done():
		return stopped(ctx)
	}
	if f.mayRun(session) { // while this question waited
		return nil
	}
	answer, err := l.Approval.Ask(ctx, q)
	switch {
	case err == errNobody:
		return &DeniedError{q.Call.Name, "it needs somebody's approval, and nobody is there to ask now"}
	case err != nil:
		return hookError(ctx, "approval", err)
	case answer == AnswerAllowSession:
		f.grant(session)
		return nil
	case answer == AnswerAllow:
		return nil
	}
	return &DeniedError{q.Call.Name, "the user does not want it"}
}

// hookError is the error of a hook that was called for a run.
func hookError(ctx context.Context, where string, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return stopped(ctx)
	}
	return &OtherError{where, err}
}
