//go:build unix

package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/wasmagent/wasmagent/host"
)

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
	for _, name := range []string{"out", "absolute", "absolute-in", "parent", "parent/secret",
		"devious",
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
		if target, _ := os.Readlink(path); strings.Contains(target, "..") ||
			filepath.IsAbs(target) {
			t.Errorf("%s points to %s", path, target)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
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
