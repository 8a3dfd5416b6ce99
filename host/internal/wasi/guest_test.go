package wasi

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/sys"
)

const guestSays = `args [tool -v] env [A=b]
stdin at its end: true
file refused: true not there: false
armed while initialising: fired
slept long enough: true
after a minute
`

// TestGoGuest runs a program of Go's own tool chain, twice alike under fixed time and randomness,
// and once more under the real ones with waits that a fake clock makes short.
func TestGoGuest(t *testing.T) {
	run := startGuests(t, buildGuest(t))
	var last string
	for range 2 {
		out, errs := run(&State{Fixed: &Fixed{
			Wall: time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC).UnixNano(), Mono: 1,
		}})
		if !strings.HasPrefix(out, guestSays) || errs != "a word on stderr\n" {
			t.Fatalf("says %s\nand %s", out, errs)
		}
		if !strings.Contains(out, "now 2001-02-03T06:06:06Z") {
			t.Errorf("says the wrong time: %s", out)
		}
		if last != "" && out != last {
			t.Errorf("says now %s\nbefore %s", out, last)
		}
		last = out
	}
	clock := NewClock(0)
	skip := func(_ context.Context, d time.Duration) error {
		clock.after += int64(d)
		return nil
	}
	out, _ := run(&State{Clock: clock, Wait: skip})
	if !strings.HasPrefix(out, guestSays) || out == last {
		t.Errorf("in real time it says %s", out)
	}
}

func buildGuest(t *testing.T) []byte {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a guest")
	}
	file := filepath.Join(t.TempDir(), "guest.wasm")
	build := exec.Command("go", "build", "-o", file, "./testdata/guest")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	wasm, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// key finds the State of a call, as a host would.
type key struct{}

// startGuests compiles the guest once and gives what runs it to its end with a State.
func startGuests(t *testing.T, wasm []byte) func(*State) (out, errs string) {
	t.Helper()
	ctx := t.Context()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	t.Cleanup(func() { _ = rt.Close(context.Background()) })
	host := rt.NewHostModuleBuilder(Module)
	find := func(ctx context.Context) *State { return ctx.Value(key{}).(*State) }
	for _, f := range Functions(find) {
		host.NewFunctionBuilder().WithGoModuleFunction(f.Call, f.Params, f.Results).Export(f.Name)
	}
	if _, err := host.Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	compiled, err := rt.CompileModule(ctx, wasm)
	if err != nil {
		t.Fatal(err)
	}
	return func(s *State) (string, string) {
		t.Helper()
		var stdout, stderr strings.Builder
		s.Args, s.Env = []string{"tool", "-v"}, []string{"A=b"}
		s.Stdout, s.Stderr = &stdout, &stderr
		_, err := rt.InstantiateModule(context.WithValue(ctx, key{}, s), compiled,
			wazero.NewModuleConfig().WithName(""))
		var exit *sys.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 3 {
			t.Fatalf("ends with %v\n%s%s", err, stdout.String(), stderr.String())
		}
		return stdout.String(), stderr.String()
	}
}
