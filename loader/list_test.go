package loader_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/loader"
)

// settled are options under which every file is old enough to be kept in a list.
func settled(t testing.TB) *loader.Options {
	opts := options(t)
	loader.SetNow(opts, func() time.Time { return time.Now().Add(time.Hour) })
	return opts
}

// listFile gives the one list kept below a cache directory.
func listFile(t testing.TB, opts *loader.Options) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(opts.CacheDir, "lists", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("lists %v, %v, want one", files, err)
	}
	return files[0]
}

// A plugin that is listed from what is kept is neither read nor run: here the file's bytes can no
// longer be read as a plugin, and nobody notices until it is called.
func TestListIsKept(t *testing.T) {
	dir, opts := t.TempDir(), settled(t)
	path := filepath.Join(dir, "p.wasm")
	wasm := hosttest.Tiny("p")
	write(t, dir, map[string][]byte{"p.wasm": wasm})
	first := plugin(t, open(t, dir, opts), "p")

	reads := loader.CountReads(opts)
	if second := plugin(t, open(t, dir, opts), "p"); second.Digest != first.Digest {
		t.Errorf("listed again: digest %s, was %s", second.Digest, first.Digest)
	}
	if n := reads(path); n != 0 {
		t.Errorf("the plugin was read %d times to be listed again", n)
	}
	if err := os.WriteFile(path, append(wasm, 0), 0o644); err != nil {
		t.Fatal(err)
	}
	open(t, dir, opts)
	if n := reads(path); n != 1 {
		t.Errorf("the changed plugin was read %d times, want 1", n)
	}
}

// A list that is not ours, or is of another directory, counts as none.
func TestListIsSealed(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, file string){
		"flipped": func(t *testing.T, file string) {
			b, _ := os.ReadFile(file)
			os.WriteFile(file, bytes.Replace(b, []byte("sha256:"), []byte("sha256:0"), 1), 0o600)
		},
		"cut": func(t *testing.T, file string) {
			b, _ := os.ReadFile(file)
			os.WriteFile(file, b[:len(b)/2], 0o600)
		},
		"empty":   func(t *testing.T, file string) { os.WriteFile(file, nil, 0o600) },
		"deleted": func(t *testing.T, file string) { os.Remove(file) },
		"folder": func(t *testing.T, file string) {
			os.Remove(file)
			os.Mkdir(file, 0o700)
		},
		"unsealed": func(t *testing.T, file string) {
			os.WriteFile(file, []byte(`{"MAC":"","Body":{"Version":1,"Plugins":{}}}`), 0o600)
		},
		"of another directory": func(t *testing.T, file string) {
			other := t.TempDir()
			write(t, other, map[string][]byte{"p.wasm": hosttest.Tiny("other")})
			opts := settled(t)
			opts.StateDir = filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(file))), "state")
			open(t, other, opts)
			b, err := os.ReadFile(listFile(t, opts))
			if err != nil {
				t.Fatal(err)
			}
			os.WriteFile(file, b, 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, opts := t.TempDir(), settled(t)
			write(t, dir, map[string][]byte{"p.wasm": hosttest.Tiny("p")})
			want := plugin(t, open(t, dir, opts), "p")
			spoil(t, listFile(t, opts))

			reads := loader.CountReads(opts)
			got := plugin(t, open(t, dir, opts), "p")
			if got.Digest != want.Digest || got.Err != nil {
				t.Errorf("listed %+v, want %+v", got, want)
			}
			if reads(got.Path) != 1 {
				t.Error("the plugin was listed from a list that cannot be trusted")
			}
		})
	}
}

// A file as young as the step of a file system's clock may change without a trace, and is not kept.
func TestYoungFilesAreNotKept(t *testing.T) {
	dir, opts := t.TempDir(), options(t)
	write(t, dir, map[string][]byte{"p.wasm": hosttest.Tiny("p")})
	info, err := os.Stat(filepath.Join(dir, "p.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		age  time.Duration
		want int // reads when it is listed again
	}{{loader.RacyWindow - 1, 1}, {loader.RacyWindow, 0}} {
		loader.SetNow(opts, func() time.Time { return info.ModTime().Add(c.age) })
		open(t, dir, opts)
		reads := loader.CountReads(opts)
		p := plugin(t, open(t, dir, opts), "p")
		if n := reads(p.Path); n != c.want {
			t.Errorf("at the age of %v: read %d times, want %d", c.age, n, c.want)
		}
	}
}

func TestSealKeyMustBePrivate(t *testing.T) {
	dir, opts := t.TempDir(), options(t)
	open(t, dir, opts)
	key := filepath.Join(opts.StateDir, "cache.key")
	info, err := os.Stat(key)
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() != 32 {
		t.Fatalf("the key is %v, %v", info, err)
	}
	if err := os.Chmod(key, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := loader.OpenDir(t.Context(), dir, opts); err == nil {
		t.Error("a key that others can read was taken")
	}
	if err := os.WriteFile(key, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	os.Chmod(key, 0o600)
	if _, err := loader.OpenDir(t.Context(), dir, opts); err == nil {
		t.Error("a short key was taken")
	}
}

// BenchmarkList is the second start of a directory of 1,000 plugins: to a full list of tools.
func BenchmarkList(b *testing.B) {
	for name, pad := range map[string]int{"small": 0, "3MB": 3 << 20} {
		b.Run(name, func(b *testing.B) {
			dir, opts := b.TempDir(), settled(b)
			for i := range 1000 {
				n := fmt.Sprintf("plugin_%04d", i)
				p := hosttest.Plugin{Name: n, Stamp: true, Pad: pad}
				write(b, dir, map[string][]byte{n + ".wasm": p.Bytes()})
			}
			open(b, dir, opts)
			for b.Loop() {
				d, err := loader.OpenDir(b.Context(), dir, opts)
				if err != nil || len(d.Tools()) != 1000 {
					b.Fatal(len(d.Tools()), err)
				}
				if err := d.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A key file of a wrong length says what to do about it.
func TestKeyOfWrongLength(t *testing.T) {
	for _, n := range []int{0, 31, 33} {
		opts := options(t)
		path := filepath.Join(opts.StateDir, "cache.key")
		write(t, opts.StateDir, map[string][]byte{"cache.key": make([]byte, n)})
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := loader.OpenDir(t.Context(), t.TempDir(), opts)
		want := fmt.Sprintf("cache key %s: %d bytes instead of 32: remove it", path, n)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// What a process left that was killed while it made the key goes once it is old, and nothing else.
func TestKeyLeftovers(t *testing.T) {
	for _, c := range []struct {
		name string
		age  time.Duration
		want bool // it stays
	}{
		{"cache.key.1234", 2 * time.Hour, false},
		{"cache.key.1234", time.Minute, true}, // its maker may be at work
		{"cache.key", 2 * time.Hour, true},
		{"cache.keys", 2 * time.Hour, true},
		{"other.1234", 2 * time.Hour, true},
	} {
		opts := options(t)
		write(t, opts.StateDir, map[string][]byte{c.name: make([]byte, 32)})
		path, then := filepath.Join(opts.StateDir, c.name), time.Now().Add(-c.age)
		if err := errors.Join(os.Chmod(path, 0o600), os.Chtimes(path, then, then)); err != nil {
			t.Fatal(err)
		}
		open(t, t.TempDir(), opts)
		if _, err := os.Stat(path); (err == nil) != c.want {
			t.Errorf("%s of %v: %v, want it to stay: %v", c.name, c.age, err, c.want)
		}
	}
}
