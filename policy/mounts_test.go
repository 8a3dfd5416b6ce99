package policy

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/config"
)

// What a plugin may write to holds nothing that would give it more, and lies in nothing that would,
// by whatever name.
func TestKeptPlaces(t *testing.T) {
	w := newWorld(t)
	for _, dir := range []string{"free", "data/sessions", "plugins/fetch", "plugins/other",
		"state/kv", "Plugins2"} {
		if err := os.MkdirAll(filepath.Join(w.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"to-plugins": "plugins", "to-state": "state/kv", "free/loop": "..", "to-free": "free",
	} {
		if err := os.Symlink(filepath.Join(w.dir, to), filepath.Join(w.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	w.opts.Protect = []string{
		filepath.Join(w.dir, "data", "sessions"), filepath.Join(w.dir, "gone", "x"),
	}
	for _, c := range []struct{ host, want string }{
		{"free", ""}, {"to-free", ""}, {"Plugins2", ""},
		{".", "it holds plugins"}, {"free/loop", "it holds plugins"},
		{"plugins", "it holds plugins"}, {"plugins/fetch", "it lies in plugins"},
		{"to-plugins", "it holds plugins"}, {"free/../plugins", "it holds plugins"},
		{"config", "it holds the policy"}, {"config/wasmagent.toml", "it holds the policy"},
		{"state", "it holds the state directory"}, {"state/kv", "it lies in the state directory"},
		{"to-state", "it lies in the state directory"},
		{"cache", "it holds the cache"},
		{"data", "it holds something of wasmagent's"}, {"data/sessions", "it holds something"},
	} {
		for _, mode := range []string{"rw", "ro"} {
			w.write("[[plugins.fetch.files]]\nhost = \"$DIR/" + c.host + "\"\nguest = \"/x\"\nmode = \"" +
				mode + "\"\n")
			_, err := w.open().Review(&w.plugin, nil)
			bad, _ := errors.AsType[*config.Error](err)
			switch {
			case mode == "ro" || c.want == "":
				if err != nil {
					t.Errorf("%s %s: %v", c.host, mode, err)
				}
			case bad == nil || bad.Line != 1 || !strings.Contains(bad.Detail, c.want):
				t.Errorf("%s: %v, want %s", c.host, err, c.want)
			}
		}
	}
	w.plugin.Dir = filepath.Join(w.dir, "plugins", "fetch")
	for _, file := range []string{"plugin.wasm", "manifest.json"} { // of a folder among others
		w.plugin.Path = filepath.Join(w.plugin.Dir, file)
		w.write("[[plugins.fetch.files]]\nhost = \"$DIR/plugins/other\"\nguest = \"/x\"\nmode = \"rw\"\n")
		_, err := w.open().Review(&w.plugin, nil)
		if err == nil || !strings.Contains(err.Error(), "it lies in plugins") {
			t.Errorf("%s: %v", file, err)
		}
	}
	w.plugin.Dir = filepath.Join(w.dir, "plugins")
	w.plugin.Path = filepath.Join(w.plugin.Dir, "fetch.wasm")
	w.write("core.sessions = \"../talk\"\n" +
		"[[plugins.fetch.files]]\nhost = \"$DIR/talk\"\nguest = \"/x\"\nmode = \"rw\"\n")
	if err := os.Mkdir(filepath.Join(w.dir, "talk"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := w.open().Review(&w.plugin, nil)
	if err == nil || !strings.Contains(err.Error(), "sessions") {
		t.Errorf("the folder of sessions: %v", err)
	}
}

// A mount that holds a place is refused at the next start too, not only when it is allowed.
func TestKeptPlaceLater(t *testing.T) {
	w := newWorld(t)
	w.write("[[plugins.fetch.files]]\nhost = \"$DIR/data\"\nguest = \"/x\"\nmode = \"rw\"\n")
	w.allow(nil)
	if _, err := w.decide(); err != nil {
		t.Fatal(err)
	}
	w.opts.Protect = []string{filepath.Join(w.dir, "data", "new")}
	if _, err := w.decide(); err == nil || !strings.Contains(err.Error(), "it holds") {
		t.Errorf("%v", err)
	}
}

// Places that are named from the working directory are kept as well, from all directories above.
func TestKeptPlacesFromHere(t *testing.T) {
	w := newWorld(t)
	here := filepath.Join(w.dir, "data", "a", "b")
	if err := os.MkdirAll(filepath.Join(here, "plugins"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(here)
	grant := "[[plugins.fetch.files]]\nhost = \"$DIR/data\"\nguest = \"/x\"\nmode = \"rw\"\n"
	refused := func(what string) {
		t.Helper()
		_, err := w.open().Review(&w.plugin, nil)
		if err == nil || !strings.Contains(err.Error(), "it holds "+what) {
			t.Errorf("%v, want %s", err, what)
		}
	}
	w.write(grant)
	w.opts.Protect = []string{"plugins"}
	refused("something of wasmagent's")
	w.opts.Protect = []string{"not-there-yet"}
	refused("something of wasmagent's")
	w.opts.Protect = nil
	w.file = "own.toml"
	w.write(grant)
	refused("the policy")
}

// Who can change where a secret comes from chooses what is sent, or run.
func TestSourcesOfSecretsAreKept(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"token", "give.sh"} {
		if err := os.WriteFile(filepath.Join(w.dir, "data", name), []byte("x"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	const other = "[[plugins.other.http]]\nhost = \"example.org\"\n" +
		"[[plugins.other.secrets]]\nname = \"t\"\nas = \"bearer\"\nhosts = [\"example.org\"]\nfrom = "
	for _, c := range []struct{ from, mode, want string }{
		{"file:$DIR/data/token", "rw", "it holds what a secret comes from"},
		{"cmd:$DIR/data/give.sh now", "rw", "it holds what a secret comes from"},
		{"cmd:/bin/sh $DIR/data/give.sh", "rw", "it holds what a secret comes from"},
		{"file:$DIR/data/token", "ro", ""},
		{"cmd:/bin/sh -c true", "rw", ""},
		{"cmd:/bin/ls $DIR", "rw", ""}, // names what it looks at
		{"env:TOKEN", "rw", ""},
	} {
		w.write(other + "\"" + c.from + "\"\n[[plugins.fetch.files]]\nhost = \"$DIR/data\"\n" +
			"guest = \"/x\"\nmode = \"" + c.mode + "\"\n")
		r, err := w.open().Review(&w.plugin, nil)
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) ||
			c.want == "" && err != nil {
			t.Errorf("%s %s: %v, want %q", c.from, c.mode, err, c.want)
		}
		if c.mode == "ro" && !strings.Contains(strings.Join(r.Warnings, " "), "can read what a secret") {
			t.Errorf("a secret that the plugin can read: warnings %q", r.Warnings)
		}
	}
}

func TestMountsThatAreNotThere(t *testing.T) {
	w := newWorld(t)
	w.write("[[plugins.fetch.files]]\nhost = \"$DIR/none\"\nguest = \"/x\"\nmode = \"ro\"\n")
	_, err := w.open().Review(&w.plugin, nil)
	want := "files[0]: " + filepath.Join(w.dir, "none") + ": no such file"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
}
