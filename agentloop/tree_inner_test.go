package agentloop

import (
	"errors"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/pluginstest"
)

// TestNarrowedCall pins that tools which were taken away cannot be called either, and that a list
// of the rest can be left.
func TestNarrowedCall(t *testing.T) {
	all := plugins.NewRegistry(nil)
	for _, name := range []string{"a", "b", "c"} {
		if err := all.Add(&pluginstest.Spy{Is: abi.ToolSpec{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	some := narrowed{all, func(tool string) bool { return tool != "b" }}
	for name, want := range map[string]bool{"a": true, "b": false} {
		_, err := some.Call(t.Context(), plugins.Call{Tool: name})
		_, unknown := errors.AsType[*UnknownToolError](err)
		if unknown == want {
			t.Errorf("%s: %v", name, err)
		}
	}
	for spec := range some.Specs() {
		if spec.Name != "a" {
			t.Errorf("%s", spec.Name)
		}
		break
	}
}
