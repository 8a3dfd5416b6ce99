package wasmagent_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/wasmagent/wasmagent"
	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/pluginstest"
)

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
