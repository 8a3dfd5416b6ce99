package loader_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

// watching watches a directory as a program does, and gives what is told.
func watching(t testing.TB, d *loader.Dir, reg *plugins.Registry) <-chan loader.Change {
	t.Helper()
	if err := reg.Add(d.Tools()...); err != nil {
		t.Fatal(err)
	}
	changes := make(chan loader.Change)
	err := d.Watch(t.Context(), func(c loader.Change) {
		if err := reg.Replace(c.Old, c.New); err != nil {
			t.Error(err)
		}
		select {
		case changes <- c:
		case <-t.Context().Done():
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

// value calls a tool that answers with a number.
func value(t testing.TB, reg *plugins.Registry, tool string) int {
	res, err := reg.Call(context.Background(), plugins.Call{Tool: tool})
	if err != nil {
		t.Errorf("neither version: %v", err)
		return -1
	}
	n, err := strconv.Atoi(string(res.Value))
	if err != nil {
		t.Error(err)
	}
	return n
}

// await waits until tool p answers n. Between two renames it may be seen to be gone.
func await(t testing.TB, reg *plugins.Registry, changes <-chan loader.Change, n int) {
	t.Helper()
	for {
		for spec := range reg.Specs() {
			if spec.Name == "p" && value(t, reg, "p") == n {
				return
			}
		}
		<-changes
	}
}

// quick is a pace for tests: nothing in them depends on how long a look is away.
func quick(opts *loader.Options) *loader.Options {
	loader.SetPace(opts, time.Millisecond, 5*time.Millisecond)
	return opts
}

// What happens to files is heard of wherever it happens, and seen where nothing can be heard.
func TestWatch(t *testing.T) {
	rename := func(t *testing.T, from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	link := func(t *testing.T, target, path string) {
		if err := errors.Join(os.Symlink(target, path+".new"), os.Rename(path+".new", path)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name  string
		setUp func(t *testing.T, root string) // makes root/plugins with p of version 1
		do    func(t *testing.T, root string, n int)
	}{
		{"a file in place", func(t *testing.T, root string) {
			write(t, root, map[string][]byte{"plugins/p.wasm": version(1, "p")})
		}, func(t *testing.T, root string, n int) {
			write(t, root, map[string][]byte{"plugins/p.wasm": version(n, "p")})
		}},
		{"a folder's file renamed over", func(t *testing.T, root string) {
			write(t, root, map[string][]byte{"plugins/p/plugin.wasm": version(1, "p")})
		}, func(t *testing.T, root string, n int) {
			write(t, root, map[string][]byte{"plugins/p/.tmp": version(n, "p")})
			rename(t, filepath.Join(root, "plugins/p/.tmp"), filepath.Join(root, "plugins/p/plugin.wasm"))
		}},
		{"a linked file's target", func(t *testing.T, root string) {
			write(t, root, map[string][]byte{"out/p.wasm": version(1, "p"), "plugins/README": nil})
			link(t, "../out/p.wasm", filepath.Join(root, "plugins/p.wasm"))
		}, func(t *testing.T, root string, n int) {
			write(t, root, map[string][]byte{"out/p.wasm": version(n, "p")})
		}},
		{"a mounted volume's data", func(t *testing.T, root string) {
			write(t, root, map[string][]byte{"plugins/..1/p.wasm": version(1, "p")})
			link(t, "..1", filepath.Join(root, "plugins/..data"))
			link(t, "..data/p.wasm", filepath.Join(root, "plugins/p.wasm"))
		}, func(t *testing.T, root string, n int) {
			write(t, root, map[string][]byte{fmt.Sprintf("plugins/..%d/p.wasm", n): version(n, "p")})
			link(t, fmt.Sprint("..", n), filepath.Join(root, "plugins/..data"))
			if err := os.RemoveAll(filepath.Join(root, fmt.Sprint("plugins/..", n-1))); err != nil {
				t.Fatal(err)
			}
		}},
		{"the directory is a link", func(t *testing.T, root string) {
			write(t, root, map[string][]byte{"release1/p.wasm": version(1, "p")})
			link(t, "release1", filepath.Join(root, "plugins"))
		}, func(t *testing.T, root string, n int) {
			write(t, root, map[string][]byte{fmt.Sprintf("release%d/p.wasm", n): version(n, "p")})
			link(t, fmt.Sprint("release", n), filepath.Join(root, "plugins"))
		}},
		{"another directory in its place", func(t *testing.T, root string) {
			write(t, root, map[string][]byte{"plugins/p.wasm": version(1, "p")})
		}, func(t *testing.T, root string, n int) {
			write(t, root, map[string][]byte{"next/p.wasm": version(n, "p")})
			rename(t, filepath.Join(root, "plugins"), filepath.Join(root, fmt.Sprint("old", n)))
			rename(t, filepath.Join(root, "next"), filepath.Join(root, "plugins"))
		}},
	} {
		for _, blind := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, blind %v", tt.name, blind), func(t *testing.T) {
				root, opts, reg := t.TempDir(), settled(t), plugins.NewRegistry(nil)
				loader.SetPace(opts, time.Millisecond, time.Hour) // only what is heard brings a look
				if blind {
					loader.Blind(quick(opts))
				}
				tt.setUp(t, root)
				changes := watching(t, open(t, filepath.Join(root, "plugins"), opts), reg)
				for n := 2; n < 6; n++ {
					tt.do(t, root, n)
					await(t, reg, changes, n)
				}
			})
		}
	}
}

// A thousand writes, as fast as they come, end with the last; each change that is told is one.
func TestStorm(t *testing.T) {
	const writes = 1000
	dir, opts, reg := t.TempDir(), quick(options(t)), plugins.NewRegistry(nil)
	write(t, dir, map[string][]byte{"p.wasm": version(1, "p"), "still.wasm": version(7, "still")})
	changes := watching(t, open(t, dir, opts), reg)
	go func() {
		for n := 2; n <= writes; n++ {
			if n%2 == 0 { // in place
				write(t, dir, map[string][]byte{"p.wasm": version(n, "p")})
				continue
			}
			write(t, dir, map[string][]byte{".p.tmp": version(n, "p")})
			if err := os.Rename(filepath.Join(dir, ".p.tmp"), filepath.Join(dir, "p.wasm")); err != nil {
				t.Error(err)
			}
		}
	}()
	serves := 1
	for serves != writes {
		c := <-changes
		now := value(t, reg, "p")
		switch {
		case len(c.Refused) > 0 && len(c.Old)+len(c.New) == 0: // caught half written
		case !slices.Equal(c.Replaced, []string{"p"}) || len(c.Old) != 1 || len(c.New) != 1:
			t.Fatalf("told %+v", c)
		case now <= serves:
			t.Fatalf("version %d after %d", now, serves)
		}
		serves = now
	}
	if n := value(t, reg, "still"); n != 7 {
		t.Errorf("the plugin that nobody touched answers %d", n)
	}
	select {
	case c := <-changes:
		t.Errorf("told once more: %+v", c)
	default:
	}
}

// Under a storm of looks, in step with the writes, nothing counts before it was the same twice, and
// then it counts once.
func TestStormInStep(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string][]byte{"p.wasm": version(1, "p")})
	s := newScene(t, dir, options(t))
	for n := 2; n <= 1000; n++ {
		s.put("p.wasm", version(n, "p"))
		s.looks(1)
	}
	if have, news := s.answers(), s.news(); have != "p=1" || news != "" {
		t.Errorf("while it changed: %s, told %s", have, news)
	}
	s.looks(5)
	if have, news := s.answers(), s.news(); have != "p=1000" || news != "~p" {
		t.Errorf("after it: %s, told %s", have, news)
	}
}

// TestReplacedUnderLoad: every call is answered by one version or the other, and what is replaced
// leaves nothing behind.
func TestReplacedUnderLoad(t *testing.T) {
	const callers, warm, versions = 8, 6, 16
	dir, opts, reg := t.TempDir(), quick(options(t)), plugins.NewRegistry(nil)
	write(t, dir, map[string][]byte{"p.wasm": version(1, "p")})
	d := open(t, dir, opts)
	changes := watching(t, d, reg)
	value(t, reg, "p")
	one := loader.CodeUsed(d)      // what one version takes, in bytes
	var latest, calls atomic.Int64 // the version written last
	latest.Store(1)
	load := func(from, to int) {
		var all sync.WaitGroup
		stop := make(chan struct{})
		for range callers {
			all.Go(func() {
				for last := 0; ; calls.Add(1) {
					select {
					case <-stop:
						return
					default:
					}
					n := value(t, reg, "p")
					if n < last || int64(n) > latest.Load() {
						t.Errorf("version %d after %d", n, last)
						return
					}
					last = n
				}
			})
		}
		for n := from; n <= to; n++ {
			latest.Store(int64(n))
			write(t, dir, map[string][]byte{".tmp": version(n, "p")})
			if err := os.Rename(filepath.Join(dir, ".tmp"), filepath.Join(dir, "p.wasm")); err != nil {
				t.Error(err)
			}
			await(t, reg, changes, n)
		}
		close(stop)
		all.Wait()
		for loader.CodeUsed(d) > one+one/10 { // the last but one is about to go
			runtime.Gosched()
		}
	}
	load(2, warm)
	before := used(t)
	load(warm+1, warm+versions)
	const look = 4                   // what a look may hold while it lasts: less than one a version
	const slack, room = 16, 32 << 20 // the run-time maps its heap piece by piece
	if after := used(t); after.Goroutines > before.Goroutines+look ||
		after.Descriptors > before.Descriptors+look || after.Mappings > before.Mappings+slack ||
		after.Resident > before.Resident+room {
		t.Errorf("before %d versions: %+v, after them: %+v", versions, before, after)
	}
	if n := calls.Load(); n < 300 {
		t.Errorf("only %d calls", n)
	}
}

// used is hosttest.Used where that can be told.
func used(t *testing.T) (u hosttest.Usage) {
	if runtime.GOOS == "linux" {
		u = hosttest.Used(t)
	}
	return u
}

// A call that runs finishes on the version that it found, however often that is replaced.
func TestRunningCallFinishes(t *testing.T) {
	report := func(k *hosttest.Kit) asm.Instr {
		return k.Bytes(abi.AppendProgress(nil, &abi.Progress{Message: "runs"})) + asm.Call(k.Progress)
	}
	long := hosttest.Plugin{Name: "v", Tools: specs("p"), Stamp: true,
		Call: hosttest.Then(report, hosttest.Echo)}
	dir := t.TempDir()
	write(t, dir, map[string][]byte{"p.wasm": long.Bytes()})
	s := newScene(t, dir, options(t))
	running, end, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		res, err := s.reg.Call(context.Background(), plugins.Call{Tool: "p",
			Input:    json.RawMessage(`{"n":1}`),
			Progress: func(abi.Progress) { close(running); <-end }})
		if err == nil && string(res.Value) != `{"n":1}` {
			err = fmt.Errorf("answered %s", res.Value)
		}
		ended <- err
	}()
	<-running
	found := s.d.Tools()[0]
	for n := 2; n < 5; n++ {
		s.put("p.wasm", version(n, "p"))
		s.looks(2)
	}
	if have := s.answers(); have != "p=4" {
		t.Errorf("have %s", have)
	}
	close(end)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	// So does one that has found it and not begun.
	out, err := found.Invoke(t.Context(), plugins.Call{Tool: "p", Input: json.RawMessage(`{"n":2}`)})
	if err != nil || string(out.Value) != `{"n":2}` {
		t.Errorf("%s, %v", out.Value, err)
	}
	code := loader.CodeUsed(s.d)
	if out, err := found.Invoke(t.Context(), plugins.Call{Tool: "p"}); err == nil {
		t.Logf("%s", out.Value)
	}
	if after := loader.CodeUsed(s.d); after != code {
		t.Errorf("a version that was replaced is kept: %d bytes, then %d", code, after)
	}
}

func TestWatchEnds(t *testing.T) {
	d := open(t, t.TempDir(), options(t))
	enough := errors.New("enough")
	over, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	for _, tt := range []struct {
		ctx  context.Context
		want error
	}{{over, enough}, {context.Background(), nil}, {context.Background(), loader.ErrWatched}} {
		if err := d.Watch(tt.ctx, nil); err != tt.want {
			t.Errorf("%v, want %v", err, tt.want)
		}
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if err := d.Watch(context.Background(), nil); err != host.ErrClosed {
		t.Errorf("closed: %v", err)
	}
}

// What changed between opening and watching, or between two watches, is not missed.
func TestWatchBeginsWhereTheListEnds(t *testing.T) {
	dir, opts := t.TempDir(), quick(options(t))
	write(t, dir, map[string][]byte{"p.wasm": version(1, "p"), "q.wasm": version(1, "q")})
	d := open(t, dir, opts)
	for n := 2; n < 5; n++ {
		write(t, dir, map[string][]byte{"p.wasm": version(n, "p"), "q.wasm": spoilt("q")})
		ctx, cancel := context.WithCancel(t.Context())
		seen := make(chan struct{})
		told := func(c loader.Change) {
			if slices.Contains(c.Replaced, "p") {
				close(seen)
			}
		}
		err := d.Watch(ctx, told)
		for ; err == loader.ErrWatched; err = d.Watch(ctx, told) { // the one before is about to end
			runtime.Gosched()
		}
		if err != nil {
			t.Fatal(err)
		}
		<-seen
		cancel()
	}
	if p := plugin(t, d, "q"); p.Held == nil || p.Manifest.Version != "1" {
		t.Errorf("q is %+v", p)
	}
}
