package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/config"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

// agentTools are the tools that a model may call: those of the plugin directories and servers that
// the configuration offers. What a tool says while it runs goes to its listener.
type agentTools struct {
	*offering
	app   *app
	heard *teller
}

// openTools opens the plugin directories and servers for a model. Those of a chat come in when they
// are there, so that it can begin; a run has use for all of them at once, and flags for one of their
// tools do, too.
func (a *app) openTools(ctx context.Context, cfg *config.Config, flags *agentFlags, heard *teller,
	chat bool) (*agentTools, error) {
	rules, err := flags.rules()
	if err != nil {
		return nil, err
	}
	c, servers, err := a.openPlugins(ctx)
	if none, ok := errors.AsType[*noDirsError](err); ok && flags.set.Changed("resume") {
		heard.warn("the model has no tools: " + none.Error()) // what was said can be gone on with
		c, err = newCatalog(), nil
	}
	if err != nil {
		return nil, err
	}
	for name := range rules {
		chat = chat && c.tools[name] != nil
	}
	if !chat {
		a.openServers(ctx, c, servers)
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
	}
	a.tellWithheld(c)
	for name, flagged := range rules {
		rules[name] = overPolicy(flagged, c.tools[name])
	}
	var lost []error
	registry := plugins.NewRegistry(&plugins.Options{Rules: rules, Ledger: &openingLedger{app: a}})
	t := &agentTools{app: a, heard: heard, offering: newOffering(registry,
		func(errs ...error) { lost = append(lost, errs...) })}
	t.wanted = cfg.Tools.Offers
	t.addDirs(c.dirs)
	for i := range c.plugins {
		if s := c.servers[i]; s.source != nil {
			t.change(t.addServer(s.Name, s.At), nil, s.source.Tools())
		}
	}
	if refused, ok := errors.AsType[*plugins.AddError](errors.Join(lost...)); ok {
		return nil, refused // a name that several have is told already
	}
	if err := t.registry.Check(); err != nil {
		return nil, a.ruleError(err)
	}
	if chat && len(servers) > 0 {
		t.lost = a.logWithheld
		a.onEnd(a.join(ctx, t.offering, servers, true))
		return t, nil
	}
	if have := len(c.tools); have > 0 && len(slices.Collect(t.Specs())) == 0 &&
		(cfg.Tools.Allow == nil || len(cfg.Tools.Allow) > 0) {
		heard.warn(fmt.Sprintf("the model is offered no tool: tools.allow and tools.deny leave none of %d",
			have))
	}
	return t, nil
}

// ruleError makes flags for tools that are not there a mistake on the command line.
func (a *app) ruleError(err error) error {
	lost, ok := errors.AsType[*plugins.RuleError](err)
	if !ok {
		return err
	}
	return &usageError{
		text: fmt.Sprintf("--key or --effect is for a tool that is not offered: %s", lost.Tools[0]),
		hint: nearHint(lost.Tools[0], lost.Have, a.listHint()),
	}
}

// effect is what a tool does; false: it is not there.
func (t *agentTools) effect(tool string) (abi.Effect, bool) {
	for spec := range t.Specs() {
		if spec.Name == tool {
			return spec.Effect, true
		}
	}
	return abi.EffectWrite, false
}

// Specs implements agentloop.Tools.
func (t *agentTools) Specs() iter.Seq[abi.ToolSpec] { return t.registry.Specs() }

// Recall has background jobs of earlier processes found in the ledger.
func (t *agentTools) Recall(ctx context.Context, at plugins.Place) (plugins.Result, error) {
	return t.registry.Recall(ctx, at)
}

// Call implements agentloop.Tools.
func (t *agentTools) Call(ctx context.Context, call plugins.Call) (plugins.Result, error) {
	t.alsoTell(&call)
	owner := t.owner(call.Tool)
	if owner == nil {
		owner = &loader.Plugin{} // it has gone since the model was told of it
	}
	result, err := t.app.callLogged(ctx, t.registry, owner, call)
	for _, note := range result.Notes {
		t.heard.warn(call.Tool + ": " + note)
	}
	if result.Copied {
		t.heard.warn(fmt.Sprintf("%s: copied from %s, the tool was not run", call.Tool, result.Place))
	}
	return result, err
}
