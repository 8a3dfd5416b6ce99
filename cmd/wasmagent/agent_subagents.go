package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/sdk"
	"github.com/wasmagent/wasmagent/agentloop/session"
	"github.com/wasmagent/wasmagent/agentloop/subagents"
	"github.com/wasmagent/wasmagent/agentloop/tokens"
	"github.com/wasmagent/wasmagent/config"
)

// openSubagents lets the model begin subagents, if the configuration does.
func (g *agent) openSubagents(cfg *config.Config) error {
	c := &cfg.Capabilities.Subagents
	if !c.Enabled {
		return nil
	}
	s := &agentloop.Subagents{
		MaxDepth: c.MaxDepth, MaxConcurrent: c.MaxConcurrent,
		Background: subagents.Policy(c.BackgroundPrompts), Agents: map[string]subagents.Definition{},
		Model: func(name string) (agentloop.NamedModel, error) { return g.namedModel(cfg, name) },
	}
	if c.MaxDepth == 0 {
		s.MaxDepth = -1
	}
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		a := c.Agents[name]
		if a.Model != "" { // what cannot be had is known before anything runs
			if _, err := g.namedModel(cfg, a.Model); err != nil {
				return fmt.Errorf("agent type %s: %w", name, err)
			}
		}
		s.Agents[name] = subagents.Definition{System: a.Prompt, Tools: a.Tools, Model: a.Model}
	}
	if g.session != nil {
		s.Record = g.recordSubagent
	}
	g.loop.Subagents = s
	return nil
}

// namedModel makes the model that a kind of subagent has. Where the provider is a script, it is
// another one, script:FILE, which each of them plays from its beginning.
func (g *agent) namedModel(cfg *config.Config, name string) (m agentloop.NamedModel, err error) {
	p := &cfg.Provider
	if file, ok := strings.CutPrefix(name, "script:"); ok && p.Kind == "script" {
		m.Model, err = openScript(file)
	} else if p.Kind == "script" {
		m.Model = g.loop.Model
	} else {
		m.Model, err = g.app.remoteModel(p, name)
	}
	m.ContextLimit = tokens.Limits(p.ContextLimits).Of(name)
	m.Prices = pricesOf(p, name)
	return m, err
}

// recordSubagent keeps a subagent's conversation as a session of its own, and goes on with that if
// it is there: then an earlier process ended in the middle of it.
func (g *agent) recordSubagent(_ context.Context, of subagents.Lineage) (*agentloop.Record, error) {
	s, err := g.session.Sub(of.ID)
	if err != nil {
		return nil, err
	}
	history, warnings := sdk.Recorded(s)
	for _, w := range warnings {
		g.heard.warn(s.Name() + ": " + w)
	}
	record := &agentloop.Record{Store: s, History: history, Close: s.Close, Save: savesTo(s)}
	if g.loop.Reduction != nil {
		if record.Reductions, err = readReductions(s.ReadReduction()); err != nil {
			g.heard.warn(fmt.Sprintf("%s: %v; what the model is shown is reduced anew", s.Name(), err))
		}
	}
	return record, nil
}

// subagentsOwn is a session that cannot be gone on with by itself: its calls are recorded as those
// of the other one's run.
func subagentsOwn(name string, parent *session.Parent) error {
	return &usageError{
		text: fmt.Sprintf("session %q is that of a subagent, %s of session %q", name, parent.Agent,
			parent.Name),
		hint: fmt.Sprintf("--resume %s goes on with both; or fork it: wasmagent sessions fork %s",
			parent.Name, name)}
}

// underParents puts the sessions of subagents after those of their top agents, in the order of
// their names there; the others stay in their order.
func underParents(list []session.Info) {
	place := map[string]int{}
	for i := range list {
		place[list[i].Header.ID] = i
	}
	of := func(i *session.Info) (top int, sub bool) {
		if p := i.Header.Parent; p != nil && p.Agent != "" {
			if top, ok := place[p.ID]; ok {
				return top, true
			}
		}
		return place[i.Header.ID], false
	}
	slices.SortStableFunc(list, func(a, b session.Info) int {
		i, aSub := of(&a)
		j, bSub := of(&b)
		switch {
		case i != j:
			return cmp.Compare(i, j)
		case aSub && bSub:
			return cmp.Compare(a.Name, b.Name)
		case aSub:
			return 1
		case bSub:
			return -1
		}
		return 0
	})
}

// listed is a session's name in a list of them: those of subagents are set in.
func (s *sessionJSON) listed() string {
	if s.Parent != nil && s.Parent.Agent != "" {
		return "  " + s.Name
	}
	return s.Name
}
