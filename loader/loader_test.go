package loader_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// options keeps caches and state of a test to itself.
func options(t testing.TB) *loader.Options {
	root := t.TempDir()
	return &loader.Options{
		CacheDir: filepath.Join(root, "cache"), StateDir: filepath.Join(root, "state"),
	}
}

// write puts files into a directory, making folders on the way.
func write(t testing.TB, dir string, files map[string][]byte) {
	t.Helper()
	for name, data := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func open(t testing.TB, dir string, opts *loader.Options) *loader.Dir {
	t.Helper()
	d, err := loader.OpenDir(t.Context(), dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// plugin gives the plugin of a name.
func plugin(t testing.TB, d *loader.Dir, name string) loader.Plugin {
	t.Helper()
	for _, p := range d.Plugins() {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("no plugin %q in %v", name, d.Plugins())
	return loader.Plugin{}
}

func toolNames(d *loader.Dir) (names []string) {
	for _, t := range d.Tools() {
		names = append(names, t.Spec().Name)
	}
	return names
}

// call calls a tool of a directory as a program would: through a registry.
func call(t testing.TB, d *loader.Dir, tool, input string) (plugins.Result, error) {
	t.Helper()
	reg := plugins.NewRegistry(&plugins.Options{RetryWait: 1})
	if err := reg.Add(d.Tools()...); err != nil {
		t.Fatal(err)
	}
	return reg.Call(t.Context(), plugins.Call{ID: "c1", Tool: tool, Input: json.RawMessage(input)})
}

func TestOpenDir(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string][]byte{
		"greet.wasm":         hosttest.Tiny("greet", "hello", "goodbye"),
		"search/plugin.wasm": hosttest.Plugin{Name: "x", Tools: specs("find"), Stamp: true}.Bytes(),
		"search/plugin.toml": []byte("name = 'x'"),
		"README.md":          []byte("no plugin"),
		".hidden.wasm":       []byte("no plugin"),
		"notes/readme.txt":   []byte("no plugin"),
	})
	d := open(t, dir, options(t))
	if got, want := toolNames(d), []string{"hello", "goodbye", "find"}; !slices.Equal(got, want) {
		t.Errorf("tools %v, want %v", got, want)
	}
	if got := len(d.Plugins()); got != 2 {
		t.Fatalf("%d plugins, want 2: %+v", got, d.Plugins())
	}
	p := plugin(t, d, "search")
	if p.Err != nil || !strings.HasPrefix(p.Digest, "sha256:") || p.Manifest.Name != "x" {
		t.Errorf("search is %+v", p)
	}
	result, err := call(t, d, "hello", `{"name":"Ada","n":9007199254740993}`)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(result.Value), `{"name":"Ada","n":9007199254740993}`; got != want {
		t.Errorf("hello gives %s, want %s", got, want)
	}
}

// TestOpenDirCancelled has a caller that is gone: no plugin is read for it.
func TestOpenDirCancelled(t *testing.T) {
	dir, opts := t.TempDir(), options(t)
	write(t, dir, map[string][]byte{"a.wasm": hosttest.Tiny("a"), "b.wasm": hosttest.Tiny("b")})
	engine, err := loader.NewEngine(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close(t.Context())
	opts.Engine = engine
	reads := loader.CountReads(opts)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := loader.OpenDir(ctx, dir, opts); !errors.Is(err, cause) {
		t.Errorf("have %v, want the cause", err)
	}
	for _, name := range []string{"a.wasm", "b.wasm"} {
		if n := reads(filepath.Join(dir, name)); n != 0 {
			t.Errorf("%s was read %d times", name, n)
		}
	}
}

func specs(names ...string) (list []abi.ToolSpec) {
	for _, n := range names {
		list = append(list, abi.ToolSpec{Name: n, Description: "Gives its arguments back."})
	}
	return list
}

func TestOpenFile(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string][]byte{
		"greet.wasm":         hosttest.Tiny("greet"),
		"search/plugin.wasm": hosttest.Tiny("search"),
	})
	for path, want := range map[string]string{
		"greet.wasm": "greet", "search": "search", "search/plugin.wasm": "search",
	} {
		d, err := loader.OpenFile(t.Context(), filepath.Join(dir, path), options(t))
		if err != nil {
			t.Fatal(err)
		}
		if p := d.Plugins()[0]; p.Name != want || p.Err != nil {
			t.Errorf("%s is %+v, want the name %s", path, p, want)
		}
		if err := errors.Join(d.Close(), d.Close()); err != nil {
			t.Error(err)
		}
	}
	for _, path := range []string{"missing.wasm", "."} {
		if _, err := loader.OpenFile(t.Context(), filepath.Join(dir, path), options(t)); err == nil {
			t.Errorf("%s was opened", path)
		}
	}
}

// One broken plugin never hides the others, and each says what is wrong with it.
func TestBrokenBesideGood(t *testing.T) {
	dir := t.TempDir()
	good := hosttest.Tiny("good")
	write(t, dir, map[string][]byte{
		"good.wasm":          good,
		"empty.wasm":         {},
		"text.wasm":          []byte("not a module at all"),
		"cut.wasm":           good[:len(good)/2],
		"component.wasm":     []byte("\x00asm\x0d\x00\x01\x00"),
		"bad name!.wasm":     good,
		"no\x1b[31mway.wasm": good,
		"manifest.wasm":      hosttest.Plugin{Name: "m", Manifest: []byte{0xc1}}.Bytes(),
		"stamped.wasm":       hosttest.Plugin{Name: "m", Manifest: []byte{0xc1}, Stamp: true}.Bytes(),
		"describe.wasm":      hosttest.Plugin{Name: "d", Describe: hosttest.Trap}.Bytes(),
		"silent.wasm":        hosttest.Plugin{Name: "s", Describe: hosttest.Silent}.Bytes(),
		"wasmagent.toml":     []byte("[plugins.good]\nhttp = ['*']"),
		"approvals.toml":     []byte(""),
		"pwn/plugin.wasm":    good,
		"pwn/wasmagent.toml": []byte("[plugins.pwn]"),
		"twice.wasm":         hosttest.Tiny("twice_a"),
		"twice/plugin.wasm":  hosttest.Tiny("twice_b"),
	})
	if err := os.Mkdir(filepath.Join(dir, "folder.wasm"), 0o755); err != nil {
		t.Fatal(err)
	}
	d := open(t, dir, options(t))
	if got := toolNames(d); !slices.Equal(got, []string{"good"}) {
		t.Errorf("tools %v, want good alone", got)
	}
	for name, want := range map[string]string{
		"empty":          "",
		"text":           "",
		"cut":            "",
		"component":      "component",
		"bad name!":      "name must match",
		"noway":          "name must match",
		"manifest":       "",
		"stamped":        "",
		"describe":       "describe",
		"silent":         "describe",
		"wasmagent.toml": "no authority",
		"approvals.toml": "no authority",
		"pwn":            filepath.Join(dir, "pwn", "wasmagent.toml"),
		"twice":          "claimed by",
	} {
		p := plugin(t, d, name)
		if _, ok := errors.AsType[*loader.LoadError](p.Err); !ok {
			t.Errorf("%s: %T, want a LoadError", name, p.Err)
			continue
		}
		if text := p.Err.Error(); !strings.Contains(text, want) {
			t.Errorf("%s: %q does not say %q", name, text, want)
		} else if strings.Contains(text, "\x1b") {
			t.Errorf("%s: %q holds a terminal escape", name, text)
		}
	}
}

func TestCollisions(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string][]byte{
		"a.wasm": hosttest.Tiny("a", "shared", "only_a"),
		"b.wasm": hosttest.Tiny("b", "shared", "only_b"),
	})
	d := open(t, dir, options(t))
	if got, want := toolNames(d), []string{"only_a", "only_b"}; !slices.Equal(got, want) {
		t.Errorf("tools %v, want %v", got, want)
	}
	for _, p := range d.Plugins() {
		if len(p.Withheld) != 1 {
			t.Fatalf("%s withholds %v, want the shared tool", p.Name, p.Withheld)
		}
		text := p.Withheld[0].Error()
		for _, want := range []string{`"shared"`, "a.wasm", "b.wasm"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q does not name %s", text, want)
			}
		}
	}
}

// Nothing can be granted yet: what needs something is refused by name, listed from its stamp or
// not.
func TestNeedsAreRefused(t *testing.T) {
	needs := abi.Needs{
		HTTP:    []abi.HTTPNeed{{Host: "api.example.com"}, {Host: "maybe.example", Optional: true}},
		KV:      &abi.KVNeed{},
		Files:   []abi.FileNeed{{Guest: "/data", Mode: "ro"}},
		Env:     []abi.ValueNeed{{Name: "HOME"}},
		Config:  []abi.ValueNeed{{Name: "city"}, {Name: "unit", Default: "C"}},
		Secrets: []abi.ValueNeed{{Name: "TOKEN"}},
	}
	want := []string{
		"config city", "env HOME", "files /data ro", "http api.example.com", "kv", "secret TOKEN",
	}
	for _, stamp := range []bool{false, true} {
		dir := t.TempDir()
		write(t, dir, map[string][]byte{
			"net.wasm": hosttest.Plugin{Name: "net", Needs: needs, Stamp: stamp}.Bytes(),
		})
		p := plugin(t, open(t, dir, options(t)), "net")
		na, ok := errors.AsType[*loader.NotAllowedError](p.Err)
		if !ok {
			t.Fatalf("stamped %v: %v, want a NotAllowedError", stamp, p.Err)
		}
		for _, need := range na.Needs {
			if strings.Contains(need, "maybe") {
				t.Errorf("stamped %v: the optional need counts: %v", stamp, na.Needs)
			}
		}
		if stamp && !slices.Equal(na.Needs, want) {
			t.Errorf("stamped %v: needs %q, want %q", stamp, na.Needs, want)
		}
	}
}

// What runs is what was listed.
func TestFileChangesAfterListing(t *testing.T) {
	dir, opts := t.TempDir(), options(t)
	write(t, dir, map[string][]byte{"p.wasm": hosttest.Tiny("p")})
	d := open(t, dir, opts)
	write(t, dir, map[string][]byte{"p.wasm": hosttest.Plugin{Name: "p", Call: hosttest.OK}.Bytes()})
	_, err := call(t, d, "p", `{}`)
	if _, ok := errors.AsType[*loader.ChangedError](err); !ok {
		t.Errorf("%v, want a ChangedError", err)
	}
	if got := plugins.FaultOf(err); got != plugins.FaultHost {
		t.Errorf("the fault is %v's, want the host's", got)
	}
	result, err := call(t, open(t, dir, opts), "p", `{}`)
	if err != nil || string(result.Value) != "true" {
		t.Errorf("opened again: %s, %v", result.Value, err)
	}
}

func TestCallsSideBySide(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string][]byte{"p.wasm": hosttest.Tiny("p")})
	reg := plugins.NewRegistry(nil)
	if err := reg.Add(open(t, dir, options(t)).Tools()...); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			input := json.RawMessage(`{"n":` + string(rune('0'+i%10)) + `}`)
			got, err := reg.Call(t.Context(), plugins.Call{Tool: "p", Input: input})
			if err != nil || string(got.Value) != string(input) {
				t.Errorf("call %d gives %s, %v", i, got.Value, err)
			}
		})
	}
	wg.Wait()
}

func TestClosed(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string][]byte{"p.wasm": hosttest.Tiny("p")})
	d := open(t, dir, options(t))
	if _, err := call(t, d, "p", `{}`); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.Close(), d.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := call(t, d, "p", `{}`); !errors.Is(err, host.ErrClosed) {
		t.Errorf("a call of a closed directory gives %v", err)
	}
}

// A caller that gives up while the plugin compiles gets its own end, and the others their plugin.
func TestCallerGivesUpWhileLoading(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string][]byte{"p.wasm": hosttest.Tiny("p")})
	d := open(t, dir, options(t))
	ctx, cancel := context.WithCancelCause(t.Context())
	mine := errors.New("enough")
	cancel(mine)
	_, err := d.Tools()[0].Invoke(ctx, plugins.Call{Tool: "p", Input: json.RawMessage(`{}`)})
	if err != nil && !errors.Is(err, mine) {
		t.Errorf("%v, want the caller's own cause or a result", err)
	}
	if _, err := call(t, d, "p", `{}`); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

func TestTooManyPlugins(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []int{loader.MaxPlugins, loader.MaxPlugins + 1} {
		files := map[string][]byte{}
		for i := range n {
			files[strings.Repeat("a", 1+i%50)+"_"+itoa(i)+".wasm"] = nil
		}
		write(t, dir, files)
		_, err := loader.OpenDir(canceled(t), dir, options(t))
		over := err != nil && strings.Contains(err.Error(), "more than")
		if over != (n > loader.MaxPlugins) {
			t.Errorf("%d plugins: %v", n, err)
		}
	}
}

// canceled lets a directory be scanned and nothing be read.
func canceled(t testing.TB) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func itoa(i int) string {
	b, _ := json.Marshal(i)
	return string(b)
}
