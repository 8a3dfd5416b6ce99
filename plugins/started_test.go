package plugins_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
	"github.com/wasmagent/wasmagent/plugins/pluginstest"
)

// TestStarted pins which calls are told to have started: those whose tool is run, once, however
// often it is tried.
func TestStarted(t *testing.T) {
	flaky := errors.New("try again")
	spy := &pluginstest.Spy{Is: abi.ToolSpec{Name: "f", InputSchema: pointSchema}, Reply: func(
		_ context.Context, c plugins.Call) (plugins.Output, error) {
		if c.Attempt == 1 {
			return plugins.Output{}, flaky
		}
		return value("1"), nil
	}}
	spy.Is.Effect = abi.EffectIdempotent
	r := registry(t, &plugins.Options{RetryWait: 1, Ledger: &ledger.Memory{}}, spy)
	for _, tt := range []struct {
		name, tool, input string
		position, started int
	}{
		{"unknown", "g", `{"x":1}`, 1, 0},
		{"refused", "f", `{}`, 1, 0},
		{"run twice", "f", `{"x":1}`, 1, 1},
		{"recorded", "f", `{"x":1}`, 1, 0},
		{"another place", "f", `{"x":1}`, 2, 1},
	} {
		started := 0
		_, _ = r.Call(t.Context(), plugins.Call{Tool: tt.tool, Input: json.RawMessage(tt.input),
			Run: "run", Position: tt.position, Started: func() { started++ }})
		if started != tt.started {
			t.Errorf("%s: started %d times, want %d", tt.name, started, tt.started)
		}
	}
	if n := len(spy.Calls()); n != 4 {
		t.Errorf("the tool was run %d times, want 4", n)
	}
}
