package main

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/config"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

// agentTools are the tools that a model may call: those of the plugin directories that the
// configuration offers. What a tool says while it runs goes to its listener.
type agentTools struct {
	app      *app
	registry *plugins.Registry
	owners   map[string]*loader.Plugin
	effects  map[string]abi.Effect
	heard    *teller
}

// openTools opens the plugin directories and servers for a model.
func (a *app) openTools(ctx context.Context, cfg *config.Config, flags *agentFlags,
	heard *teller) (*agentTools, error) {
	rules, err := flags.rules()
	if err != nil {
		return nil, err
	}
	c, err := a.openAll(ctx, "")
	if none, ok := errors.AsType[*noDirsError](err); ok && flags.set.Changed("resume") {
		heard.warn("the model has no tools: " + none.Error()) // what was said can be gone on with
		c, err = newCatalog(), nil
	}
	if err != nil {
		return nil, err
	}
	a.tellWithheld(c)
	t := &agentTools{app: a, owners: map[string]*loader.Plugin{}, effects: map[string]abi.Effect{},
		heard: heard, registry: plugins.NewRegistry(&plugins.Options{
			Rules: rules, Ledger: &openingLedger{app: a}})}
	for name, tool := range c.tools {
		if !cfg.Tools.Offers(name) {
			continue
		}
		if flagged, ok := rules[name]; ok {
			rules[name] = overPolicy(flagged, tool)
		}
		if err := t.registry.Add(tool); err != nil {
			return nil, err
		}
		t.owners[name] = &c.plugins[c.owners[name]]
	}
	if err := t.registry.Check(); err != nil {
		return nil, ruleError(err)
	}
	if have := len(c.tools); have > 0 && len(t.owners) == 0 && (cfg.Tools.Allow == nil ||
		len(cfg.Tools.Allow) > 0) {
		heard.warn(fmt.Sprintf("the model is offered no tool: tools.allow and tools.deny leave none of %d",
			have))
	}
	for spec := range t.registry.Specs() {
		t.effects[spec.Name] = spec.Effect
	}
	return t, nil
}

// ruleError makes flags for tools that are not there a mistake on the command line.
func ruleError(err error) error {
	lost, ok := errors.AsType[*plugins.RuleError](err)
	if !ok {
		return err
	}
	return &usageError{
		text: fmt.Sprintf("--key or --effect is for a tool that is not offered: %s", lost.Tools[0]),
		hint: nearHint(lost.Tools[0], lost.Have, `"wasmagent list" shows the tools`),
	}
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
	result, err := t.app.callLogged(ctx, t.registry, t.owners[call.Tool], call)
	for _, note := range result.Notes {
		t.heard.warn(call.Tool + ": " + note)
	}
	if result.Copied {
		t.heard.warn(fmt.Sprintf("%s: copied from %s, the tool was not run", call.Tool, result.Place))
	}
	return result, err
}
