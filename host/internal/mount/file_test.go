//go:build unix

package mount

import (
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/host/internal/wasi"
)

func TestReadAndWrite(t *testing.T) {
	dir := directory(t, map[string]string{"a": "0123456789"})
	g := newGuest(t, Mount{Host: dir, Guest: "/d", Write: true})
	fd := g.open("d/a", toWrite)
	vec, n := g.vectors([2]uint64{answer, 3}, [2]uint64{answer + 100, 0},
		[2]uint64{answer + 200, 4})
	g.want(wasi.Success, "fd_read", fd, vec, n, result)
	if got := g.read(answer, 3) + g.read(answer+200, 4); got != "0123456" || g.u32(result) != 7 {
		t.Errorf("%q, %d", got, g.u32(result))
	}
	g.want(wasi.Success, "fd_tell", fd, answer)
	if at := g.u64(answer); at != 7 {
		t.Errorf("at %d", at)
	}
	g.want(wasi.Success, "fd_pread", fd, vec, n, 8, result)
	if got := g.read(answer, 2); got != "89" || g.u32(result) != 2 {
		t.Errorf("%q, %d", got, g.u32(result))
	}
	g.want(wasi.Success, "fd_pread", fd, vec, n, 10, result)
	if g.u32(result) != 0 {
		t.Errorf("%d bytes behind the end", g.u32(result))
	}
	abc, _ := g.text("abcdef")
	vec, n = g.vectors([2]uint64{abc, 2}, [2]uint64{abc + 4, 2})
	g.want(wasi.Success, "fd_write", fd, vec, n, result)
	g.want(wasi.Success, "fd_pwrite", fd, vec, n, 0, result)
	g.want(wasi.Success, "fd_seek", fd, 0, whenceCurrent, answer)
	if at := g.u64(answer); at != 11 || g.wrote != 2 {
		t.Errorf("at %d, %d writes", at, g.wrote)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "a")); string(b) != "abef456abef" {
		t.Errorf("%q", b)
	}
	ro, wo := g.open("d/a", toRead), g.open("d/a", opened{rights: rightWrite})
	g.want(wasi.Badf, "fd_write", ro, vec, n, result)
	g.want(wasi.Badf, "fd_read", wo, vec, n, result)
	g.want(wasi.Badf, "fd_filestat_set_size", ro, 1)
	g.want(wasi.Isdir, "fd_read", root, vec, n, result)
	g.want(wasi.Inval, "fd_pread", fd, vec, n, 1<<63, result)
	g.want(wasi.Inval, "fd_pwrite", fd, vec, n, 1<<63, result)
	g.want(wasi.Fault, "fd_read", fd, vec, n, pageSize-3)
	g.want(wasi.Fault, "fd_write", fd, pageSize-7, 1, result)
	bad, one := g.vectors([2]uint64{pageSize - 1, 2})
	g.want(wasi.Fault, "fd_read", fd, bad, one, result)
	g.want(wasi.Fault, "fd_write", fd, bad, one, result)
}

func TestTransfer(t *testing.T) {
	text := strings.Repeat("x", MaxTransfer+1)
	dir := directory(t, map[string]string{"a": text})
	g := newGuest(t, Mount{Host: dir, Guest: "/d", Write: true})
	vec, n := g.vectors([2]uint64{0, pageSize / 2}, [2]uint64{0, pageSize / 2}, [2]uint64{0, 100})
	fd := g.open("d/a", toWrite)
	g.want(wasi.Success, "fd_read", fd, vec, n, pageSize-8)
	if got := g.u32(pageSize - 8); got != MaxTransfer {
		t.Errorf("%d bytes", got)
	}
	g.want(wasi.Success, "fd_write", fd, vec, n, pageSize-8)
	if got := g.u32(pageSize - 8); got != MaxTransfer {
		t.Errorf("%d bytes", got)
	}
}

func TestStat(t *testing.T) {
	dir := directory(t, map[string]string{"a": "text"})
	g := newGuest(t, Mount{Host: dir, Guest: "/d", Write: true}, Mount{Host: dir, Guest: "/r"})
	info, err := os.Stat(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	fd := g.open("d/a", toWrite)
	g.want(wasi.Success, "fd_filestat_get", fd, answer)
	if kind, size, when := g.read(answer+16, 1), g.u64(answer+32),
		g.u64(answer+48); kind != "\x04" || size != 4 ||
		when != uint64(info.ModTime().UnixNano()) || g.u64(answer+8) == 0 {
		t.Errorf("%q, %d, %d", kind, size, when)
	}
	when := uint64(time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC).UnixNano())
	modified := func() uint64 { g.call("fd_filestat_get", fd, answer); return g.u64(answer + 48) }
	g.want(wasi.Success, "fd_filestat_set_times", fd, 0, when, setModified)
	if got := modified(); got != when {
		t.Errorf("%d, not %d", got, when)
	}
	g.want(wasi.Success, "fd_filestat_set_times", fd, when, 0, setAccess)
	if got := modified(); got != when {
		t.Errorf("%d, not %d", got, when)
	}
	g.want(wasi.Success, "path_filestat_set_times", root, 0, g.at(0, "d/a")[1], 3, 0, 0,
		setModifiedNow)
	if got := modified(); got <= when {
		t.Errorf("%d", got)
	}
	g.want(wasi.Success, "fd_filestat_set_times", g.open("d", toRead), 0, when, setModified)
	g.want(wasi.Inval, "fd_filestat_set_times", fd, 0, 0, setModified|setModifiedNow)
	g.want(wasi.Inval, "fd_filestat_set_times", fd, 0, 0, 1<<4)
	g.want(wasi.Inval, "fd_filestat_set_times", fd, 0, 1<<63, setModified)
	g.want(wasi.Perm, "fd_filestat_set_times", root, 0, 0, setModifiedNow)
	g.want(wasi.Rofs, "fd_filestat_set_times", g.open("r/a", toRead), 0, 0, setModifiedNow)
	g.want(wasi.Rofs, "fd_filestat_set_times", g.open("r", toRead), 0, 0, setModifiedNow)

	g.want(wasi.Success, "fd_fdstat_get", fd, answer)
	if g.read(answer, 1) != "\x04" ||
		g.u64(answer+8)&(rightRead|rightWrite) != rightRead|rightWrite {
		t.Errorf("rights %x", g.u64(answer+8))
	}
	g.want(wasi.Success, "fd_fdstat_get", g.open("r", toRead), answer)
	if g.read(answer, 1) != "\x03" || g.u64(answer+16)&rightWrite != 0 {
		t.Errorf("rights %x", g.u64(answer+16))
	}
	g.want(wasi.Success, "fd_fdstat_get", root, answer)
	if g.u64(answer+16)&rightWrite == 0 {
		t.Errorf("rights %x", g.u64(answer+16))
	}
	g.want(wasi.Success, "fd_fdstat_set_flags", fd, flagNonblock)
	g.want(wasi.Notsup, "fd_fdstat_set_flags", fd, flagAppend)
	g.want(wasi.Inval, "fd_fdstat_set_flags", fd, 1<<5)
}

func TestOthers(t *testing.T) {
	g := newGuest(t, Mount{Host: directory(t, map[string]string{"a": "text"}), Guest: "/d",
		Write: true, Bytes: 10, Files: 1})
	fd, ro := g.open("d/a", toWrite), g.open("d/a", toRead)
	size := func() uint64 { g.call("fd_filestat_get", fd, answer); return g.u64(answer + 32) }
	g.want(wasi.Success, "fd_allocate", fd, 2, 8)
	g.want(wasi.Success, "fd_allocate", fd, 0, 3)
	if size() != 10 {
		t.Errorf("%d bytes", size())
	}
	g.want(wasi.Success, "fd_allocate", fd, 4, 10)
	g.want(wasi.Dquot, "fd_allocate", fd, 4, 11)
	g.want(wasi.Inval, "fd_allocate", fd, 0, 0)
	g.want(wasi.Inval, "fd_allocate", fd, 1<<62, 1<<62)
	g.want(wasi.Badf, "fd_allocate", ro, 0, 1)
	g.want(wasi.Isdir, "fd_allocate", root, 0, 1)
	g.want(wasi.Success, "fd_advise", fd, 0, 0, 5)
	g.want(wasi.Inval, "fd_advise", fd, 0, 0, 6)
	g.want(wasi.Isdir, "fd_advise", root, 0, 0, 0)
	g.want(wasi.Success, "fd_sync", fd)
	g.want(wasi.Success, "fd_datasync", ro)
	g.want(wasi.Success, "poll_oneoff", fd)
	g.want(wasi.Badf, "poll_oneoff", 99)
	g.want(wasi.Isdir, "fd_seek", root, 0, whenceSet, answer)
	g.want(wasi.Inval, "fd_seek", fd, 0, 3, answer)
	g.want(wasi.Inval, "fd_seek", fd, math.MaxUint64, whenceSet, answer)
	g.want(wasi.Success, "fd_seek", fd, 1, whenceSet, answer)
	g.want(wasi.Inval, "fd_seek", fd, math.MaxInt64, whenceCurrent, answer)
	g.want(wasi.Isdir, "fd_tell", root, answer)
	g.want(wasi.Notsup, "fd_fdstat_set_rights", fd, 0, 0)
	for name, params := range map[string][]uint64{
		"path_open":         {root, 1, g.at(0, "d/a")[1], 3, 0, rightRead, 0, 1 << 5, result},
		"path_link":         {root, 0, 0, 0, root, 0, 0},
		"path_filestat_get": {root, 0, pageSize, 1, answer},
	} {
		want := map[string]wasi.Errno{"path_open": wasi.Inval, "path_link": wasi.Perm,
			"path_filestat_get": wasi.Fault}
		g.want(want[name], name, params...)
	}
	for _, how := range []opened{{openDirectory | openCreate, rightRead, 0},
		{openDirectory, rightRead, 0}} {
		if _, e := g.tryOpen(root, "d/a", how); e != wasi.Notdir {
			t.Errorf("%+v: %d", how, e)
		}
	}
	for _, test := range []struct {
		how  opened
		want wasi.Errno
	}{
		{opened{openCreate | openExclusive, rightRead, 0}, wasi.Exist}, {toWrite, wasi.Isdir},
		{opened{openTruncate, rightRead, 0}, wasi.Isdir},
		{opened{openDirectory, rightRead, 0}, wasi.Success},
		{opened{openCreate, rightRead, 0}, wasi.Isdir},
	} {
		for _, path := range []string{"d", "."} {
			if _, e := g.tryOpen(root, path, test.how); e != test.want {
				t.Errorf("%s %+v: %d, want %d", path, test.how, e, test.want)
			}
		}
	}
}

func TestAppends(t *testing.T) {
	dir := directory(t, map[string]string{"log": ""})
	g := newGuest(t, Mount{Host: dir, Guest: "/d", Write: true, Bytes: 8, Files: 1})
	how := opened{rights: rightWrite, flags: flagAppend | flagSync}
	a, b := g.open("d/log", how), g.open("d/log", how)
	x, _ := g.text("xx")
	vec, n := g.vectors([2]uint64{x, 2})
	for _, fd := range []uint64{a, b, a, b} {
		g.want(wasi.Success, "fd_write", fd, vec, n, result)
	}
	g.want(wasi.Dquot, "fd_write", a, vec, n, result)
	if text, _ := os.ReadFile(filepath.Join(dir, "log")); string(text) != "xxxxxxxx" {
		t.Errorf("%q", text)
	}
}

func TestTypes(t *testing.T) {
	for mode, want := range map[fs.FileMode]uint8{
		0: typeRegular, 0o777: typeRegular, fs.ModeDir | 0o755: typeDirectory,
		fs.ModeSymlink: typeLink,
		fs.ModeSocket:  typeSocket, fs.ModeDevice: typeBlock,
		fs.ModeDevice | fs.ModeCharDevice: typeCharacter,
		fs.ModeNamedPipe:                  typeUnknown, fs.ModeIrregular: typeUnknown,
	} {
		if got := typeOf(mode); got != want {
			t.Errorf("%v: %d, want %d", mode, got, want)
		}
	}
}
