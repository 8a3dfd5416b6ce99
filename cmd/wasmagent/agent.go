package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/provider"
	"github.com/wasmagent/wasmagent/agentloop/provider/anthropic"
	"github.com/wasmagent/wasmagent/agentloop/provider/openai"
	"github.com/wasmagent/wasmagent/agentloop/provider/script"
	"github.com/wasmagent/wasmagent/agentloop/sdk"
	"github.com/wasmagent/wasmagent/agentloop/session"
	"github.com/wasmagent/wasmagent/agentloop/tokens"
	"github.com/wasmagent/wasmagent/config"
)

// agent is a model with its tools in one conversation, which sdk.Agent drives.
type agent struct {
	sdk.Agent
	app     *app
	cfg     *config.Config
	flags   *agentFlags
	heard   *teller
	last    int64 // the number of the last event that was heard
	tools   *agentTools
	loop    *agentloop.Loop
	session *session.Session // nil: the conversation is not recorded
	name    string           // the model's; script:FILE where none is asked
}

// openAgent begins the conversation that the configuration and the flags say, or goes on with it.
// What it opens closes with the command.
func (a *app) openAgent(ctx context.Context, flags *agentFlags, stream bool) (*agent, error) {
	if flags.set.Changed("session") && flags.set.Changed("resume") {
		return nil, &usageError{
			text: "--session begins a session and --resume goes on with one: not both"}
	}
	if flags.set.Changed("resume") && flags.resume == "" {
		return nil, &usageError{text: "--resume needs the name of a session"}
	}
	cfg, err := a.configuration(flags)
	if err != nil {
		return nil, err
	}
	if err := cfg.CheckRun(); err != nil {
		return nil, needsModel(cfg, err)
	}
	g := &agent{app: a, cfg: cfg, flags: flags, heard: a.newTeller(stream)}
	g.Agent = sdk.New(g.open, &sdk.Options{Ask: a.canAsk(), Lockstep: true})
	if flags.set.Changed("resume") {
		_, err = g.Resume(ctx, flags.resume)
	} else {
		_, err = g.Start(ctx, &sdk.StartOptions{Session: flags.session})
	}
	if err != nil {
		return nil, plain(err)
	}
	a.closeAtEnd("agent", g.Close) // before what it has opened
	return g, nil
}

// plain is what is behind an error of the runtime's: the command has words of its own for where it
// came up.
func plain(err error) error {
	e, ok := errors.AsType[*agentloop.SdkError](err)
	if ok && e.Name != agentloop.SdkInvalidArgument {
		return e.Err
	}
	return err
}

// open makes the loop of the conversation.
func (g *agent) open(ctx context.Context, c sdk.Conversation) (*sdk.Opened, error) {
	cfg, flags := g.cfg, g.flags
	model, err := g.openModel(cfg)
	if err != nil {
		return nil, err
	}
	// A session that goes on may have calls to make again before anything is said.
	late := g.heard.stream && !c.Resume
	g.tools, err = g.app.openTools(ctx, cfg, flags, g.heard, late)
	if err != nil {
		return nil, err
	}
	g.loop = &agentloop.Loop{
		Model: model, ModelName: g.name, Tools: g.tools, System: cfg.Core.System,
		MaxTurns: cfg.Core.MaxIterations, Parallel: cfg.Core.ParallelToolCalls,
		OutputCap:    int(cfg.Core.OutputCap),
		ContextLimit: tokens.Limits(cfg.Provider.ContextLimits).Of(g.name),
		Approval:     approvalOf(cfg), Budget: budgetOf(cfg),
		Jobs: jobsOf(cfg),
	}
	g.loop.Approval.Subject = g.tools.subject
	if flags.set.Changed("context-limit") {
		if flags.contextLimit < 1 {
			return nil, &usageError{text: fmt.Sprintf("--context-limit is a number of tokens from 1, not %d",
				flags.contextLimit)}
		}
		g.loop.ContextLimit = flags.contextLimit
	}
	opened, err := g.record(c)
	if err != nil {
		return nil, err
	}
	if err := g.openSubagents(cfg); err != nil {
		return nil, errors.Join(err, g.closeSession())
	}
	g.openReduction(cfg)
	return opened, nil
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
			hint: "its path is one from the working directory; docs/providers.md tells how to write one"}
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

// record opens the session of the conversation, if it has one, and goes on with what is in it. Its
// calls are recorded in the ledger as those of a run that can be gone on with.
func (g *agent) record(c sdk.Conversation) (*sdk.Opened, error) {
	o := &sdk.Opened{Loop: g.loop}
	var err error
	switch {
	case c.Resume:
		err = g.resumeSession(g.cfg, c.Session)
	case g.flags.set.Changed("session"):
		err = g.createSession(g.cfg, c.Session)
	default:
		return o, nil
	}
	if err != nil {
		return nil, g.app.sessionError(c.Session, err)
	}
	o.Close = g.session.Close
	warnings, err := sdk.Record(g.loop, g.session)
	if err != nil {
		return nil, errors.Join(err, o.Close())
	}
	for _, w := range warnings {
		g.heard.warn(w) // before anything is said
	}
	return o, nil
}

// closeSession closes the session that was opened in vain.
func (g *agent) closeSession() error {
	if g.session == nil {
		return nil
	}
	return g.session.Close()
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
