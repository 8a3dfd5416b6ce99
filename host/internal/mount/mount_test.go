//go:build unix

package mount

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/wasmagent/wasmagent/host/internal/wasi"
)

// onePage is a module with a memory of one page and nothing else.
// guest calls a Table as a module with one page of memory would. Its data lies from dataAt on.
// Where a guest has things answered.
const (
	result = 0 // a number
	answer = 1 << 10
	dataAt = 32 << 10
)

// text puts a text into memory, and gives the two parameters that name it.
// at gives the parameters of a path: a descriptor, and where the path lies.
// opened is how a path is opened.
var (
	toRead  = opened{rights: rightRead}
	toWrite = opened{rights: rightRead | rightWrite}
	toMake  = opened{oflags: openCreate, rights: rightRead | rightWrite}
)

// vectors puts a list of ranges into memory, and gives the two parameters that name it.
// directory makes files by their paths, with their texts.
func TestPreopen(t *testing.T) {
	g := newGuest(t, Mount{Host: t.TempDir(), Guest: "/data"})
	g.want(wasi.Success, "fd_prestat_get", root, answer)
	if kind, size := g.u32(answer), g.u32(answer+4); kind != 0 || size != 1 {
		t.Errorf("%d, %d", kind, size)
	}
	g.want(wasi.Success, "fd_prestat_dir_name", root, answer, 1)
	if name := g.read(answer, 1); name != "/" {
		t.Errorf("%q", name)
	}
	g.want(wasi.Nametoolong, "fd_prestat_dir_name", root, answer, 0)
	g.want(wasi.Badf, "fd_prestat_get", root+1, answer)
	fd := g.open("data", toRead)
	g.want(wasi.Badf, "fd_prestat_get", fd, answer)
	g.want(wasi.Success, "fd_close", root)
	g.want(wasi.Badf, "fd_prestat_get", root, answer)
	g.table.Reset()
	g.want(wasi.Success, "fd_prestat_get", root, answer)
	g.want(wasi.Badf, "fd_fdstat_get", fd, answer)
}

func TestPaths(t *testing.T) {
	dir := directory(t, map[string]string{"data/a": "text", "secret": "no"})
	g := newGuest(t, Mount{Host: filepath.Join(dir, "data"), Guest: "/top/data"})
	sub := g.open("top/data", toRead)
	for _, test := range []struct {
		fd   uint64
		path string
		want wasi.Errno
	}{
		{root, "top/data/a", wasi.Success},
		{root, "top//data/./a", wasi.Success},
		{root, "./top/../top/data/a", wasi.Success},
		{sub, "a", wasi.Success},
		{sub, "./a", wasi.Success},
		{root, "", wasi.Noent},
		{root, "/top/data/a", wasi.Notcapable},
		{sub, "/etc/passwd", wasi.Notcapable},
		{root, "..", wasi.Notcapable},
		{root, "top/../../x", wasi.Notcapable},
		{root, "top/data/../../../x", wasi.Notcapable},
		{root, "top/data/../../secret", wasi.Notcapable},
		{sub, "..", wasi.Notcapable},
		{sub, "../secret", wasi.Notcapable},
		{sub, "x/../../secret", wasi.Noent},
		{root, "top/data/a\x00b", wasi.Inval},
		{root, "top/data/" + strings.Repeat("./", 2042) + "aaa", wasi.Noent},
		{root, "top/data/" + strings.Repeat("./", 2042) + "aaaa", wasi.Nametoolong},
		{root, "top/data/" + strings.Repeat("a", 256), wasi.Nametoolong},
		{root, "top/data/a/b", wasi.Notdir},
		{root, "none/data/a", wasi.Noent},
		{1, "a", wasi.Badf},
		{99, "a", wasi.Badf},
		{math.MaxUint32, "a", wasi.Badf},
	} {
		fd, e := g.tryOpen(test.fd, test.path, toRead)
		if e != test.want {
			t.Errorf("%d %.40q: %d, want %d", test.fd, test.path, e, test.want)
		}
		if e == wasi.Success {
			g.want(wasi.Notdir, "path_create_directory", g.at(fd, "x")...)
			g.want(wasi.Success, "fd_close", fd)
		}
		g.data = dataAt
	}
}

func TestNoFollow(t *testing.T) {
	dir := directory(t, map[string]string{"a": "text"})
	if err := os.Symlink("a", filepath.Join(dir, "l")); err != nil {
		t.Fatal(err)
	}
	g := newGuest(t, Mount{Host: dir, Guest: "/d", Write: true})
	ptr, size := g.text("d/l")
	g.want(wasi.Loop, "path_open", root, 0, ptr, size, 0, rightRead, 0, 0, result)
	g.want(wasi.Success, "path_filestat_get", root, 0, ptr, size, answer)
	if kind := g.read(answer+16, 1); kind != "\x07" {
		t.Errorf("type %q", kind)
	}
	g.want(wasi.Success, "path_filestat_get", root, lookupFollow, ptr, size, answer)
	if kind := g.read(answer+16, 1); kind != "\x04" || g.u64(answer+32) != 4 {
		t.Errorf("type %q", kind)
	}
	g.want(wasi.Notsup, "path_filestat_set_times", root, 0, ptr, size, 0, 0, setModifiedNow)
	// A target is cut to the guest's buffer.
	for buf, want := range map[uint64]string{0: "", 1: "a", 5: "a"} {
		g.want(wasi.Success, "path_readlink", root, ptr, size, answer, buf, result)
		if got := g.read(answer, g.u32(result)); got != want {
			t.Errorf("%d bytes: %q", buf, got)
		}
	}
	a, n := g.text("d/a")
	g.want(wasi.Inval, "path_readlink", root, a, n, answer, 10, result)
}

// TestTransfer has one read and one write of more than is moved at a time.
func TestReaddir(t *testing.T) {
	files := map[string]string{}
	for i := range 10 {
		files[fmt.Sprintf("file-%d", 9-i)] = ""
	}
	g := newGuest(t, Mount{Host: directory(t, files), Guest: "/d"},
		Mount{Guest: "/s", Scratch: true})
	fd := g.open("d", toRead)
	for _, size := range []uint64{25, 40, 64, 1000} { // each of which cuts elsewhere
		var names []string
		for cookie := uint64(0); ; {
			g.want(wasi.Success, "fd_readdir", fd, answer, size, cookie, result)
			used := g.u32(result)
			at := uint32(0)
			for at+direntSize <= used {
				length := g.u32(answer + at + 16)
				if at+direntSize+length > used {
					break
				}
				names = append(names, g.read(answer+at+direntSize, length))
				cookie = g.u64(answer + at)
				at += direntSize + length
			}
			if uint64(used) < size {
				break
			}
			if at == 0 {
				size++ // as guests do when not one entry fits
			}
		}
		if got := strings.Join(names,
			" "); got != ". .. file-0 file-1 file-2 file-3 file-4 file-5 file-6 file-7 file-8 file-9" {
			t.Errorf("%d: %s", size, got)
		}
	}
	g.want(wasi.Success, "fd_readdir", root, answer, 1000, 2, result)
	if got := g.read(answer+direntSize, 1) + g.read(answer+2*direntSize+1, 1); got != "ds" {
		t.Errorf("%q", got)
	}
	g.want(wasi.Success, "fd_readdir", fd, answer, 1000, math.MaxUint64, result)
	if g.u32(result) != 0 {
		t.Errorf("%d bytes", g.u32(result))
	}
	g.loading = true
	g.want(wasi.Notcapable, "fd_readdir", root, answer, 1000, 0, result)
	g.want(wasi.Notcapable, "path_filestat_get", append(g.at(root, "d"), 0, answer)...)
	g.want(wasi.Success, "fd_prestat_get", root, answer)
}

func TestMissing(t *testing.T) {
	g := newGuest(t, Mount{Host: directory(t, map[string]string{"a": ""}), Guest: "/d"})
	for path, want := range map[string]string{
		"d/x": `no such file: "/d/x"; the plugin's paths are /d (read-only)false`,
		"x/y": `no such file: "/x/y"; the plugin's paths are /d (read-only)true`,
		"d/a": "",
	} {
		g.missing = nil
		for range 2 { // it is told once
			g.tryOpen(root, path, toRead)
		}
		if got := strings.Join(g.missing, "\n"); got != want {
			t.Errorf("%s: %s", path, got)
		}
		g.table.Reset()
	}
}

func TestRenumber(t *testing.T) {
	g := newGuest(t, Mount{Host: directory(t, map[string]string{"a": "a", "b": "b"}), Guest: "/d"})
	a, b := g.open("d/a", toRead), g.open("d/b", toRead)
	g.want(wasi.Badf, "fd_renumber", a, 99)
	g.want(wasi.Success, "fd_renumber", a, a)
	g.want(wasi.Success, "fd_renumber", a, b)
	vec, n := g.vectors([2]uint64{answer, 1})
	g.want(wasi.Badf, "fd_read", a, vec, n, result)
	g.want(wasi.Success, "fd_read", b, vec, n, result)
	if got := g.read(answer, 1); got != "a" {
		t.Errorf("%q", got)
	}
	g.want(wasi.Success, "fd_renumber", b, root) // the guest's own loss, for this call
	g.want(wasi.Notdir, "path_filestat_get", root, 0, answer, 1, answer)
	for range MaxOpen { // what was closed counts no more
		g.table.Reset()
		g.open("d/a", toRead)
	}
	for i := range MaxOpen - 1 {
		if _, e := g.tryOpen(root, "d/a", toRead); e != wasi.Success {
			t.Fatalf("%d: %d", i, e)
		}
	}
	if _, e := g.tryOpen(root, "d/a", toRead); e != wasi.Mfile {
		t.Errorf("one more: %d", e)
	}
}

// TestAppends has two descriptors append to one file, each behind what the other wrote.
// TestAnythingGoes calls every function with parameters that no honest guest has, over memory full
// of such numbers and of paths. Nothing panics, every answer is an error number, and nothing
// changes beside the mount.
func TestAnythingGoes(t *testing.T) {
	top := directory(t, map[string]string{"data/a": "text", "data/d/b": "text", "data/d/c/d": "x",
		"secret": "keep"})
	if err := os.Symlink("../secret", filepath.Join(top, "data", "out")); err != nil {
		t.Fatal(err)
	}
	g := newGuest(t, Mount{Host: filepath.Join(top, "data"), Guest: "/m", Write: true},
		Mount{Host: filepath.Join(top, "secret"), Guest: "/s"}, Mount{Guest: "/t", Scratch: true})
	paths := []string{"m/a", "m/d", "m/d/b", "m/out", "m/../..", "m/d/../a", "m/new", "m", ".",
		"t/x", "t", "s", "../secret"}
	functions := wasi.Functions(nil)
	number := rapid.OneOf(
		rapid.Uint64Range(0, 16),
		rapid.Uint64Range(pageSize-64, pageSize+8),
		rapid.Uint64Range(math.MaxUint32-64, math.MaxUint32),
		rapid.Uint64(),
	)
	state := &wasi.State{Files: g.table}
	rapid.Check(t, func(rt *rapid.T) {
		for at := uint32(0); at < 256; at += 4 {
			g.mem.WriteUint32Le(at, uint32(number.Draw(rt, "word")))
		}
		for range 30 {
			f := rapid.SampledFrom(functions).Draw(rt, "function")
			stack := make([]uint64, len(f.Params))
			for i := range stack {
				stack[i] = number.Draw(rt, "number")
			}
			if strings.HasPrefix(f.Name, "path_") { // mostly at paths that lead somewhere
				g.data = dataAt
				for i := range stack {
					if i%2 == 1 || rapid.Bool().Draw(rt, "path") {
						continue
					}
					if i+1 < len(stack) {
						stack[i], stack[i+1] = g.text(rapid.SampledFrom(paths).Draw(rt, "path"))
					}
				}
				stack[0] = rapid.Uint64Range(root, root+4).Draw(rt, "fd")
			}
			if _, mine := byDescriptor[f.Name]; !mine && byPath[f.Name] == nil {
				continue
			}
			if e := g.call(f.Name, stack...); e > wasi.Notcapable {
				rt.Fatalf("%s%v answers %d", f.Name, stack, e)
			}
		}
		state.Reset()
	})
	if b, err := os.ReadFile(filepath.Join(top, "secret")); string(b) != "keep" {
		t.Errorf("%q, %v", b, err)
	}
	if list, err := os.ReadDir(top); len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
}

// TestUsage is at the edges of what may be added.
func TestUsage(t *testing.T) {
	u := &usage{maxBytes: 10, maxFiles: 2}
	for i, step := range []struct {
		did, want bool
	}{
		{u.grow(10), true}, {u.grow(0), true}, {u.grow(1), false}, {u.grow(-5), true},
		{u.grow(1), false},
		{u.add(), true}, {u.add(), true}, {u.add(), false},
	} {
		if step.did != step.want {
			t.Errorf("step %d: %v", i, step.did)
		}
	}
	u.free(100, 100)
	if !u.grow(10) || u.grow(1) || !u.add() || !u.add() || u.add() {
		t.Errorf("%+v", u)
	}
	for _, test := range []struct {
		size, at int64
		n        int
		more     int64
		ok       bool
	}{{0, 0, 5, 5, true}, {10, 3, 5, 0, true}, {10, 8, 5, 3, true}, {0, 100, 1, 101, true},
		{0, math.MaxInt64 - 1, 1, math.MaxInt64, true}, {0, math.MaxInt64, 1, 0, false}} {
		if more, ok := growth(test.size, test.at, test.n); more != test.more || ok != test.ok {
			t.Errorf("%+v: %d, %v", test, more, ok)
		}
	}
}

// BenchmarkTable is what the host does for one call of WASI and, for reset, at the end of a call.
func BenchmarkTable(b *testing.B) {
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), make([]byte, 1000), 0o666); err != nil {
		b.Fatal(err)
	}
	g := newGuest(b, Mount{Host: dir, Guest: "/d", Write: true}, Mount{Guest: "/t", Scratch: true})
	ptr, size := g.text("d/a")
	tmp, tmpSize := g.text("t/a")
	vec, n := g.vectors([2]uint64{answer, 1000})
	open := func(ptr, size uint64, how opened) uint64 {
		g.call("path_open", root, lookupFollow, ptr, size, how.oflags, how.rights, 0, 0, result)
		return uint64(g.u32(result))
	}
	for name, work := range map[string]func(){
		"reset unused": func() {},
		"stat": func() {
			g.call("path_filestat_get", root, lookupFollow, ptr, size,
				answer)
		},
		"open, read, reset": func() {
			g.call("fd_read", open(ptr, size, toRead), vec, n, result)
		},
		"open, write, reset": func() {
			g.call("fd_pwrite", open(ptr, size, toWrite), vec, n, 0, result)
		},
		"scratch: open, write, reset": func() {
			g.call("fd_write", open(tmp, tmpSize, toMake), vec, n, result)
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				work()
				g.table.Reset()
			}
		})
	}
}
