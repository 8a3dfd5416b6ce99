//go:build unix

package host_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
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
	err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, []byte(text), 0o666))
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

// TestLinksThatWereThere has links that the operator's directory came with.
func TestLinksThatWereThere(t *testing.T) {
	w := newWorld(t)
	w.link("a.txt", "data/inside")
	w.link("../a.txt", "data/sub/up")
	w.link("sub", "data/dir")
	w.link("dir/up", "data/chain")
	w.link("../secret", "data/out")
	w.link(filepath.Join(w.top, "secret"), "data/absolute")
	w.link(filepath.Join(w.data, "a.txt"), "data/absolute-in")
	w.link("..", "data/parent")
	w.link("sub/../../secret", "data/devious")
	w.link("dir/../../secret", "data/more-devious")
	w.link("loop", "data/loop")
	w.link("none", "data/dangling")
	const out = "error Capabilities insufficient"
	steps := []step{
		{"read /data/inside", "ok hello"},
		{"read /data/sub/up", "ok hello"},
		{"read /data/dir/b.txt", "ok below"},
		{"read /data/chain", "ok hello"},
		{"list /data/dir", "ok b.txt up"},
		{"lstat /data/out", "ok L--------- 9"},
		{"readlink /data/out", "ok ../secret"},
		{"read /data/loop", "error Too many symbolic links"},
		{"read /data/dangling", "error No such file or directory"},
		{"write /data/inside changed", "ok"},
		{"read /data/a.txt", "ok changed"},
	}
	for _, name := range []string{"out", "absolute", "absolute-in", "parent", "parent/secret", "devious",
		"more-devious"} {
		for _, verb := range []string{"read /data/%s", "stat /data/%s", "list /data/%s",
			"write /data/%s x", "append /data/%s x"} {
			steps = append(steps, step{fmt.Sprintf(verb, name), out})
		}
	}
	steps = append(steps,
		step{"mkdir /data/parent/new", out},
		step{"remove /data/parent/secret", out},
		step{"rename /data/parent/secret /data/got", out},
		step{"rename /data/a.txt /data/parent/got", out},
		step{"symlink x /data/parent/got", out},
		step{"symlink parent/secret /data/got", out},
		step{"times /data/out 1", out},
		step{"rename /data/sub/up /data/up", out}, // where it would point out
		step{"rename /data/sub/up /data/sub/up2", "ok"},
		step{"rename /data/inside /data/sub/inside", "ok"},
	)
	expect(t, w.guest(w.rw()), steps)
	if got := w.read("secret"); got != "not for guests" {
		t.Errorf("the secret is now %q", got)
	}
	if list, _ := os.ReadDir(w.top); len(list) != 2 {
		t.Errorf("beside the mount there are %v", list)
	}
}

// TestLinksThatTheGuestMakes tries to lead out, at once or later.
func TestLinksThatTheGuestMakes(t *testing.T) {
	w := newWorld(t)
	m := w.guest(w.rw())
	const out = "error Capabilities insufficient"
	expect(t, m, []step{
		{"symlink a.txt /data/in", "ok"},
		{"read /data/in", "ok hello"},
		{"readlink /data/in", "ok a.txt"},
		{"lstat /data/in", "ok L--------- 5"},
		{"stat /data/in", "ok ---------- 5"},
		{"symlink sub/b.txt /data/below", "ok"},
		{"read /data/below", "ok below"},
		{"symlink sub /data/dir", "ok"},
		{"read /data/dir/b.txt", "ok below"},
		{"write /data/dir/new text", "ok"},
		{"read /data/sub/new", "ok text"},
		{"symlink not-yet /data/later", "ok"},
		{"read /data/later", "error No such file or directory"},
		{"symlink ../secret /data/x", out},
		{"symlink sub/../../secret /data/x", out},
		{"symlink ../a.txt /data/sub/x", out}, // inside now, and outside once it is moved
		{"symlink /secret /data/x", out},
		{"symlink /etc/passwd /data/x", out},
		{"symlink .. /data/x", out},
		{"symlink a.txt /data/in", "error File exists"},
		{"symlink in2 /data/in1", "ok"},
		{"symlink in1 /data/in2", "ok"},
		{"read /data/in1", "error Too many symbolic links"},
		{"remove /data/in", "ok"},
		{"read /data/a.txt", "ok hello"},
		{"link /data/a.txt /data/hard", "error Operation not permitted"},
		{"read /data/../secret", "error No such file or directory"},
		{"read ../secret", "error No such file or directory"},
	})
	err := filepath.WalkDir(w.data, func(path string, d os.DirEntry, err error) error {
		if target, _ := os.Readlink(path); strings.Contains(target, "..") || filepath.IsAbs(target) {
			t.Errorf("%s points to %s", path, target)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestSpecialFiles has what must be neither opened nor waited for.
// A second name of a file may lie outside of the mount: what is written there would be, too.
func TestHardLinksThatWereThere(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"hard", "replaced"} {
		if err := os.Link(filepath.Join(w.top, "secret"), filepath.Join(w.data, name)); err != nil {
			t.Fatal(err)
		}
	}
	const denied = "error Operation not permitted"
	expect(t, w.guest(w.rw()), []step{
		{"read /data/hard", "ok not for guests"}, // somebody put it there
		{"write /data/hard x", denied},
		{"append /data/hard x", denied},
		{"truncopen /data/hard", denied},
		{"open f /data/hard", denied},
		{"write /data/new x", "ok"},
		{"rename /data/new /data/replaced", "ok"},
		{"remove /data/hard", "ok"},
		{"append /data/replaced y", "ok"},
	})
	if got := w.read("secret") + w.read("data/replaced"); got != "not for guestsxy" {
		t.Error(got)
	}
	w.write("other/file", "a")
	if err := os.Link(filepath.Join(w.top, "other/file"), filepath.Join(w.top, "second")); err != nil {
		t.Fatal(err)
	}
	named := host.Mount{Host: filepath.Join(w.top, "other/file"), Guest: "/f.txt", Write: true}
	expect(t, w.guest(named), []step{{"append /f.txt b", "ok"}, {"read /f.txt", "ok ab"}})
}

func TestSpecialFiles(t *testing.T) {
	w := newWorld(t)
	if err := syscall.Mkfifo(filepath.Join(w.data, "fifo"), 0o666); err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	m := w.guest(w.rw(), host.Mount{Host: "/dev", Guest: "/dev"})
	t.Chdir(w.data) // a socket's path may not be long
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: "socket"}); err != nil {
		t.Fatal(err)
	}
	const denied = "error Permission denied"
	expect(t, m, []step{
		{"read /data/fifo", denied},
		{"write /data/fifo x", denied},
		{"append /data/fifo x", denied},
		{"read /data/socket", denied},
		{"read /dev/null", denied},
		{"read /dev/zero", denied},
		{"read /dev/tty", denied},
		{"write /dev/null x", "error Read-only file system"},
		{"remove /data/fifo", "ok"},
	})
}

func TestSingleFile(t *testing.T) {
	w := newWorld(t)
	w.write("conf/one.toml", "one")
	w.write("conf/two.toml", "two")
	w.write("conf/beside", "beside")
	conf := filepath.Join(w.top, "conf")
	w.link("conf/one.toml", "shortcut")
	m := w.guest(
		host.Mount{Host: filepath.Join(w.top, "shortcut"), Guest: "/etc/app/one.toml"},
		host.Mount{Host: filepath.Join(conf, "two.toml"), Guest: "/etc/app/two", Write: true})
	expect(t, m, []step{
		{"list /etc/app", "ok one.toml two"},
		{"list /", "ok etc/"},
		{"read /etc/app/one.toml", "ok one"},
		{"stat /etc/app/one.toml", "ok ---------- 3"},
		{"read /etc/app/two", "ok two"},
		{"write /etc/app/one.toml x", "error Read-only file system"},
		{"write /etc/app/two changed", "ok"},
		{"append /etc/app/two -again", "ok"},
		{"read /etc/app/beside", "error No such file or directory"},
		{"read /etc/app/one.toml/../beside", "error No such file or directory"},
		{"read /etc/app/two.toml", "error No such file or directory"},
		{"remove /etc/app/two", "error Device or resource busy"},
		{"rename /etc/app/two /etc/app/three", "error Device or resource busy"},
		{"rename /etc/app/two /etc/app/one.toml", "error Device or resource busy"},
		{"create /etc/app/three", "error No such file or directory"},
		{"mkdir /etc/app/two/x", "error Not a directory"},
	})
	if got := w.read("conf/two.toml"); got != "changed-again" {
		t.Errorf("the file is now %q", got)
	}
	// What takes the file's place is seen, but never followed elsewhere.
	if err := os.Remove(filepath.Join(conf, "one.toml")); err != nil {
		t.Fatal(err)
	}
	w.link("beside", "conf/one.toml")
	expect(t, m, []step{
		{"read /etc/app/one.toml", "error Too many symbolic links"},
		{"stat /etc/app/one.toml", "ok L--------- 6"},
	})
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
	m := w.guest(host.Mount{Guest: "/tmp", Scratch: true}, host.Mount{Guest: "/scratch", Scratch: true, Files: 2})
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

func TestQuotas(t *testing.T) {
	w := newWorld(t)
	const full = "error Quota exceeded"
	mount := w.rw()
	mount.Bytes, mount.Files = 200_000, 3
	m := w.guest(mount)
	expect(t, m, []step{
		{"fill /data/big 200000", "ok"},
		{"append /data/big x", full},
		{"write /data/a.txt hell", "ok"}, // is a byte shorter
		{"append /data/a.txt o", "ok"},
		{"append /data/a.txt !", full},
		{"open f /data/big", "ok"},
		{"putat f 199999 x", "ok"},
		{"putat f 200000 x", full},
		{"putat f 9223372036854775806 xyz", "error File too large"},
		{"putat f 1000000000000 x", full},
		{"truncate f 200001", full},
		{"truncate f 100000", "ok"},
		{"truncate f 200000", "ok"},
		{"remove /data/big", "ok"},
		{"write /data/c x", full}, // not before the removed file is closed
		{"close f", "ok"},
	})
	expect(t, m, []step{
		{"fill /data/big 199999", "ok"},
		{"write /data/c x", "ok"},
		{"mkdir /data/d", "ok"},
		{"write /data/e x", full},
		{"mkdir /data/e", full},
		{"symlink c /data/e", full},
		{"rename /data/c /data/big", "ok"},
		{"write /data/c x", "ok"},
		{"rmdir /data/d", "ok"},
		{"symlink c /data/e", "ok"},
		{"files /data/f 1", full},
	})
}

// TestQuotaDefaults adds ten thousand files, which nobody said it may not.
func TestQuotaDefaults(t *testing.T) {
	w := newWorld(t)
	for _, mount := range []host.Mount{w.rw(), {Guest: "/data", Scratch: true}} {
		m := w.guest(mount)
		got, _, err := runTo(t.Context(), m, nil, "", "files /data/f 10000", "list /data")
		most := host.DefaultMountFiles
		if err != nil || got[0] != "error Quota exceeded" || !strings.Contains(got[1], fmt.Sprint(most)) &&
			!strings.Contains(got[1], fmt.Sprint(most+2)) {
			t.Errorf("%q, %v", got, err)
		}
	}
}

func TestOpenFiles(t *testing.T) {
	w := newWorld(t)
	m := w.guest(w.ro())
	const most = 64
	for range 2 { // what a call left open is closed, and nothing of it is in the next
		expect(t, m, []step{
			{"held", "ok 0"},
			{fmt.Sprintf("hold /data/a.txt %d", most), "ok"},
			{"read /data/a.txt", "error Too many open files"},
			{"list /data", "error Too many open files"},
		})
	}
	before := openDescriptors(t)
	for range 5 {
		expect(t, m, []step{{fmt.Sprintf("hold /data/sub %d", most), "ok"}})
	}
	if after := openDescriptors(t); after > before {
		t.Errorf("%d descriptors are open, %d were", after, before)
	}
}

func openDescriptors(t *testing.T) int {
	list, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(list)
}

func TestListing(t *testing.T) {
	w := newWorld(t)
	const most = 10_000
	for i := range most {
		w.write(fmt.Sprintf("many/%05d", i), "")
	}
	many := host.Mount{Host: filepath.Join(w.top, "many"), Guest: "/many", Write: true}
	m := w.guest(many)
	expect(t, m, []step{
		{"list /many", "ok 10000: 00000 to 09999"},
		{"create /many/more", "ok"},
		{"list /many", "error Value too large for defined data type"},
		{"read /many/00007", "ok"},
	})
}

// TestFilesWhileLoading opens a file in an init function: its image must not depend on what lay
// there.
// TestSlowFilesEndInTime lists a large directory again and again: little of that is the guest's own
// work, so that the time limit must count all of it. Before the fuel of one slice is used up, the
// guest has to be stopped.
func TestSlowFilesEndInTime(t *testing.T) {
	w := newWorld(t)
	for i := range 1000 {
		w.write(fmt.Sprintf("data/many/%d", i), "")
	}
	list := func(k *hosttest.Kit) asm.Instr {
		readdir := k.Module.ImportFunc("wasi_snapshot_preview1", "fd_readdir", "i32 i32 i32 i64 i32 -> i32")
		return asm.Loop(asm.I32Const(3), asm.I32Const(hosttest.Scratch), asm.I32Const(0), asm.I64Const(0),
			asm.I32Const(hosttest.Scratch), asm.Call(readdir), asm.Drop, asm.Br(0))
	}
	var body asm.Instr
	p := hosttest.Plugin{Name: "lister", Import: func(k *hosttest.Kit) { body = list(k) },
		Call: func(*hosttest.Kit) asm.Instr { return body }}
	many := host.Mount{Host: filepath.Join(w.data, "many"), Guest: "/"}
	m := hosttest.Compile(t, hosttest.Engine(t), p.Bytes(), host.Policy{
		Limits: host.Limits{Time: 100 * time.Millisecond}, Grants: host.Grants{Files: []host.Mount{many}}})
	_, stats, err := m.Call(t.Context(), hosttest.Ask("x"), nil, nil)
	if limit, ok := errors.AsType[*host.LimitError](err); !ok || limit.Limit != "time" {
		t.Errorf("%v", err)
	}
	const slice = 5_000_000
	if stats.Fuel == 0 || stats.Fuel >= slice {
		t.Errorf("%d units of fuel in %v", stats.Fuel, stats.Time)
	}
}

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
	if _, stats, err = runTo(t.Context(), m, obs, "", "read /data/a.txt"); err != nil || stats.Note != "" {
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
		"nothing there":       {[]host.Mount{{Host: w.top + "/none", Guest: "/d"}}, "no such file"},
		"relative":            {[]host.Mount{{Host: "data", Guest: "/d"}}, "host path is not absolute"},
		"no host path":        {[]host.Mount{{Guest: "/d"}}, "host path is not absolute"},
		"relative for guests": {[]host.Mount{{Host: w.data, Guest: "d"}}, "guest path is not absolute"},
		"not clean":           {[]host.Mount{{Host: w.data, Guest: "/d/"}}, "guest path is not absolute and clean"},
		"dots":                {[]host.Mount{{Host: w.data, Guest: "/d/../e"}}, "guest path is not absolute and clean"},
		"long":                {[]host.Mount{{Host: w.data, Guest: "/" + strings.Repeat("d", 255)}}, "more than 255"},
		"twice":               {[]host.Mount{ok, ok}, "another mount is there"},
		"inside":              {[]host.Mount{ok, {Host: w.top, Guest: "/data/in"}}, "inside the mount at /data"},
		"around":              {[]host.Mount{{Host: w.top, Guest: "/data/in"}, ok}, "another mount lies inside"},
		"all around":          {[]host.Mount{ok, {Host: w.top, Guest: "/"}}, "another mount lies inside"},
		"a device":            {[]host.Mount{{Host: "/dev/null", Guest: "/n"}}, "neither a directory nor"},
		"a file as the root":  {[]host.Mount{{Host: w.data + "/a.txt", Guest: "/"}}, "a file cannot be the guest's root"},
		"scratch of a host's": {[]host.Mount{{Host: w.data, Guest: "/d", Scratch: true}}, "leave its path out"},
		"negative":            {[]host.Mount{{Host: w.data, Guest: "/d", Write: true, Bytes: -1}}, "negative"},
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
