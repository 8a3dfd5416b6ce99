package loader_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

// three puts plugins a, b and c, stamped, into a directory.
func three(t *testing.T) (dir string, file func(name string) string) {
	dir = t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		write(t, dir, map[string][]byte{
			name + ".wasm": hosttest.Plugin{Name: name, Stamp: true}.Bytes()})
	}
	return dir, func(name string) string { return filepath.Join(dir, name+".wasm") }
}

// calls calls tools one after the other; each must give back what it was given.
func calls(t *testing.T, d *loader.Dir, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		input := fmt.Sprintf(`{"to":%q}`, tool)
		if result, err := call(t, d, tool, input); err != nil || string(result.Value) != input {
			t.Errorf("%s: %s, %v", tool, result.Value, err)
		}
	}
}

// Compiled plugins stay as long as all fit; one byte less, and the one used longest ago goes and
// comes back when it is called.
func TestCodeMemoryAtItsEdge(t *testing.T) {
	dir, file := three(t)
	opts := options(t)
	d := open(t, dir, opts)
	calls(t, d, "a", "b")
	both := loader.CodeUsed(d)
	calls(t, d, "c")
	all := loader.CodeUsed(d)
	if both <= 0 || all <= both {
		t.Fatalf("two take %d bytes, three %d", both, all)
	}
	for _, c := range []struct {
		memory int64
		order  []string
		want   [3]int // compiles of a, b and c
	}{
		{all, []string{"a", "b", "c", "a", "b", "c"}, [3]int{1, 1, 1}},
		{all - 1, []string{"a", "b", "c", "b", "c"}, [3]int{1, 1, 1}},
		{all - 1, []string{"a", "b", "c", "a"}, [3]int{2, 1, 1}},
		{all - 1, []string{"a", "b", "a", "c", "a", "b"}, [3]int{1, 2, 1}},
		{both, []string{"a", "b", "a", "b"}, [3]int{1, 1, 0}},
		{both - 1, []string{"a", "b", "a", "b"}, [3]int{2, 2, 0}},
		{1, []string{"a", "a", "b", "b", "a"}, [3]int{2, 1, 0}},
	} {
		opts := *opts // the list is kept there, so that each read is a compile
		opts.CodeMemory = c.memory
		reads := loader.CountReads(&opts)
		d := open(t, dir, &opts)
		before := [3]int{reads(file("a")), reads(file("b")), reads(file("c"))}
		calls(t, d, c.order...)
		got := [3]int{reads(file("a")) - before[0], reads(file("b")) - before[1],
			reads(file("c")) - before[2]}
		if got != c.want {
			t.Errorf("%d bytes, calls of %v: compiled %v times, want %v",
				c.memory, c.order, got, c.want)
		}
	}
}

// What comes back is checked as at first: another file is not taken for the plugin that was listed.
func TestReturningPluginIsHashedAgain(t *testing.T) {
	dir, _ := three(t)
	opts := options(t)
	opts.CodeMemory = 1
	d := open(t, dir, opts)
	calls(t, d, "a", "b")
	write(t, dir, map[string][]byte{"a.wasm": hosttest.Plugin{Name: "a", Pad: 10}.Bytes()})
	_, err := call(t, d, "a", `{}`)
	if _, ok := errors.AsType[*loader.ChangedError](err); !ok {
		t.Errorf("%v", err)
	}
	calls(t, d, "b")
}

// A plugin that runs stays, however little room there is, and makes room when it has ended.
func TestRunningPluginStays(t *testing.T) {
	dir, file := three(t)
	report := func(k *hosttest.Kit) asm.Instr {
		return k.Bytes(abi.AppendProgress(nil, &abi.Progress{Message: "running"})) + asm.Call(k.Progress)
	}
	write(t, dir, map[string][]byte{"long.wasm": hosttest.Plugin{Name: "long", Stamp: true,
		Call: hosttest.Then(report, hosttest.Echo)}.Bytes()})
	opts := options(t)
	opts.CodeMemory = 1
	reads := loader.CountReads(opts)
	d := open(t, dir, opts)
	reg := plugins.NewRegistry(nil)
	if err := reg.Add(d.Tools()...); err != nil {
		t.Fatal(err)
	}
	running, end, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		result, err := reg.Call(context.Background(), plugins.Call{Tool: "long",
			Input:    json.RawMessage(`{"n":1}`),
			Progress: func(abi.Progress) { close(running); <-end }})
		if err != nil || string(result.Value) != `{"n":1}` {
			t.Errorf("%s, %v", result.Value, err)
		}
	}()
	<-running
	calls(t, d, "a", "b", "a")
	if got := reads(file("a")); got != 3 { // once to list it
		t.Errorf("a was read %d times", got)
	}
	close(end)
	<-ended
	before := loader.CodeUsed(d)
	calls(t, d, "b")
	if after := loader.CodeUsed(d); after > before {
		t.Errorf("%d bytes, then %d: the long call's plugin is kept", before, after)
	}
	if got := reads(file("long")); got != 2 {
		t.Errorf("long was read %d times", got)
	}
}

// Many callers of more plugins than fit all get their answers.
func TestCrowdedShelf(t *testing.T) {
	dir, _ := three(t)
	opts := options(t)
	opts.CodeMemory = 1
	d := open(t, dir, opts)
	reg := plugins.NewRegistry(nil)
	if err := reg.Add(d.Tools()...); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for g := range 16 {
		all.Go(func() {
			for i := range 10 {
				input := fmt.Sprintf(`{"g":%d,"i":%d}`, g, i)
				result, err := reg.Call(t.Context(), plugins.Call{
					Tool: string(rune('a' + (g+i)%3)), Input: json.RawMessage(input)})
				if err != nil || string(result.Value) != input {
					t.Errorf("%s: %s, %v", input, result.Value, err)
				}
			}
		})
	}
	all.Wait()
}

// Closing the directory does not wait for a compiler that takes its time; who waits for it is told.
func TestCloseWhileAChildCompiles(t *testing.T) {
	dir := t.TempDir()
	long := hosttest.Plugin{Name: "long", Stamp: true, Change: func(m *asm.Module) {
		m.Func("", "", asm.Repeat(1<<20, asm.Nop))
	}}
	write(t, dir, map[string][]byte{"long.wasm": long.Bytes()})
	opts := options(t)
	opts.CompileCommand = []string{"sleep", "3600"}
	reads := loader.CountReads(opts)
	d := open(t, dir, opts)
	reg := plugins.NewRegistry(nil)
	if err := reg.Add(d.Tools()...); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error)
	go func() {
		_, err := reg.Call(context.Background(), plugins.Call{Tool: "long", Input: json.RawMessage("{}")})
		failed <- err
	}()
	for reads(filepath.Join(dir, "long.wasm")) < 2 { // once to list it
		select {
		case err := <-failed:
			t.Fatal(err)
		default:
			runtime.Gosched()
		}
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if err := <-failed; !errors.Is(err, host.ErrClosed) {
		t.Errorf("%v", err)
	}
}
