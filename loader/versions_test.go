package loader_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

// What is kept fits; one byte more, and what was needed longest ago goes.
func TestVersionsAtTheirEdge(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "versions")
	const max = 30
	for _, tt := range []struct {
		name string
		size int    // of the last of three; the others have 10 bytes
		want string // those that are kept
	}{
		{"all fit", 10, "abc"},
		{"one byte more", 11, "bc"},
		{"room for itself alone", 30, "c"},
		{"too large, and needed", 31, "c"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			start, put, has := loader.NewVersions(dir, max)
			if err := errors.Join(os.RemoveAll(dir), start()); err != nil {
				t.Fatal(err)
			}
			for i, size := range []int{10, 10, tt.size} {
				name := string(rune('a' + i))
				if err := put(name, make([]byte, size)); err != nil {
					t.Fatal(err)
				}
				if i < 2 { // the system's clock has steps
					at := early.Add(time.Duration(i) * time.Hour)
					if err := os.Chtimes(filepath.Join(dir, name+".wasm"), at, at); err != nil {
						t.Fatal(err)
					}
				}
			}
			kept := ""
			for _, name := range []string{"a", "b", "c"} {
				if has(name) {
					kept += name
				}
			}
			if kept != tt.want {
				t.Errorf("kept %q, want %q", kept, tt.want)
			}
		})
	}
}

// Bytes that somebody has touched are not what is kept.
func TestKeptVersionIsHashed(t *testing.T) {
	dir, opts := t.TempDir(), options(t)
	write(t, dir, map[string][]byte{"p.wasm": version(1, "p")})
	opts.CodeMemory = 1
	s := newScene(t, dir, opts)
	s.put("p.wasm", []byte("no module"))
	s.looks(2)
	files, err := filepath.Glob(filepath.Join(opts.CacheDir, "versions", "*.wasm"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	s.must(os.WriteFile(files[0], version(3, "p"), 0o600))
	_, err = s.reg.Call(t.Context(), plugins.Call{Tool: "p"})
	if _, ok := errors.AsType[*loader.ChangedError](err); !ok {
		t.Errorf("%v", err)
	}
}
