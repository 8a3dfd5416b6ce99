package config

import (
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// FuzzLoad holds that no file makes loading panic, that each mistake says where it is, and that
// whatever a project's file says, it loosens nothing.
func FuzzLoad(f *testing.F) {
	files, _ := filepath.Glob("testdata/load/*.txtar")
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		in := map[string]string{}
		for _, part := range a.Files {
			in[part.Name] = string(part.Data)
		}
		f.Add(in["user.toml"], in["project.toml"])
	}
	f.Fuzz(func(t *testing.T, user, project string) {
		dir := t.TempDir()
		o := options(t, dir)
		write(t, o.File, user)
		alone, err := Load(o)
		if err != nil {
			mistakes(t, err)
			return
		}
		write(t, filepath.Join(dir, ProjectFile), project)
		both, err := Load(o)
		if err != nil {
			mistakes(t, err)
			return
		}
		noLooser(t, alone, both)
	})
}

// noLooser tells where b is looser than a.
func noLooser(t *testing.T, a, b *Config) {
	t.Helper()
	lower := func(what string, user, both float64) {
		if user != 0 && (both > user || both == 0) {
			t.Errorf("%s: %v became %v", what, user, both)
		}
	}
	lower("iterations", float64(a.Core.MaxIterations), float64(b.Core.MaxIterations))
	lower("output", float64(a.Core.OutputCap), float64(b.Core.OutputCap))
	lower("max_tokens", float64(a.Provider.MaxTokens), float64(b.Provider.MaxTokens))
	lower("steps", float64(a.Budgets.Steps), float64(b.Budgets.Steps))
	lower("tokens", float64(a.Budgets.Tokens), float64(b.Budgets.Tokens))
	lower("dollars", a.Budgets.Dollars, b.Budgets.Dollars)
	lower("time", float64(a.Budgets.WallTime), float64(b.Budgets.WallTime))
	if slices.Index(approvals, b.Core.Approvals) < slices.Index(approvals, a.Core.Approvals) {
		t.Errorf("approvals: %s became %s", a.Core.Approvals, b.Core.Approvals)
	}
	for tool, word := range b.Tools.Approvals {
		if slices.Index(verdicts, word) < slices.Index(verdicts, a.Tools.Approvals[tool]) {
			t.Errorf("the tool %s: %s", tool, word)
		}
	}
	for tool := range a.Tools.Approvals {
		if b.Tools.Approvals[tool] == "" {
			t.Errorf("the word on the tool %s is lost", tool)
		}
	}
	limit := func(c *Config, model string) int {
		if n, ok := c.Provider.ContextLimits[model]; ok {
			return n
		}
		return DefaultContextLimit
	}
	for model := range b.Provider.ContextLimits {
		if limit(b, model) > limit(a, model) {
			t.Errorf("%s has more context", model)
		}
	}
	if m := b.Provider.Model; m != a.Provider.Model && !slices.Contains(a.Provider.Models, m) {
		t.Errorf("the model %q is not the user's", m)
	}
	named := slices.Concat(a.Tools.Allow, b.Tools.Allow, a.Tools.Deny, b.Tools.Deny)
	for _, tool := range append(named, "jq", "a", "z_9") {
		if b.Tools.Offers(tool) && !a.Tools.Offers(tool) {
			t.Errorf("the tool %s is offered", tool)
		}
	}
	same(t, a, b)
}

// same tells which of the things changed that only the user may say.
func same(t *testing.T, a, b *Config) {
	t.Helper()
	users := func(c *Config) []any {
		p, s := &c.Provider, &c.Capabilities.Subagents
		return []any{c.Core.System, c.Core.ParallelToolCalls, c.Core.Sessions, p.Kind, p.Models,
			p.Script, p.BaseURL, p.KeyEnv, p.Headers, p.Prices, s.Enabled, s.BackgroundPrompts,
			c.Capabilities.ToolsBackground.Enabled, c.Capabilities.Reduction.Enabled}
	}
	if !reflect.DeepEqual(users(a), users(b)) {
		t.Errorf("have %v\nwant %v", users(b), users(a))
	}
	for name, agent := range a.Capabilities.Subagents.Agents {
		if !reflect.DeepEqual(agent, b.Capabilities.Subagents.Agents[name]) {
			t.Errorf("the subagent %s changed", name)
		}
	}
}
