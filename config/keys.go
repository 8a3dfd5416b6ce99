package config

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/adrg/xdg"
)

// key is one key of a file: what it takes, what it is when no layer says anything, what a project's
// file may do with it, and where it goes.
type key struct {
	name    string // a * in it stands for a name that the file chooses
	parse   parser
	initial any  // nil: none
	project rule // nil: a project may not set it
	set     setter
	secret  bool // its value is not shown
	path    bool // it is relative to the directory of its file
	tool    bool // its * is the name of a tool, and no beginning of names
}

const kindScript = "script"

// keys are all there are. To add one is to add a line here, a field, and a line of docs/config.md.
var keys = []key{
	{name: "core.system", parse: anyText(64 << 10),
		set: put(func(c *Config) *string { return &c.Core.System })},
	{name: "core.approvals", parse: oneOf(approvals...), initial: "on_request",
		project: stricter(approvals), set: put(func(c *Config) *string { return &c.Core.Approvals })},
	{name: "core.parallel_tool_calls", parse: boolean, initial: false,
		set: put(func(c *Config) *bool { return &c.Core.ParallelToolCalls })},
	{name: "core.max_iterations", parse: count(1, 10_000), initial: 50, project: lower,
		set: put(func(c *Config) *int { return &c.Core.MaxIterations })},
	{name: "core.output_cap", parse: size(1<<10, 4<<20), initial: byteSize(48 << 10), project: lower,
		set: func(c *Config, _ string, v any) { c.Core.OutputCap = int64(v.(byteSize)) }},
	{name: "core.sessions", parse: path, path: true, initial: defaultSessions(),
		set: put(func(c *Config) *string { return &c.Core.Sessions })},

	{name: "provider.kind", parse: oneOf("openai", "anthropic", kindScript),
		set: put(func(c *Config) *string { return &c.Provider.Kind })},
	{name: "provider.model", parse: word(maxWord), project: among,
		set: put(func(c *Config) *string { return &c.Provider.Model })},
	{name: "provider.models", parse: list(word(maxWord)),
		set: put(func(c *Config) *[]string { return &c.Provider.Models })},
	{name: "provider.script", parse: path, path: true,
		set: put(func(c *Config) *string { return &c.Provider.Script })},
	{name: "provider.base_url", parse: address,
		set: func(c *Config, _ string, v any) { c.Provider.BaseURL = string(v.(webAddress)) }},
	{name: "provider.key_env", parse: variable,
		set: put(func(c *Config) *string { return &c.Provider.KeyEnv })},
	{name: "provider.max_tokens", parse: count(1, 10_000_000), project: lower,
		set: put(func(c *Config) *int { return &c.Provider.MaxTokens })},
	{name: "provider.headers.*", parse: secretText(8 << 10), secret: true,
		set: into(func(c *Config) *map[string]string { return &c.Provider.Headers })},
	{name: "provider.prices.*.input", parse: dollars,
		set: inside(prices, func(p *Price) *float64 { return &p.Input })},
	{name: "provider.prices.*.output", parse: dollars,
		set: inside(prices, func(p *Price) *float64 { return &p.Output })},
	{name: "provider.prices.*.cached", parse: dollars,
		set: inside(prices, func(p *Price) *float64 { return &p.Cached })},
	{name: "provider.context_limits.*", parse: count(1, 1_000_000_000), initial: DefaultContextLimit,
		project: lower, set: into(func(c *Config) *map[string]int { return &c.Provider.ContextLimits })},

	{name: "budgets.steps", parse: count(1, 1_000_000), project: lower,
		set: put(func(c *Config) *int { return &c.Budgets.Steps })},
	{name: "budgets.tokens", parse: count64(1, 1e15), project: lower,
		set: put(func(c *Config) *int64 { return &c.Budgets.Tokens })},
	{name: "budgets.dollars", parse: dollars, project: lower,
		set: put(func(c *Config) *float64 { return &c.Budgets.Dollars })},
	{name: "budgets.wall_time", parse: duration(time.Second, 30*24*time.Hour), project: lower,
		set: put(func(c *Config) *time.Duration { return &c.Budgets.WallTime })},

	{name: "tools.allow", parse: list(toolPattern), project: fewer,
		set: put(func(c *Config) *[]string { return &c.Tools.Allow })},
	{name: "tools.deny", parse: list(toolPattern), project: more,
		set: put(func(c *Config) *[]string { return &c.Tools.Deny })},
	{name: "tools.approvals.*", parse: oneOf("allow", "ask", "deny"), project: stricter(verdicts),
		tool: true, set: into(func(c *Config) *map[string]string { return &c.Tools.Approvals })},

	{name: "capabilities.subagents.enabled", parse: boolean, initial: false,
		set: put(func(c *Config) *bool { return &c.Capabilities.Subagents.Enabled })},
	{name: "capabilities.subagents.max_depth", parse: count(0, 16), initial: 3, project: lower,
		set: put(func(c *Config) *int { return &c.Capabilities.Subagents.MaxDepth })},
	{name: "capabilities.subagents.max_concurrent", parse: count(1, 256), initial: 4, project: lower,
		set: put(func(c *Config) *int { return &c.Capabilities.Subagents.MaxConcurrent })},
	{name: "capabilities.subagents.background_prompts", parse: oneOf("auto_policy", "parent"),
		set: put(func(c *Config) *string { return &c.Capabilities.Subagents.BackgroundPrompts })},
	{name: "capabilities.subagents.agents.*.prompt", parse: anyText(64 << 10), project: own,
		set: inside(agents, func(a *Agent) *string { return &a.Prompt })},
	{name: "capabilities.subagents.agents.*.tools", parse: list(toolPattern), project: own,
		set: inside(agents, func(a *Agent) *[]string { return &a.Tools })},
	{name: "capabilities.subagents.agents.*.model", parse: word(maxWord), project: ownAmong,
		set: inside(agents, func(a *Agent) *string { return &a.Model })},
	{name: "capabilities.tools_background.enabled", parse: boolean, initial: false,
		set: put(func(c *Config) *bool { return &c.Capabilities.ToolsBackground.Enabled })},
	{name: "capabilities.tools_background.max_concurrent", parse: count(1, 256), initial: 4,
		project: lower,
		set:     put(func(c *Config) *int { return &c.Capabilities.ToolsBackground.MaxConcurrent })},
	{name: "capabilities.reduction.enabled", parse: boolean, initial: false,
		set: put(func(c *Config) *bool { return &c.Capabilities.Reduction.Enabled })},
}

// From the laxest to the strictest; "" is to say nothing.
var (
	approvals = []string{"never", "on_request", "untrusted"}
	verdicts  = []string{"allow", "", "ask", "deny"}
)

func defaultSessions() string { return filepath.Join(xdg.StateHome, "wasmagent", "sessions") }

// setter puts a value into its field. name is what a * of the key's name stands for.
type setter func(c *Config, name string, v any)

func put[T any](field func(*Config) *T) setter {
	return func(c *Config, _ string, v any) { *field(c) = v.(T) }
}

func into[T any](field func(*Config) *map[string]T) setter {
	return func(c *Config, name string, v any) {
		m := field(c)
		if *m == nil {
			*m = map[string]T{}
		}
		(*m)[name] = v.(T)
	}
}

// inside is for a field of the struct that belongs to a name.
func inside[S, T any](all func(*Config) *map[string]*S, field func(*S) *T) setter {
	return func(c *Config, name string, v any) {
		m := all(c)
		if *m == nil {
			*m = map[string]*S{}
		}
		if (*m)[name] == nil {
			(*m)[name] = new(S)
		}
		*field((*m)[name]) = v.(T)
	}
}

func prices(c *Config) *map[string]*Price { return &c.Provider.Prices }

func agents(c *Config) *map[string]*Agent { return &c.Capabilities.Subagents.Agents }

// find gives the key that a path belongs to, and what its * stands for.
func find(at []string) (k *key, name string) {
	for i := range keys {
		if name, ok := keys[i].match(at); ok {
			return &keys[i], name
		}
	}
	return nil, ""
}

func (k *key) match(at []string) (name string, ok bool) {
	parts := strings.Split(k.name, ".")
	if len(parts) != len(at) {
		return "", false
	}
	return matchParts(parts, at)
}

func matchParts(parts, at []string) (name string, ok bool) {
	for i, part := range parts {
		if part == "*" {
			name = at[i]
		} else if part != at[i] {
			return "", false
		}
	}
	return name, true
}

// isTable tells whether there are keys below a path.
func isTable(at []string) bool {
	for i := range keys {
		parts := strings.Split(keys[i].name, ".")
		if len(parts) <= len(at) {
			continue
		}
		if _, ok := matchParts(parts[:len(at)], at); ok {
			return true
		}
	}
	return false
}

// policySections are what the user's file says about plugins and MCP servers: the package policy reads that.
var policySections = []string{"ceiling", "defaults", "plugins", "servers"}

// isPolicy tells whether a path is one of those sections.
func isPolicy(at []string) bool { return len(at) == 1 && slices.Contains(policySections, at[0]) }

// Sections lists the sections of the user's file that this package reads, sorted.
func Sections() []string {
	var all []string
	for i := range keys {
		section, _, _ := strings.Cut(keys[i].name, ".")
		all = append(all, section)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// text is a path as it is written in a file.
func text(at []string) string { return toml.Key(at).String() }
