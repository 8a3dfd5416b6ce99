//go:build unix

package host_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
)

// world is a directory with a secret in it, and inside it what is mounted.
type world struct {
	t    *testing.T
	top  string // has secret, and the directories below
	data string // mounted
}

func newWorld(t *testing.T) *world {
	top := t.TempDir()
	w := &world{t, top, filepath.Join(top, "data")}
	w.write("secret", "not for guests")
	w.write("data/a.txt", "hello")
	w.write("data/sub/b.txt", "below")
	return w
}

func (w *world) write(name, text string) {
	w.t.Helper()
	file := filepath.Join(w.top, name)
	err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777),
		os.WriteFile(file, []byte(text), 0o666))
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) link(target, name string) {
	w.t.Helper()
	if err := os.Symlink(target, filepath.Join(w.top, name)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) read(name string) string {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.top, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

func (w *world) guest(mounts ...host.Mount) *host.Module {
	return grantGuest(w.t, host.Policy{Grants: host.Grants{Files: mounts}})
}

func (w *world) ro() host.Mount { return host.Mount{Host: w.data, Guest: "/data"} }
func (w *world) rw() host.Mount { return host.Mount{Host: w.data, Guest: "/data", Write: true} }

func TestReadOnlyMount(t *testing.T) {
	w := newWorld(t)
	w.write("other/c.txt", "other")
	m := w.guest(w.ro(), host.Mount{Host: filepath.Join(w.top, "other"), Guest: "/srv/other"})
	const rofs = "error Read-only file system"
	expect(t, m, []step{
		{"read /data/a.txt", "ok hello"},
		{"read data/a.txt", "ok hello"},
		{"read /data/sub/../a.txt", "ok hello"},
		{"read /srv/other/c.txt", "ok other"},
		{"stat /data/a.txt", "ok ---------- 5"},
		{"stat /data", "ok d--------- " + fmt.Sprint(sizeOf(t, w.data))},
		{"stat /srv", "ok d--------- 0"},
		{"list /", "ok data/ srv/"},
		{"list /srv", "ok other/"},
		{"list /data", "ok a.txt sub/"},
		{"list /data/sub", "ok b.txt"},
		{"list /data/a.txt", "error Not a directory"},
		{"write /data/a.txt x", rofs},
		{"write /data/new x", rofs},
		{"append /data/a.txt x", rofs},
		{"truncopen /data/a.txt", rofs},
		{"create /data/new", rofs},
		{"mkdir /data/new", rofs},
		{"remove /data/a.txt", rofs},
		{"rmdir /data/sub", rofs},
		{"rename /data/a.txt /data/b.txt", rofs},
		{"symlink a.txt /data/link", rofs},
		{"link /data/a.txt /data/link", "error Operation not permitted"},
		{"times /data/a.txt 1", rofs},
		{"mkdir /srv/new", "error No such file or directory"},
		{"write /new x", "error No such file or directory"},
		{"read /data/none", "error No such file or directory"},
		{"read /etc/passwd", "error No such file or directory"},
		{"read /data/a.txt/b", "error Not a directory"},
	})
	if got := w.read("data/a.txt"); got != "hello" {
		t.Errorf("the file is now %q", got)
	}
}

func sizeOf(t *testing.T, name string) int64 {
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func TestWritableMount(t *testing.T) {
	w := newWorld(t)
	m := w.guest(w.rw())
	expect(t, m, []step{
		{"write /data/a.txt bye", "ok"},
		{"read /data/a.txt", "ok bye"},
		{"append /data/a.txt -bye", "ok"},
		{"read /data/a.txt", "ok bye-bye"},
		{"create /data/a.txt", "error File exists"},
		{"create /data/new", "ok"},
		{"mkdir /data/dir", "ok"},
		{"mkdir /data/dir", "error File exists"},
		{"write /data/dir/x 1", "ok"},
		{"rmdir /data/dir", "error Directory not empty"},
		{"rename /data/dir/x /data/dir/y", "ok"},
		{"rename /data/dir /data/moved", "ok"},
		{"read /data/moved/y", "ok 1"},
		{"remove /data/moved", "error Is a directory"},
		{"rmdir /data/moved/y", "error Not a directory"},
		{"remove /data/moved/y", "ok"},
		{"rmdir /data/moved", "ok"},
		{"removeall /data/sub", "ok"},
		{"stat /data/sub", "error No such file or directory"},
		{"times /data/new 1000000000", "ok"},
		{"mtime /data/new", "ok 1000000000"},
		{"open f /data/new", "ok"},
		{"puts f 0123456789", "ok"},
		{"putat f 2 xx", "ok"},
		{"getat f 0 4", "ok 01xx"},
		{"getat f 8 10", "ok 89"},
		{"seek f -3 2", "ok 7"},
		{"rest f", "ok 789"},
		{"seek f -8 0", "error Invalid argument"},
		{"seek f 1 0", "ok 1"},
		{"seek f 2 1", "ok 3"},
		{"truncate f 5", "ok"},
		{"rest f", "ok x4"},
		{"truncate f 6", "ok"},
		{"sync f", "ok"},
		{"close f", "ok"},
		{"stat /data/new", "ok ---------- 6"},
		{"rmdir /data", "error Device or resource busy"},
		{"rename /data /else", "error Device or resource busy"},
		{"write /data ", "error Is a directory"},
	})
	if got := w.read("data/new"); got != "01xx4\x00" {
		t.Errorf("the file is now %q", got)
	}
}

// TestHeldOpen replaces a mounted directory: the guest stays with the one that was opened.
func TestHeldOpen(t *testing.T) {
	w := newWorld(t)
	m := w.guest(w.ro())
	if err := os.Rename(w.data, filepath.Join(w.top, "moved")); err != nil {
		t.Fatal(err)
	}
	w.write("data/a.txt", "another directory")
	expect(t, m, []step{{"read /data/a.txt", "ok hello"}})
}

func TestScratch(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	w := newWorld(t)
	m := w.guest(host.Mount{Guest: "/tmp", Scratch: true},
		host.Mount{Guest: "/scratch", Scratch: true, Files: 2})
	first := []step{
		{"list /tmp", "ok"},
		{"write /tmp/a text", "ok"},
		{"mkdir /tmp/d", "ok"},
		{"write /tmp/d/b text", "ok"},
		{"symlink d /tmp/l", "ok"},
		{"list /tmp", "ok a d/ l"},
		{"list /scratch", "ok"},
		{"rename /tmp/a /scratch/a", "error Cross-device link"},
		{"files /scratch/f 2", "ok"},
	}
	for range 3 {
		_, stats, err := runTo(t.Context(), m, nil, "")
		if err != nil || stats.Effects.Any() {
			t.Fatalf("%+v, %v", stats, err)
		}
		expect(t, m, first)
		if left := entriesBelow(t, os.Getenv("TMPDIR")); left != 1 { // the plugin's own, empty
			t.Errorf("%d entries are left", left)
		}
	}
	for _, end := range []string{"fail", "trap", "exit"} {
		if _, _, err := runTo(t.Context(), m, nil, end, "write /tmp/a text"); err == nil {
			t.Errorf("%s: no error", end)
		}
	}
	expect(t, m, first[:1])
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := entriesBelow(t, os.Getenv("TMPDIR")); left != 0 {
		t.Errorf("%d entries are left when the plugin is closed", left)
	}
}

func entriesBelow(t *testing.T, dir string) (n int) {
	err := filepath.WalkDir(dir, func(_ string, _ os.DirEntry, err error) error { n++; return err })
	if err != nil {
		t.Fatal(err)
	}
	return n - 1
}

// TestQuotaDefaults adds ten thousand files, which nobody said it may not.
// TestFilesWhileLoading opens a file in an init function: its image must not depend on what lay
// there.
func TestFilesWhileLoading(t *testing.T) {
	w := newWorld(t)
	w.write("data/early", "too early")
	expect(t, w.guest(w.ro()), []step{
		{"loading", "ok error Capabilities insufficient"},
		{"read /data/early", "ok too early"},
	})
}

// TestMountedPluginsAreRestored holds that mounts do not cost the fast road.
func TestMountedPluginsAreRestored(t *testing.T) {
	w := newWorld(t)
	m := w.guest(w.ro(), host.Mount{Guest: "/tmp", Scratch: true})
	if road, blockers := m.Road(); road != host.Restored {
		t.Errorf("%v, %q", road, blockers)
	}
}

func TestNoSuchFileTells(t *testing.T) {
	w := newWorld(t)
	m := w.guest(w.ro(), host.Mount{Guest: "/tmp", Scratch: true},
		host.Mount{Host: filepath.Join(w.top, "secret"), Guest: "/etc/s", Write: true})
	var lines []string
	obs := &host.Observer{Log: func(_ abi.Level, text string) { lines = append(lines, text) }}
	_, stats, err := runTo(t.Context(), m, obs, "", "read /home/me/x", "read /data/y")
	want := `no such file: "/home/me/x"; the plugin's paths are ` +
		`/data (read-only), /etc/s (can be written), /tmp (empty at every call)`
	if err != nil || stats.Note != want || len(lines) != 1 || lines[0] != want {
		t.Errorf("%q, %q, %v", stats.Note, lines, err)
	}
	if _, stats, err = runTo(t.Context(), m, obs, "", "read /data/a.txt"); err != nil ||
		stats.Note != "" {
		t.Errorf("the next call: %q, %v", stats.Note, err)
	}
}

func TestFileEffects(t *testing.T) {
	w := newWorld(t)
	m := w.guest(w.rw(), host.Mount{Guest: "/tmp", Scratch: true})
	for _, test := range []struct {
		line string
		want int
	}{
		{"read /data/a.txt", 0},
		{"stat /data/a.txt", 0},
		{"list /data", 0},
		{"write /tmp/x text", 0},
		{"write /data/none/x text", 0},
		{"create /data/new", 1},
		{"append /data/new text", 1},
		{"write /data/new text", 2}, // it truncates, too
		{"truncopen /data/new", 1},
		{"mkdir /data/dir", 1},
		{"rename /data/new /data/dir/new", 1},
		{"times /data/a.txt 1", 1},
		{"symlink a /data/dir/link", 1},
		{"remove /data/dir/link", 1},
	} {
		_, stats, err := runTo(t.Context(), m, nil, "", test.line)
		if err != nil || stats.Effects != (host.Effects{Files: test.want}) {
			t.Errorf("%s: %+v, %v; want %d", test.line, stats.Effects, err, test.want)
		}
	}
	_, stats, err := runTo(t.Context(), m, nil, "trap", "create /data/trapped")
	if err == nil || stats.Effects.Files != 1 {
		t.Errorf("before a trap: %+v, %v", stats.Effects, err)
	}
}

func TestMountsThatCannotBe(t *testing.T) {
	w := newWorld(t)
	e := hosttest.Engine(t)
	wasm := hosttest.Plugin{Name: "t", Call: hosttest.OK}.Bytes()
	ok := host.Mount{Host: w.data, Guest: "/data"}
	for name, test := range map[string]struct {
		mounts []host.Mount
		says   string
	}{
		"nothing there": {[]host.Mount{{Host: w.top + "/none", Guest: "/d"}}, "no such file"},
		"relative": {[]host.Mount{{Host: "data", Guest: "/d"}},
			"host path is not absolute"},
		"no host path": {[]host.Mount{{Guest: "/d"}}, "host path is not absolute"},
		"relative for guests": {[]host.Mount{{Host: w.data, Guest: "d"}},
			"guest path is not absolute"},
		"not clean": {[]host.Mount{{Host: w.data, Guest: "/d/"}},
			"guest path is not absolute and clean"},
		"dots": {[]host.Mount{{Host: w.data, Guest: "/d/../e"}},
			"guest path is not absolute and clean"},
		"long": {[]host.Mount{{Host: w.data, Guest: "/" + strings.Repeat("d", 255)}},
			"more than 255"},
		"twice": {[]host.Mount{ok, ok}, "another mount is there"},
		"inside": {[]host.Mount{ok, {Host: w.top, Guest: "/data/in"}},
			"inside the mount at /data"},
		"around": {[]host.Mount{{Host: w.top, Guest: "/data/in"}, ok},
			"another mount lies inside"},
		"all around": {[]host.Mount{ok, {Host: w.top, Guest: "/"}},
			"another mount lies inside"},
		"a device": {[]host.Mount{{Host: "/dev/null", Guest: "/n"}},
			"neither a directory nor"},
		"a file as the root": {[]host.Mount{{Host: w.data + "/a.txt", Guest: "/"}}, "a file cannot be the guest's root"},
		"scratch of a host's": {[]host.Mount{{Host: w.data, Guest: "/d", Scratch: true}},
			"leave its path out"},
		"negative": {[]host.Mount{{Host: w.data, Guest: "/d", Write: true, Bytes: -1}},
			"negative"},
	} {
		_, err := e.Compile(t.Context(), wasm, host.Policy{Grants: host.Grants{Files: test.mounts}})
		mount, ok := errors.AsType[*host.MountError](err)
		if !ok || !strings.Contains(err.Error(), test.says) || mount.Mount.Guest == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	var many []host.Mount
	for i := range host.MaxMounts + 1 {
		many = append(many, host.Mount{Host: w.data, Guest: fmt.Sprintf("/d%d", i)})
	}
	for n, ok := range map[int]bool{host.MaxMounts: true, host.MaxMounts + 1: false} {
		m, err := e.Compile(t.Context(), wasm, host.Policy{Grants: host.Grants{Files: many[:n]}})
		if (err == nil) != ok {
			t.Errorf("%d mounts: %v", n, err)
		}
		if m != nil {
			if err := m.Close(context.Background()); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestRootMount mounts a directory as all that there is.
func TestRootMount(t *testing.T) {
	w := newWorld(t)
	m := w.guest(host.Mount{Host: w.data, Guest: "/", Write: true})
	expect(t, m, []step{
		{"list /", "ok a.txt sub/"},
		{"read /a.txt", "ok hello"},
		{"read sub/b.txt", "ok below"},
		{"write /new text", "ok"},
		{"stat /", "ok d--------- " + fmt.Sprint(sizeOf(t, w.data))},
		{"rmdir /", "error Device or resource busy"},
	})
}
