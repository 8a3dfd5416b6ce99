package host_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
)

var cacheKey = []byte("0123456789abcdef")

// cached is an engine on a cache directory, and what it logs.
func cached(t testing.TB, dir string, key []byte) (*host.Engine, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	e, err := host.New(context.Background(), &host.Config{CacheDir: dir, CacheKey: key,
		Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e, &log
}

// compileOnce makes a plugin in an engine of its own on the cache, calls it, and gives the log.
func compileOnce(t *testing.T, dir string, key []byte) string {
	t.Helper()
	e, log := cached(t, dir, key)
	m := hosttest.Compile(t, e, hosttest.Tiny("t"), host.Policy{})
	if reply, err := call(t.Context(), m, "hi", nil); string(reply) != okReply("hi") {
		t.Errorf("%q, %v", reply, err)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
	return log.String()
}

// entries lists the files of a cache directory, but for those of processes.
func entries(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), "run-") {
			return filepath.SkipDir
		}
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// One entry a module, written once, and nothing else is left in the directory.
func TestCacheKeepsEntries(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "here")
	if log := compileOnce(t, dir, cacheKey); log != "" {
		t.Error(log)
	}
	files := entries(t, dir)
	if len(files) != 1 {
		t.Fatalf("%q", files)
	}
	first, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if log := compileOnce(t, dir, cacheKey); log != "" {
		t.Error(log)
	}
	second, err := os.Stat(files[0])
	if err != nil || !os.SameFile(first, second) || !slices.Equal(entries(t, dir), files) {
		t.Errorf("the entry was written again: %v", err)
	}
	if list, _ := filepath.Glob(filepath.Join(dir, "run-*")); len(list) != 0 {
		t.Errorf("left behind: %q", list)
	}
}

// An entry that is not, to the last bit, what this installation wrote for this module is never
// loaded: it is made anew, and good again afterwards.
func TestCacheRefusesBadEntries(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(b []byte) []byte
	}{
		{"a bit of the code", func(b []byte) []byte { b[len(b)-1] ^= 1; return b }},
		{"a bit of the name", func(b []byte) []byte { b[33] ^= 1; return b }},
		{"a bit of the seal", func(b []byte) []byte { b[0] ^= 1; return b }},
		{"cut", func(b []byte) []byte { return b[:len(b)-1] }},
		{"longer", func(b []byte) []byte { return append(b, 0) }},
		{"only a seal", func(b []byte) []byte { return b[:32] }},
		{"empty", func([]byte) []byte { return nil }},
	} {
		dir := t.TempDir()
		compileOnce(t, dir, cacheKey)
		file := entries(t, dir)[0]
		good, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, c.damage(slices.Clone(good)), 0o600); err != nil {
			t.Fatal(err)
		}
		if log := compileOnce(t, dir, cacheKey); !strings.Contains(log, "is made anew") {
			t.Errorf("%s: not noticed: %s", c.name, log)
		}
		if again, err := os.ReadFile(file); err != nil || !bytes.Equal(again, good) {
			t.Errorf("%s: the entry was not mended: %v", c.name, err)
		}
	}
}

// An entry of another key, or of another module, is a bad one.
func TestCacheEntriesAreBound(t *testing.T) {
	dir := t.TempDir()
	compileOnce(t, dir, cacheKey)
	log := compileOnce(t, dir, []byte("another key, 16+"))
	if !strings.Contains(log, "is made anew") {
		t.Errorf("another key: %s", log)
	}

	dir = t.TempDir()
	e, _ := cached(t, dir, cacheKey)
	hosttest.Compile(t, e, hosttest.Tiny("other"), host.Policy{})
	other := entries(t, dir)[0]
	compileOnce(t, dir, cacheKey)
	files := entries(t, dir)
	mine := files[1-slices.Index(files, other)]
	b, err := os.ReadFile(other)
	if err == nil {
		err = os.WriteFile(mine, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if log := compileOnce(t, dir, cacheKey); !strings.Contains(log, "is made anew") {
		t.Errorf("another module: %s", log)
	}
}

// What an entry tells of a module is what the module told.
func TestCacheKeepsFacts(t *testing.T) {
	dir := t.TempDir()
	for name, change := range map[string]func(*asm.Module){
		"no pages": func(m *asm.Module) { m.Section(asm.SectionMemory, "\x01\x00\x00") },
		"blockers": func(m *asm.Module) { m.Global("externref", true, asm.RefNull("externref")) },
		"start":    func(m *asm.Module) { m.Start(m.Func("", "", asm.Unreachable)) },
		"needs":    func(m *asm.Module) {},
	} {
		p := hosttest.Plugin{Name: "t", Change: change}
		if name == "needs" {
			p.Needs.KV = new(abi.KVNeed)
		}
		var got [3]string
		for i := range got {
			e, log := cached(t, dir, cacheKey)
			m, err := e.Compile(t.Context(), p.Bytes(), host.Policy{})
			got[i] = fmt.Sprint(err)
			if err == nil {
				road, why := m.Road()
				got[i] = fmt.Sprint(road, why, m.Size())
			}
			if log.Len() > 0 {
				t.Error(log)
			}
		}
		if got[0] != got[1] || got[1] != got[2] {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// An entry that is authentic and of no use to this processor is replaced.
func TestCacheReplacesUselessEntries(t *testing.T) {
	dir := t.TempDir()
	compileOnce(t, dir, cacheKey)
	file := entries(t, dir)[0]
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := host.ReplaceEntry(dir, cacheKey, hosttest.Tiny("t"), strings.Repeat("ab", 32),
		[]byte("code of another machine")); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(file); bytes.Equal(b, good) {
		t.Fatal("the entry was not replaced")
	}
	compileOnce(t, dir, cacheKey)
	if again, err := os.ReadFile(file); err != nil || !bytes.Equal(again, good) {
		t.Errorf("the entry was not made again: %v", err)
	}
}

// Compiled code is bound to the very version of the engine that go.mod names.
func TestCacheKnowsEngineVersion(t *testing.T) {
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(mod), "github.com/tetratelabs/"+host.EngineVersion+"\n") &&
		!strings.Contains(string(mod), "github.com/tetratelabs/"+host.EngineVersion+" ") {
		t.Errorf("go.mod has another version than %s", host.EngineVersion)
	}
}

// What a killed process left, and entries that nobody has used for a month, are removed; what
// others still use is not.
func TestCacheIsTidied(t *testing.T) {
	dir := t.TempDir()
	living, _ := cached(t, dir, cacheKey)
	hosttest.Compile(t, living, hosttest.Tiny("unused"), host.Policy{})
	unused := entries(t, host.EntriesDir(living))[0]
	hosttest.Compile(t, living, hosttest.Tiny("t"), host.Policy{})
	killed := filepath.Join(dir, "run-killed")
	if err := os.MkdirAll(filepath.Join(killed, "engine"), 0o700); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-31 * 24 * time.Hour)
	runs, _ := filepath.Glob(filepath.Join(dir, "run-*"))
	for _, path := range append(runs, unused) {
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}

	compileOnce(t, dir, cacheKey)
	for _, path := range []string{killed, unused} {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
	hosttest.Compile(t, living, hosttest.Tiny("later"), host.Policy{}) // its directory is still there
}

// A directory into which others could put machine code is refused, and so is a key that is too
// short.
func TestCacheDirectoryIsChecked(t *testing.T) {
	open := func(dir string, key []byte) error {
		e, err := host.New(t.Context(), &host.Config{CacheDir: dir, CacheKey: key})
		if err == nil {
			err = e.Close(t.Context())
		}
		return err
	}
	dir := t.TempDir()
	if err := open(dir, cacheKey[:host.MinCacheKey]); err != nil {
		t.Error(err)
	}
	if err := open(dir, cacheKey[:host.MinCacheKey-1]); err == nil {
		t.Error("a key of 15 bytes was accepted")
	}
	if runtime.GOOS == "windows" {
		return
	}
	for _, mode := range []os.FileMode{0o720, 0o702} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		if err := open(dir, cacheKey); err == nil || !strings.Contains(err.Error(), "chmod 700") {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
}

// Several processes, here several engines, share one directory while entries come and go.
func TestCacheIsShared(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 4 {
		e, _ := cached(t, dir, cacheKey)
		wg.Go(func() {
			for i := range 10 {
				name := fmt.Sprintf("t%d", i)
				m, err := e.Compile(t.Context(), hosttest.Tiny(name), host.Policy{})
				if err != nil {
					t.Error(err)
					return
				}
				if reply, err := call(t.Context(), m, name, nil); string(reply) != okReply(name) {
					t.Errorf("%s: %q, %v", name, reply, err)
				}
			}
		})
	}
	wg.Wait()
}

// Many compiles of the same bytes at a time are one.
func TestCacheOneFlight(t *testing.T) {
	dir := t.TempDir()
	compileOnce(t, dir, cacheKey)
	e, log := cached(t, dir, cacheKey)
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			m, err := e.Compile(t.Context(), hosttest.Tiny("t"), host.Policy{})
			if err != nil {
				t.Error(err)
				return
			}
			if err := m.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if log.Len() > 0 {
		t.Error(log)
	}
}
