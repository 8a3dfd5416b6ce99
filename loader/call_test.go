package loader_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/plugins"
)

// echo is a registry with a small plugin that gives its arguments back.
func echo(t testing.TB) *plugins.Registry {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, map[string][]byte{"echo.wasm": hosttest.Tiny("echo")})
	reg := plugins.NewRegistry(nil)
	if err := reg.Add(open(t, dir, options(t)).Tools()...); err != nil {
		t.Fatal(err)
	}
	return reg
}

func textOf(size int) json.RawMessage {
	return json.RawMessage(`{"text":"` + strings.Repeat("a", size) + `"}`)
}

func result(t testing.TB, reg *plugins.Registry, input json.RawMessage) json.RawMessage {
	t.Helper()
	res, err := reg.Call(t.Context(), plugins.Call{Tool: "echo", Input: input})
	if err != nil {
		t.Fatal(err)
	}
	return res.Value
}

// Calls share buffers, small ones and those too large to be kept; their results share nothing.
func TestResultsStay(t *testing.T) {
	reg := echo(t)
	var inputs, results []json.RawMessage
	for i, size := range []int{10, 10, 60_000, 100, 2 << 20, 2 << 20, 10} {
		inputs = append(inputs, fmt.Appendf(nil, `{"n":%d,"text":%q}`, i, strings.Repeat("é", size/2)))
		results = append(results, result(t, reg, inputs[i]))
	}
	for i := range results {
		if string(results[i]) != string(inputs[i]) {
			t.Errorf("result %d is %.40s, was %.40s", i, results[i], inputs[i])
		}
	}
}

// A call allocates its result and nothing else.
func TestCallAllocatesItsResult(t *testing.T) {
	reg, input := echo(t), textOf(80)
	allocs := testing.AllocsPerRun(1000, func() { result(t, reg, input) })
	// Pools may be emptied by a garbage collection, once in a while.
	if allocs > 1 && !raceEnabled {
		t.Errorf("a call allocates %v times", allocs)
	}
}

// BenchmarkCall is a call of a small plugin with JSON arguments, through a registry.
func BenchmarkCall(b *testing.B) {
	reg := echo(b)
	for name, size := range map[string]int{"100B": 80, "10KB": 10 << 10} {
		input := textOf(size)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				result(b, reg, input)
			}
		})
	}
}

// TestOutput pins that a caller hears what a guest prints, as it is and as it comes, also while the
// log has it.
func TestOutput(t *testing.T) {
	says := hosttest.Plugin{Name: "says", Call: hosttest.Then(hosttest.Print(1, "out\xff"),
		hosttest.Print(2, "err\n"), hosttest.OK)}
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo} {
		var log strings.Builder
		opts := options(t)
		opts.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level}))
		dir := t.TempDir()
		write(t, dir, map[string][]byte{"says.wasm": says.Bytes()})
		reg := plugins.NewRegistry(nil)
		if err := reg.Add(open(t, dir, opts).Tools()...); err != nil {
			t.Fatal(err)
		}
		var heard []string
		_, err := reg.Call(t.Context(), plugins.Call{Tool: "says", Output: func(stderr bool, b []byte) {
			heard = append(heard, fmt.Sprintf("%v %q", stderr, b))
		}})
		if err != nil || !slices.Equal(heard, []string{`false "out\xff"`, `true "err\n"`}) {
			t.Errorf("%s: heard %q, %v", level, heard, err)
		}
		if logged := strings.Contains(log.String(), "msg=err tool=says stream=stderr"); logged !=
			(level == slog.LevelDebug) {
			t.Errorf("%s: the log is %s", level, log.String())
		}
	}
}
