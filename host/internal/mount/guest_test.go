//go:build unix

package mount

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wasmagent/wasmagent/host/internal/wasi"
)

var onePage = []byte{
	0, 'a', 's', 'm', 1, 0, 0, 0,
	5, 3, 1, 0, 1,
	7, 10, 1, 6, 'm', 'e', 'm', 'o', 'r', 'y', 2, 0,
}

const pageSize = 64 << 10

type guest struct {
	t     testing.TB
	mem   api.Memory
	table *Table
	data  uint32

	loading bool
	wrote   int
	missing []string
}

const root = wasi.FirstFile // the preopened directory

func newGuest(t testing.TB, mounts ...Mount) *guest {
	t.Helper()
	for i := range mounts {
		if mounts[i].Bytes == 0 {
			mounts[i].Bytes, mounts[i].Files = 1<<20, 100
		}
	}
	set, err := Open(mounts)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	mod, err := rt.Instantiate(ctx, onePage)
	if err != nil {
		t.Fatal(err)
	}
	g := &guest{t: t, mem: mod.Memory(), data: dataAt}
	g.table = set.NewTable(Guest{
		Ready: func() bool { return !g.loading },
		Look:  func() {},
		Away:  func(work func()) { work() },
		Spend: func(int) {},
		Wrote: func() { g.wrote++ },
		Missing: func(text string, outside bool) {
			g.missing = append(g.missing,
				fmt.Sprint(text, outside))
		},
		Trouble: func(err error) { t.Error(err) },
	})
	t.Cleanup(func() {
		g.table.Reset()
		if err := errors.Join(set.Close(), rt.Close(ctx)); err != nil {
			t.Error(err)
		}
	})
	return g
}

func (g *guest) call(name string, params ...uint64) wasi.Errno {
	return g.table.Call(context.Background(), g.mem, name, params)
}

func (g *guest) want(want wasi.Errno, name string, params ...uint64) {
	g.t.Helper()
	if got := g.call(name, params...); got != want {
		g.t.Errorf("%s%v: %d, want %d", name, params, got, want)
	}
}

func (g *guest) text(s string) (ptr, size uint64) {
	g.t.Helper()
	if !g.mem.WriteString(g.data, s) {
		g.t.Fatal("the memory is full")
	}
	ptr = uint64(g.data)
	g.data += uint32(len(s))
	return ptr, uint64(len(s))
}

func (g *guest) at(fd uint64, path string) []uint64 {
	ptr, size := g.text(path)
	return []uint64{fd, ptr, size}
}

type opened struct{ oflags, rights, flags uint64 }

func (g *guest) tryOpen(fd uint64, path string, how opened) (uint64, wasi.Errno) {
	g.t.Helper()
	ptr, size := g.text(path)
	e := g.call("path_open", fd, lookupFollow, ptr, size, how.oflags, how.rights, how.rights,
		how.flags, result)
	n, _ := g.mem.ReadUint32Le(result)
	return uint64(n), e
}

func (g *guest) open(path string, how opened) uint64 {
	g.t.Helper()
	fd, e := g.tryOpen(root, path, how)
	if e != wasi.Success {
		g.t.Fatalf("open %s: %d", path, e)
	}
	return fd
}

func (g *guest) vectors(ranges ...[2]uint64) (ptr, count uint64) {
	var b []byte
	for _, r := range ranges {
		b = le.AppendUint32(le.AppendUint32(b, uint32(r[0])), uint32(r[1]))
	}
	ptr, _ = g.text(string(b))
	return ptr, uint64(len(ranges))
}

func (g *guest) u32(ptr uint32) uint32 { v, _ := g.mem.ReadUint32Le(ptr); return v }

func (g *guest) u64(ptr uint32) uint64 { v, _ := g.mem.ReadUint64Le(ptr); return v }

func (g *guest) read(ptr, n uint32) string { b, _ := g.mem.Read(ptr, n); return string(b) }

func directory(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777),
			os.WriteFile(file, []byte(text), 0o666))
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
