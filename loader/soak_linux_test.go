package loader_test

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/plugins"
)

// Plugins that come and go for a long time leave nothing behind: each call loads one and closes
// another. In between there are calls that load nothing.
func TestLoadsAndCallsLeaveNothing(t *testing.T) {
	const warm = 40
	loads, callsEach := 60, 10 // and so many calls of each load
	if os.Getenv("WASMAGENT_LONG") != "" {
		loads = 1000
	}
	dir := t.TempDir()
	names := make([]string, 20)
	for i := range names {
		names[i] = fmt.Sprint("p", i)
		write(t, dir, map[string][]byte{
			names[i] + ".wasm": hosttest.Plugin{Name: names[i], Stamp: true, Pages: 16}.Bytes()})
	}
	opts := options(t)
	opts.CodeMemory = 1
	d := open(t, dir, opts)
	reg := plugins.NewRegistry(nil)
	if err := reg.Add(d.Tools()...); err != nil {
		t.Fatal(err)
	}
	work := func(from, to int) {
		for i := from; i < to; i++ {
			for n := range callsEach {
				input := fmt.Sprintf(`{"load":%d,"call":%d}`, i, n)
				result, err := reg.Call(t.Context(), plugins.Call{Tool: names[i%len(names)],
					Input: json.RawMessage(input)})
				if err != nil || string(result.Value) != input {
					t.Fatalf("%s: %s, %v", input, result.Value, err)
				}
			}
		}
	}
	work(0, warm)
	before := hosttest.Used(t)
	work(warm, warm+loads)
	after := hosttest.Used(t)
	const slack, room = 8, 24 << 20 // the run-time maps its heap piece by piece
	if after.Goroutines > before.Goroutines || after.Descriptors > before.Descriptors ||
		after.Mappings > before.Mappings+slack || after.Resident > before.Resident+room {
		t.Errorf("before %d loads: %+v, after them: %+v", loads, before, after)
	}
}
