package plugins_test

import (
	"encoding/json"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
)

// maxCallAllocs is how many allocations a registry may add to a call without a ledger. With -race
// pools forget at random; without it there are none.
const maxCallAllocs = 10

func TestCallHardlyAllocates(t *testing.T) {
	r := registry(t, nil, &fixed{abi.ToolSpec{Name: "order", InputSchema: orderSchema},
		plugins.Output{Value: json.RawMessage(`{"ok":true}`)}})
	in := plugins.Call{ID: "c", Tool: "order", Input: order}
	allocs := testing.AllocsPerRun(200, func() {
		if _, err := r.Call(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > maxCallAllocs {
		t.Errorf("%v allocations, at most %d", allocs, maxCallAllocs)
	}
}
