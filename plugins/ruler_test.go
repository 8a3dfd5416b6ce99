package plugins_test

import (
	"errors"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/pluginstest"
)

// ruled is a tool that brings its operator's word along.
type ruled struct {
	*pluginstest.Spy
	rule plugins.Rule
}

func (r ruled) Rule() plugins.Rule { return r.rule }

// What a tool brings along counts, unless the registry was told something about it.
func TestRuler(t *testing.T) {
	idempotent := abi.EffectIdempotent
	brings := plugins.Rule{Key: "id", Effect: &idempotent}
	for name, c := range map[string]struct {
		rules map[string]plugins.Rule
		want  abi.Effect
		key   bool
	}{
		"its own":     {nil, abi.EffectIdempotent, true},
		"of another":  {map[string]plugins.Rule{"b": {}}, abi.EffectIdempotent, true},
		"registry's":  {map[string]plugins.Rule{"a": {RetryTimeouts: true}}, abi.EffectWrite, false},
		"it says all": {map[string]plugins.Rule{"a": brings}, abi.EffectIdempotent, true},
	} {
		r := plugins.NewRegistry(&plugins.Options{Rules: c.rules})
		a := &pluginstest.Spy{Is: abi.ToolSpec{Name: "a"}}
		if err := r.Add(ruled{a, brings}, &pluginstest.Spy{Is: abi.ToolSpec{Name: "b"}}); err != nil {
			t.Fatal(err)
		}
		for spec := range r.Specs() {
			if spec.Name == "a" && spec.Effect != c.want {
				t.Errorf("%s: effect %v", name, spec.Effect)
			}
		}
		_, err := r.Call(t.Context(), plugins.Call{Tool: "a"})
		if errors.Is(err, plugins.ErrMissingIdempotencyKey) != c.key {
			t.Errorf("%s: %v", name, err)
		}
	}
	bad := ruled{&pluginstest.Spy{Is: abi.ToolSpec{Name: "a"}}, plugins.Rule{Key: "a..b"}}
	if err := plugins.NewRegistry(nil).Add(bad); err == nil {
		t.Error("a rule that cannot be is taken")
	}
}
