package config

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// DefaultContextLimit is the context size of a model that provider.context_limits does not name, in
// tokens.
const DefaultContextLimit = 200_000

// Config is what counts, after all layers. docs/config.md tells what each key means; a key's place
// in the file is its place here.
type Config struct {
	Core         Core
	Provider     Provider
	Budgets      Budgets
	Tools        Tools
	Capabilities Capabilities

	values *values
}

// Core is the section core.
type Core struct {
	System            string // the system prompt; "": none
	Approvals         string // never, on_request or untrusted
	ParallelToolCalls bool
	MaxIterations     int
	OutputCap         int64  // bytes of an output that the model is shown
	Sessions          string // the folder of sessions
}

// Provider is the section provider.
type Provider struct {
	Kind          string   // openai, anthropic, script; "": none
	Model         string   // "": none
	Models        []string // others that a project may choose
	Script        string   // the file of the kind script
	BaseURL       string   // "": the vendor's own
	KeyEnv        string   // the environment variable with the key; "": the vendor's own
	MaxTokens     int      // of one answer; 0: the provider's default
	Headers       map[string]string
	Prices        map[string]*Price // by model
	ContextLimits map[string]int    // by model, in tokens
}

// Price is what a model costs, in dollars for a million tokens.
type Price struct{ Input, Output, Cached float64 }

// Budgets is the section budgets. Zero: no limit.
type Budgets struct {
	Steps    int
	Tokens   int64
	Dollars  float64
	WallTime time.Duration
}

// Tools is the section tools.
type Tools struct {
	Allow     []string          // nil: all. A * at the end of a name stands for any rest
	Deny      []string          // and of those, not these
	Approvals map[string]string // by tool: allow, ask or deny
}

// Offers tells whether a tool may be offered.
func (t *Tools) Offers(name string) bool {
	return (t.Allow == nil || covered(t.Allow, name)) && !covered(t.Deny, name)
}

// Capabilities is the section capabilities.
type Capabilities struct {
	Subagents       Subagents
	ToolsBackground ToolsBackground
	Reduction       Reduction
}

// Subagents is the section capabilities.subagents.
type Subagents struct {
	Enabled           bool
	MaxDepth          int // 0 forbids all
	MaxConcurrent     int
	BackgroundPrompts string // auto_policy or parent; "": no background
	Agents            map[string]*Agent
}

// Agent is a kind of subagent.
type Agent struct {
	Prompt string
	Tools  []string // nil: its parent's
	Model  string   // "": its parent's
}

// ToolsBackground is the section capabilities.tools_background.
type ToolsBackground struct {
	Enabled       bool
	MaxConcurrent int
}

// Reduction is the section capabilities.reduction.
type Reduction struct{ Enabled bool }

// CheckRun tells whether a run can begin: what it needs beyond each value being right. Its error is
// an *Error; that of a configuration without a provider matches ErrNoProvider.
func (c *Config) CheckRun() error {
	p := &c.Provider
	lacks := func(key, detail string) error { return &Error{Key: key, Detail: detail} }
	switch {
	case p.Kind == "":
		return &Error{Key: "provider.kind", Detail: ErrNoProvider.Error(), Err: ErrNoProvider}
	case p.Kind == kindScript && p.Script == "":
		return lacks("provider.script", "the provider script needs a file")
	case p.Kind != kindScript && p.Model == "":
		return lacks("provider.model", "the provider "+p.Kind+" needs a model")
	}
	if c.Budgets.Dollars > 0 && p.Kind == kindScript && p.Model == "" {
		return lacks("budgets.dollars", "needs the prices of a model, and the script stands for none")
	}
	if c.Budgets.Dollars == 0 {
		return nil
	}
	if missing := p.missingPrice(p.Model); missing != "" {
		return lacks("budgets.dollars", "needs the prices of the model: there is no "+missing)
	}
	sub := &c.Capabilities.Subagents
	for _, name := range slices.Sorted(maps.Keys(sub.Agents)) {
		model := sub.Agents[name].Model
		if missing := p.missingPrice(model); missing != "" && model != "" && sub.Enabled {
			return lacks(text([]string{"capabilities", "subagents", "agents", name, "model"}),
				"a budget in dollars needs the prices of this model: there is no "+missing)
		}
	}
	return nil
}

// missingPrice is the key of a price that the model does not have, or "".
func (p *Provider) missingPrice(model string) string {
	price := cmp.Or(p.Prices[model], &Price{})
	missing := "input"
	if price.Input > 0 {
		missing = "output"
	}
	if price.Input > 0 && price.Output > 0 {
		return ""
	}
	return text([]string{"provider", "prices", model, missing})
}

// covered tells whether one of the patterns stands for name, which may be a pattern itself.
func covered(patterns []string, name string) bool {
	for _, p := range patterns {
		begin, open := strings.CutSuffix(p, "*")
		if p == name || open && strings.HasPrefix(name, begin) {
			return true
		}
	}
	return false
}
