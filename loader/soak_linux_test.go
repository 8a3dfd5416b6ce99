package loader_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/plugins"
)

// usage is what this process holds.
type usage struct{ goroutines, files, mappings, resident int }

func measure(t *testing.T) (u usage) {
	t.Helper()
	for range 3 { // code is unmapped by finalizers, which run behind a collection
		runtime.GC()
	}
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var total int
	if _, err := fmt.Sscan(string(statm), &total, &u.resident); err != nil {
		t.Fatal(err)
	}
	u.goroutines, u.files = runtime.NumGoroutine(), len(files)
	u.mappings, u.resident = bytes.Count(maps, []byte("\n")), u.resident*os.Getpagesize()
	return u
}

// Plugins that come and go for a long time leave nothing behind: each call loads one and closes another.
// In between there are calls that load nothing.
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
	before := measure(t)
	work(warm, warm+loads)
	after := measure(t)
	const slack, room = 8, 24 << 20 // the run-time maps its heap piece by piece
	if after.goroutines > before.goroutines || after.files > before.files ||
		after.mappings > before.mappings+slack || after.resident > before.resident+room {
		t.Errorf("before %d loads: %+v, after them: %+v", loads, before, after)
	}
}
