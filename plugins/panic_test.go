package plugins_test

import (
	"context"
	"errors"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
)

// bomb is a tool of somebody's own making that panics.
type bomb struct{ runs int }

func (b *bomb) Spec() abi.ToolSpec { return abi.ToolSpec{Name: "bomb"} }
func (b *bomb) Invoke(context.Context, plugins.Call) (plugins.Output, error) {
	b.runs++
	panic("boom")
}

// TestPanicOfAnyTool: a tool that is not made by Func and panics is a broken tool, its call is
// recorded as over, and the process lives.
func TestPanicOfAnyTool(t *testing.T) {
	tool := &bomb{}
	r := registry(t, &plugins.Options{Ledger: new(ledger.Memory),
		Rules: map[string]plugins.Rule{"bomb": {Key: "id"}}}, tool)
	call := plugins.Call{ID: "1", Tool: "bomb", Input: []byte(`{"id":1}`)}
	_, err := r.Call(t.Context(), call)
	if !errors.Is(err, plugins.ErrMalformedResult) || plugins.CauseOf(err) != "panic" {
		t.Fatalf("have %v", err)
	}
	_, err = r.Call(t.Context(), call)
	if inFlight, ok := errors.AsType[*plugins.InFlightError](err); !ok || !inFlight.Unresolved {
		t.Errorf("the second call: %v", err)
	}
	if tool.runs != 1 {
		t.Errorf("it ran %d times", tool.runs)
	}
}
