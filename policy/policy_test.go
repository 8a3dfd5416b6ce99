package policy

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/config"
	"github.com/wasmagent/wasmagent/loader"
)

var update = flag.Bool("update", false, "write what reading gives into testdata/*/*.txtar")

// TestBad reads the case files: what is in each is wrong, and "want" says how that is told.
func TestBad(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no case files (%v)", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = parse("wasmagent.toml", string(a.Files[0].Data), []string{"extism", "command"})
			have := ""
			if err != nil {
				have = err.Error() + "\n"
			}
			check(t, file, a, have)
			if have == "" {
				t.Error("nothing is wrong with it")
			}
		})
	}
}

// check holds what came out of a case against its want.
func check(t *testing.T, file string, a *txtar.Archive, have string) {
	t.Helper()
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == "want" })
	if *update {
		if i < 0 {
			i = len(a.Files)
			a.Files = append(a.Files, txtar.File{Name: "want"})
		}
		a.Files[i].Data = []byte(have)
		if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if i < 0 || string(a.Files[i].Data) != have {
		t.Errorf("have\n%s", have)
	}
}

// world is an operator's directories, and one plugin.
type world struct {
	t      *testing.T
	dir    string
	file   string
	opts   Options
	plugin loader.Plugin
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, file: filepath.Join(dir, "config", "wasmagent.toml")}
	for _, d := range []string{"config", "plugins", "data", "state", "cache"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.opts = Options{StateDir: filepath.Join(dir, "state"), CacheDir: filepath.Join(dir, "cache"),
		Optional: true}
	w.plugin = loader.Plugin{
		Name: "fetch", Path: filepath.Join(dir, "plugins", "fetch.wasm"),
		Dir: filepath.Join(dir, "plugins"), Digest: "sha256:1",
		Manifest: abi.Manifest{Name: "fetch", Tools: []abi.ToolSpec{{Name: "get"}, {Name: "put"}}},
	}
	return w
}

func (w *world) write(content string) {
	w.t.Helper()
	content = strings.ReplaceAll(content, "$DIR", w.dir)
	if err := os.WriteFile(w.file, []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) open() *Policy {
	w.t.Helper()
	p, err := Open(w.file, &w.opts)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := p.Close(); err != nil {
			w.t.Error(err)
		}
	})
	return p
}

// allow allows the plugin as it is.
func (w *world) allow(additions *Additions) *Review {
	w.t.Helper()
	p := w.open()
	r, err := p.Review(&w.plugin, additions)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := p.Allow(r); err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) decide() (loader.Decision, error) {
	w.t.Helper()
	return w.open().Decide(&w.plugin)
}

// What config reads of the file is not told here, and the other way round.
func TestSectionsOfBoth(t *testing.T) {
	w := newWorld(t)
	w.write("[core]\nmax_iterations = 3\n[plugins.jq]\nkv = true\n[defaults]\n[ceiling]\n")
	w.open()
	if _, err := config.Load(&config.Options{File: w.file, Dir: w.dir}); err != nil {
		t.Error(err)
	}
	for _, name := range fieldsOf(reflect.TypeFor[document]()) {
		if slices.Contains(config.Sections(), name) {
			t.Errorf("%s is a section of both", name)
		}
	}
}

func TestFile(t *testing.T) {
	w := newWorld(t)
	if d, err := w.decide(); err != nil || d.Digest != "" {
		t.Errorf("without a file: %+v, %v", d, err)
	}
	w.opts.Optional = false
	if _, err := Open(w.file, &w.opts); err == nil {
		t.Error("a file that was named is not there, and that is no error")
	}
	w.write("#" + strings.Repeat(" ", MaxFile-1))
	w.open()
	w.write("#" + strings.Repeat(" ", MaxFile))
	if _, err := Open(w.file, &w.opts); err == nil {
		t.Error("a file over the limit is read")
	}
	w.write("")
	if err := os.Chmod(w.file, 0o660); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(w.file, &w.opts); err == nil || !strings.Contains(err.Error(), "chmod go-w") {
		t.Errorf("a file that the group can write to: %v", err)
	}
}
