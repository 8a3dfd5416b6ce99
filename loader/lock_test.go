package loader_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/loader"
)

// A lock refuses what it does not pin, and permits nothing.
func TestLock(t *testing.T) {
	for _, c := range []struct{ name, lock, want string }{
		{"none", "", ""},
		{"pinned", "[plugins]\nsolo = \"SOLO\"\nfolder = \"FOLDER\"\n", ""},
		{"another", "[plugins]\nsolo = \"sha256:00\"\nfolder = \"FOLDER\"\n",
			"pins another file (sha256:00, have"},
		{"missing", "[plugins]\nfolder = \"FOLDER\"\n", "does not have it"},
		{"no digest", "[plugins]\nsolo = 5\nfolder = \"FOLDER\"\n", "does not have it"},
		{"empty", "[plugins]\n", "does not have it"},
		{"nothing", "#\n", "want one table"},
		{"more", "[grants]\nsolo = true\n[plugins]\n", "want one table"},
		{"no TOML", "plugins = ", "line 1: "},
		{"large", strings.Repeat("#", 2<<20+1), "more than 2097152 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, opts := t.TempDir(), options(t)
			write(t, dir, map[string][]byte{
				"solo.wasm": hosttest.Tiny("solo"), "folder/plugin.wasm": hosttest.Tiny("folder"),
			})
			d := open(t, dir, opts)
			text := strings.NewReplacer("SOLO", plugin(t, d, "solo").Digest,
				"FOLDER", plugin(t, d, "folder").Digest).Replace(c.lock)
			if c.lock != "" {
				write(t, dir, map[string][]byte{loader.LockFile: []byte(text)})
			}
			for range 2 { // read, and from the kept list
				d := open(t, dir, opts)
				if err := plugin(t, d, "solo").Err; !says(err, c.want) {
					t.Errorf("%v, want %q", err, c.want)
				}
				if err := plugin(t, d, "folder").Err; strings.Contains(c.lock, "FOLDER") && err != nil {
					t.Errorf("pinned in its folder: %v", err)
				}
			}
			f, err := loader.OpenFile(t.Context(), filepath.Join(dir, "solo.wasm"), opts)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := f.Plugins()[0].Err; !says(err, c.want) {
				t.Errorf("as a file: %v", err)
			}
		})
	}
}

// says tells whether an error has a text; "": whether there is none.
func says(err error, text string) bool {
	if err == nil || text == "" {
		return err == nil && text == ""
	}
	return strings.Contains(err.Error(), text)
}

// What a lock refuses is not even described.
func TestLockBeforeAnythingRuns(t *testing.T) {
	dir, opts := t.TempDir(), options(t)
	write(t, dir, map[string][]byte{
		"trap.wasm":     hosttest.Plugin{Name: "trap", Initialize: hosttest.Trap}.Bytes(),
		loader.LockFile: []byte("[plugins]\n"),
	})
	if _, ok := errors.AsType[*loader.LockError](plugin(t, open(t, dir, opts), "trap").Err); !ok {
		t.Error(plugin(t, open(t, dir, opts), "trap").Err)
	}
}
