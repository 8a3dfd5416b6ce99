package wasmagent_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent"
	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/pluginstest"
	"github.com/wasmagent/wasmagent/policy"
)

// A name that two plugins claim is one problem, which says what to do.
func TestNameClaimedTwiceIsOneProblem(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		err := os.WriteFile(filepath.Join(dir, name+".wasm"), hosttest.Tiny(name, "x"), 0o600)
		if err != nil {
			t.Fatal(err)
		}
	}
	box, err := wasmagent.Open(t.Context(), dir, &wasmagent.Options{
		CacheDir: t.TempDir(), StateDir: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	problems := box.Problems()
	if len(problems) != 1 || !strings.Contains(problems[0].Error(), "prefix = true") {
		t.Errorf("problems: %v", problems)
	}
}

// TestRulesForToolsAddedLater: a rule may name a Go tool that the program adds once the directory
// is open. Until then it might as well be a mistyped name, so nothing runs.
func TestRulesForToolsAddedLater(t *testing.T) {
	dir := t.TempDir()
	box, err := wasmagent.Open(t.Context(), dir, &wasmagent.Options{
		CacheDir: filepath.Join(dir, ".cache"), StateDir: filepath.Join(dir, ".state"),
		Rules: map[string]plugins.Rule{"pay": {Effect: new(abi.EffectIdempotent)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	}()
	look := &pluginstest.Spy{Is: abi.ToolSpec{Name: "look"}}
	if err := box.Registry().Add(look); err != nil {
		t.Fatal(err)
	}
	rule, ok := errors.AsType[*plugins.RuleError](errors.Join(box.Problems()...))
	if !ok || len(rule.Tools) != 1 || rule.Tools[0] != "pay" {
		t.Errorf("problems: %v", box.Problems())
	}
	if _, err := box.Call(t.Context(), "look", nil); !errors.As(err, &rule) ||
		plugins.FaultOf(err) != plugins.FaultHost || len(look.Calls()) != 0 {
		t.Errorf("a call before all tools are there: %v, ran %d times", err, len(look.Calls()))
	}

	pay := &pluginstest.Spy{Is: abi.ToolSpec{Name: "pay"}}
	if err := box.Registry().Add(pay); err != nil {
		t.Fatal(err)
	}
	if problems := box.Problems(); len(problems) != 0 {
		t.Errorf("problems when all tools are there: %v", problems)
	}
	if _, err := box.Call(context.Background(), "look", nil); err != nil {
		t.Error(err)
	}
	for spec := range box.Tools() {
		if spec.Name == "pay" && spec.Effect != abi.EffectIdempotent {
			t.Errorf("pay is listed as %v", spec.Effect)
		}
	}
}

// TestPolicies: a plugin gets what its operator granted and allowed, and nothing where nobody was
// asked, whatever lies in the user's directories.
func TestPolicies(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "wasmagent.toml")
	write := func(name string, content []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "plugins"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("wasmagent.toml", []byte("[plugins.where]\nprefix = true\nconfig.region = \"eu\"\n"))
	write("plugins/where.wasm", hosttest.Plugin{Name: "where", Needs: abi.Needs{
		Config: []abi.ValueNeed{{Name: "region"}}}}.Bytes())
	p, err := policy.Open(file, &policy.Options{StateDir: filepath.Join(dir, ".state")})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	open := func(policies loader.Policies) (tools []string, problems []error) {
		t.Helper()
		box, err := wasmagent.Open(t.Context(), filepath.Join(dir, "plugins"), &wasmagent.Options{
			CacheDir: filepath.Join(dir, ".cache"), StateDir: filepath.Join(dir, ".state"),
			Policies: policies,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer box.Close()
		for spec := range box.Tools() {
			tools = append(tools, spec.Name)
		}
		return tools, box.Problems()
	}
	for name, policies := range map[string]loader.Policies{"none": nil, "not allowed yet": p} {
		tools, problems := open(policies)
		denied, ok := errors.AsType[*loader.NotAllowedError](errors.Join(problems...))
		if len(tools) > 0 || !ok || denied.Approval != (policies != nil) {
			t.Errorf("%s: %v, %v", name, tools, problems)
		}
	}
	found, err := loader.OpenDir(t.Context(), filepath.Join(dir, "plugins"), &loader.Options{
		CacheDir: filepath.Join(dir, ".cache"), StateDir: filepath.Join(dir, ".state"), Policies: p,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	r, err := p.Review(&found.Plugins()[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Allow(r); err != nil {
		t.Fatal(err)
	}
	later, err := policy.Open(file, &policy.Options{StateDir: filepath.Join(dir, ".state")})
	if err != nil {
		t.Fatal(err)
	}
	defer later.Close()
	if tools, problems := open(later); !slices.Equal(tools, []string{"where_where"}) {
		t.Errorf("%v, %v", tools, problems)
	}
}

// TestOtherKinds: plugins that were written for other hosts lie beside our own, and a program that
// wants none of them says so.
func TestOtherKinds(t *testing.T) {
	dir := t.TempDir()
	command := asm.New()
	command.ExportMemory("memory", command.Memory(1))
	command.Export("_start", command.Func("", ""))
	for name, wasm := range map[string][]byte{
		"own.wasm": hosttest.Tiny("own"), "command.wasm": command.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), wasm, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for want, kinds := range map[string][]loader.Kind{"command own": nil, "own": {}} {
		box, err := wasmagent.Open(t.Context(), dir, &wasmagent.Options{
			CacheDir: t.TempDir(), StateDir: t.TempDir(), Kinds: kinds,
		})
		if err != nil {
			t.Fatal(err)
		}
		var have []string
		for spec := range box.Tools() {
			have = append(have, spec.Name)
			if _, err := box.Call(t.Context(), spec.Name, nil); err != nil {
				t.Error(err)
			}
		}
		if strings.Join(have, " ") != want {
			t.Errorf("have %v, want %s: %v", have, want, box.Problems())
		}
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	}
}
