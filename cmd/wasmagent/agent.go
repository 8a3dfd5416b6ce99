package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/provider"
	"github.com/wasmagent/wasmagent/agentloop/provider/anthropic"
	"github.com/wasmagent/wasmagent/agentloop/provider/openai"
	"github.com/wasmagent/wasmagent/agentloop/provider/script"
	"github.com/wasmagent/wasmagent/agentloop/session"
	"github.com/wasmagent/wasmagent/agentloop/tokens"
	"github.com/wasmagent/wasmagent/config"
)

// agent is a model with its tools, and the session of their conversation if there is one.
type agent struct {
	app     *app
	loop    *agentloop.Loop
	heard   *teller
	session *session.Session // nil: the conversation is not recorded
	name    string           // the model's; script:FILE where none is asked
}

// openAgent makes an agent of the configuration and the flags. What it opens closes with the
// command.
func (a *app) openAgent(ctx context.Context, flags *agentFlags, stream bool) (*agent, error) {
	if flags.set.Changed("session") && flags.set.Changed("resume") {
		return nil, &usageError{
			text: "--session begins a session and --resume goes on with one: not both"}
	}
	cfg, err := a.configuration(flags)
	if err != nil {
		return nil, err
	}
	if err := cfg.CheckRun(); err != nil {
		return nil, needsModel(cfg, err)
	}
	g := &agent{app: a, heard: a.newTeller(stream)}
	model, err := g.openModel(cfg)
	if err != nil {
		return nil, err
	}
	tools, err := a.openTools(ctx, cfg, flags, g.heard)
	if err != nil {
		return nil, err
	}
	g.loop = &agentloop.Loop{
		Model: model, ModelName: g.name, Tools: tools, System: cfg.Core.System,
		MaxTurns: cfg.Core.MaxIterations, Parallel: cfg.Core.ParallelToolCalls,
		OutputCap:    int(cfg.Core.OutputCap),
		ContextLimit: tokens.Limits(cfg.Provider.ContextLimits).Of(g.name),
		Approval:     approvalOf(cfg), Budget: budgetOf(cfg),
		Jobs: jobsOf(cfg),
	}
	g.loop.Approval.Subject = tools.subject
	if a.canAsk() {
		g.loop.Approval.Ask = tools.ask
	}
	if flags.set.Changed("context-limit") {
		if flags.contextLimit < 1 {
			return nil, &usageError{text: fmt.Sprintf("--context-limit is a number of tokens from 1, not %d",
				flags.contextLimit)}
		}
		g.loop.ContextLimit = flags.contextLimit
	}
	if err := g.openSession(cfg, flags); err != nil {
		return nil, err
	}
	g.openSubagents(cfg)
	a.closeAtEnd("agent", g.loop.Close) // before what its tools need
	return g, g.openReduction(cfg)
}

// openModel makes the model. No request is sent.
func (g *agent) openModel(cfg *config.Config) (agentloop.Model, error) {
	p := &cfg.Provider
	if p.Kind == "script" {
		file := nearPath(p.Script)
		g.name = "script:" + file
		return openScript(file)
	}
	g.name = p.Model
	return g.app.remoteModel(p, p.Model)
}

// remoteModel makes a model of the configured provider, which is not a script.
func (a *app) remoteModel(p *config.Provider, name string) (agentloop.Model, error) {
	opts := &provider.Options{
		BaseURL: p.BaseURL, KeyVariable: p.KeyEnv, MaxTokens: p.MaxTokens, Headers: p.Headers,
		Logger: a.log,
	}
	if p.Kind == "openai" {
		return openai.New(name, opts)
	}
	return anthropic.New(name, opts)
}

func openScript(file string) (agentloop.Model, error) {
	model, err := script.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &notFoundError{text: fmt.Sprintf("no script %s", file),
			hint: "docs/providers.md tells how to write one"}
	}
	return model, err
}

// nearPath is the path of a file as it is called from the working directory, if it is below that.
func nearPath(file string) string {
	here, err := os.Getwd()
	if err != nil {
		return file
	}
	if near, err := filepath.Rel(here, file); err == nil && filepath.IsLocal(near) {
		return near
	}
	return file
}

// openSession opens the session that the flags name, if they name one, and goes on with what is in
// it. Its calls are recorded in the ledger as those of a run that can be gone on with.
func (g *agent) openSession(cfg *config.Config, flags *agentFlags) (err error) {
	switch {
	case flags.set.Changed("session"):
		err = g.createSession(cfg, flags.session)
	case flags.set.Changed("resume"):
		err = g.resumeSession(cfg, flags.resume)
	default:
		return nil
	}
	if err != nil {
		return g.app.sessionError(err)
	}
	g.app.closeAtEnd("session", g.session.Close)
	g.loop.Store, g.loop.ID = g.session, g.session.Header().ID
	for _, w := range g.session.Warnings() {
		g.heard.warn(w)
	}
	return g.loop.Restore(g.unfinished(g.session))
}

// unfinished is a session's messages without the results that were never stored: the calls are
// made again at their places, and the ledger says what becomes of each.
func (g *agent) unfinished(s *session.Session) []message.Message {
	list, open := s.Messages(), s.Unanswered()
	kept := len(list) - len(open)
	for i, c := range open {
		if list[kept+i].Result.CallID != c.ID { // another program has stored later ones
			g.heard.warn(count(len(open), "call") + " without a result: what became of them is unknown")
			return list
		}
	}
	return list[:kept]
}

func (g *agent) createSession(cfg *config.Config, name string) error {
	if name == "" {
		return &usageError{text: "--session needs a name"}
	}
	dir, err := g.app.sessionDir(cfg)
	if err != nil {
		return err
	}
	book, err := filepath.Abs(g.app.ledgerPath())
	if err != nil {
		return err
	}
	g.session, err = dir.Create(name, book, session.Meta{})
	if errors.Is(err, fs.ErrExist) {
		return &usageError{text: fmt.Sprintf("there is a session %q already", name),
			hint: "--resume " + name + " goes on with it; another name begins a new one"}
	}
	return err
}

func (g *agent) resumeSession(cfg *config.Config, name string) error {
	dir, err := g.app.sessionDir(cfg)
	if err != nil {
		return err
	}
	g.session, err = dir.Resume(name)
	if err != nil {
		return g.app.noSuchSession(dir, name, err)
	}
	if p := g.session.Header().Parent; p != nil && p.Agent != "" {
		return errors.Join(subagentsOwn(name, p), g.session.Close())
	}
	return g.sameLedger(name)
}

// sameLedger makes the session's ledger that of the run. In another one nothing is known of what was
// done, and it would be done again.
func (g *agent) sameLedger(name string) error {
	recorded := g.session.Header().Ledger
	named, err := filepath.Abs(g.app.ledgerPath())
	if err != nil || recorded == "" || named == recorded {
		return err
	}
	if g.app.ledgerFile == "" {
		g.app.ledgerFile = recorded
		return nil
	}
	if _, err := os.Stat(recorded); errors.Is(err, fs.ErrNotExist) {
		return nil // it was moved
	}
	return &usageError{text: fmt.Sprintf("the calls of session %q are recorded in %s", name, recorded),
		hint: "leave out --ledger, or move that file to where --ledger says"}
}

// converse has one turn of the conversation: the user says something, and the model and its tools
// take turns until there is an answer or a reason to stop. Without input it goes on where it
// stopped.
func (g *agent) converse(ctx context.Context, input ...message.Message) (o outcome, err error) {
	turns, calls, before := g.heard.turns, g.heard.calls, g.loop.Spent()
	g.heard.begin()
	defer g.heard.quiet(func() {})
	var ended message.Event
	for ev, e := range g.loop.Run(ctx, input...) {
		if e != nil {
			err = e
			break
		}
		if ev.Kind == message.Ended {
			ended = ev
		}
		g.heard.event(ev)
	}
	spent := g.loop.Spent()
	o = outcome{
		End: ended.End, Why: ended.Text, Usage: since(spent.Usage, before.Usage),
		Dollars: spent.Dollars - before.Dollars,
		Turns:   g.heard.turns - turns, Calls: g.heard.calls - calls, Model: g.heard.model,
	}
	if o.Model == "" {
		o.Model = g.name
	}
	if ended.Message != nil {
		o.Answer = ended.Message.Text
	}
	if g.session != nil {
		o.Session = g.session.Name()
	}
	if err == nil && ended.End != message.EndAnswer {
		err = &stoppedError{ended.End, ended.Text}
	}
	if err == nil {
		err = g.heard.failed
	}
	return o, err
}

// since is what was used after an earlier state.
func since(now, before message.Usage) message.Usage {
	return message.Usage{Input: now.Input - before.Input, Output: now.Output - before.Output,
		Cached: now.Cached - before.Cached, Reasoning: now.Reasoning - before.Reasoning}
}

// stoppedError is a run that has ended without an answer and without a fault.
type stoppedError struct {
	end message.End
	why string
}

func (e *stoppedError) Error() string { return "the run has stopped: " + e.why }
