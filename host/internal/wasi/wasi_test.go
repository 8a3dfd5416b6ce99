package wasi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

// onePage is a module with a memory of one page and nothing else.
var onePage = []byte{
	0, 'a', 's', 'm', 1, 0, 0, 0,
	5, 3, 1, 0, 1,
	7, 10, 1, 6, 'm', 'e', 'm', 'o', 'r', 'y', 2, 0,
}

const pageSize = 64 << 10

// guest calls functions as a module with one page of memory would.
type guest struct {
	t     testing.TB
	mod   api.Module
	mem   api.Memory
	funcs map[string]api.GoModuleFunc
	state *State
	ctx   context.Context
}

func newGuest(t testing.TB, s *State) *guest {
	t.Helper()
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	t.Cleanup(func() { _ = rt.Close(ctx) })
	mod, err := rt.Instantiate(ctx, onePage)
	if err != nil {
		t.Fatal(err)
	}
	g := &guest{t: t, mod: mod, mem: mod.Memory(), state: s, ctx: ctx}
	g.funcs = make(map[string]api.GoModuleFunc)
	for _, f := range Functions(func(context.Context) *State { return s }) {
		g.funcs[f.Name] = f.Call
	}
	return g
}

func (g *guest) call(name string, params ...uint64) Errno {
	g.t.Helper()
	stack := append(params, 0)[:max(1, len(params))]
	g.funcs[name](g.ctx, g.mod, stack)
	return Errno(stack[0])
}

func (g *guest) want(e Errno, name string, params ...uint64) {
	g.t.Helper()
	if got := g.call(name, params...); got != e {
		g.t.Errorf("%s%v: %d, want %d", name, params, got, e)
	}
}

// fill makes every byte of memory 0xaa, so that what was not written is seen.
func (g *guest) fill() {
	g.mem.Write(0, bytes.Repeat([]byte{0xaa}, pageSize))
}

func (g *guest) u32(ptr uint32) uint32 {
	v, _ := g.mem.ReadUint32Le(ptr)
	return v
}

func (g *guest) u64(ptr uint32) uint64 {
	v, _ := g.mem.ReadUint64Le(ptr)
	return v
}

func (g *guest) text(ptr, n uint32) string {
	b, _ := g.mem.Read(ptr, n)
	return string(b)
}

// vectors writes a list of (pointer, length) at ptr.
func (g *guest) vectors(ptr uint32, words ...uint32) {
	for n, w := range words {
		g.mem.WriteUint32Le(ptr+uint32(4*n), w)
	}
}

// TestSignatures compares the whole set with wazero's.
func TestSignatures(t *testing.T) {
	ctx := t.Context()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer rt.Close(ctx)
	theirs, err := wasi_snapshot_preview1.NewBuilder(rt).Compile(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[string]string)
	for name, f := range theirs.ExportedFunctions() {
		want[name] = fmt.Sprint(f.ParamTypes(), f.ResultTypes())
	}
	got := make(map[string]string)
	for _, f := range Functions(nil) {
		if got[f.Name] != "" {
			t.Errorf("%s is there twice", f.Name)
		}
		got[f.Name] = fmt.Sprint(f.Params, f.Results)
	}
	if len(got) != 46 {
		t.Errorf("%d functions", len(got))
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			t.Errorf("%s: %s, want %s", name, got[name], want[name])
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%s is not WASI's", name)
	}
}

func TestArgsAndEnviron(t *testing.T) {
	g := newGuest(t, &State{Args: []string{"tool", ""}, Env: []string{"A=b"}})
	g.want(Success, "args_sizes_get", 0, 4)
	g.want(Success, "environ_sizes_get", 8, 12)
	if a, b, c, d := g.u32(0), g.u32(4), g.u32(8), g.u32(12); a != 2 || b != 6 || c != 1 || d != 4 {
		t.Fatalf("sizes %d %d, %d %d", a, b, c, d)
	}
	g.fill()
	g.want(Success, "args_get", 0, 100)
	if g.u32(0) != 100 || g.u32(4) != 105 || g.text(100, 7) != "tool\x00\x00\xaa" {
		t.Fatalf("%d %d %q", g.u32(0), g.u32(4), g.text(100, 7))
	}
	g.want(Success, "environ_get", 0, 100)
	if g.u32(0) != 100 || g.text(100, 4) != "A=b\x00" {
		t.Fatalf("%d %q", g.u32(0), g.text(100, 4))
	}
	for _, c := range []struct {
		e            Errno
		starts, data uint64
	}{
		{Success, pageSize - 8, 0},
		{Fault, pageSize - 7, 0},
		{Success, 0, pageSize - 6},
		{Fault, 0, pageSize - 5},
		{Fault, math.MaxUint32, 0},
		{Fault, 0, math.MaxUint32},
	} {
		g.want(c.e, "args_get", c.starts, c.data)
	}
	g.want(Fault, "args_sizes_get", 0, pageSize-3)
	g.want(Fault, "environ_sizes_get", pageSize-3, 0)
	empty := newGuest(t, &State{})
	empty.fill()
	empty.want(Success, "environ_sizes_get", 0, 4)
	empty.want(Success, "environ_get", 8, 8)
	if empty.u32(0) != 0 || empty.u32(4) != 0 || empty.u32(8) != 0xaaaaaaaa {
		t.Fatal("an empty environment is not empty")
	}
}

func TestRandom(t *testing.T) {
	var asked []int
	s := &State{
		Random: bytes.NewReader(bytes.Repeat([]byte{7}, pageSize)),
		Spend:  func(n uint64) { asked = append(asked, int(n)) },
	}
	g := newGuest(t, s)
	g.fill()
	g.want(Success, "random_get", 10, 3)
	if g.text(9, 5) != "\xaa\x07\x07\x07\xaa" {
		t.Fatalf("%q", g.text(9, 5))
	}
	g.want(Success, "random_get", pageSize, 0)
	g.want(Success, "random_get", pageSize-1, 1)
	g.want(Fault, "random_get", pageSize-1, 2)
	g.want(Fault, "random_get", 1, math.MaxUint32)
	g.want(Io, "random_get", 0, pageSize) // the source has no more
	if fmt.Sprint(asked) != "[0 24 0 0 8 0 0 0"+strings.Repeat(" 65536", 8)+"]" {
		t.Fatalf("told of %v", asked)
	}
	g.state.Random = nil
	g.want(Success, "random_get", 0, 32)
	first := g.text(0, 32)
	g.want(Success, "random_get", 0, 32)
	if g.text(0, 32) == first {
		t.Fatal("randomness repeats")
	}
}

// TestRandomInChunks: the host is asked before each piece and can end the guest between two.
func TestRandomInChunks(t *testing.T) {
	const most = 3
	asked, stop := 0, errors.New("enough")
	g := newGuest(t, &State{Random: zero{}, Spend: func(n uint64) {
		if n > Chunk {
			t.Errorf("%d bytes at once", n)
		}
		if n == 0 { // the call itself
			return
		}
		if asked++; asked > most {
			panic(stop)
		}
	}})
	g.mem.Grow(9)
	g.fill()
	defer func() {
		if recover() != stop {
			t.Fatal("the guest went on")
		}
		if b, _ := g.mem.ReadByte(most*Chunk/randomWork - 1); b != 0 {
			t.Fatal("stopped early")
		}
	}()
	g.call("random_get", 0, 9*pageSize)
}

// TestCallsCost: each function, whatever it does, tells that it was called.
func TestCallsCost(t *testing.T) {
	calls := 0
	g := newGuest(t, &State{Spend: func(n uint64) {
		if n == 0 {
			calls++
		}
	}})
	for _, f := range Functions(func(context.Context) *State { return g.state }) {
		if f.Name == "proc_exit" { // ends the guest
			continue
		}
		calls = 0
		g.call(f.Name, make([]uint64, len(f.Params))...)
		if calls == 0 {
			t.Errorf("%s was not told", f.Name)
		}
	}
}

// TestVectorsCost: a list is paid for before it is looked at, also one that then turns out to be
// bad.
func TestVectorsCost(t *testing.T) {
	for name, fd := range map[string]uint64{"fd_read": 0, "fd_write": 1} {
		spent := uint64(0)
		g := newGuest(t, &State{Spend: func(n uint64) { spent += n }})
		g.mem.WriteUint32Le((MaxVectors-1)*VectorSize, pageSize+1)
		g.want(Fault, name, fd, 0, MaxVectors, 0)
		if spent != MaxVectors*vectorWork {
			t.Errorf("%s: told of %d bytes", name, spent)
		}
	}
}

type zero struct{}

func (zero) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// TestAnswers lists what has only one answer.
func TestAnswers(t *testing.T) {
	g := newGuest(t, &State{})
	for _, f := range Functions(nil) {
		params := make([]uint64, len(f.Params))
		if len(params) > 0 {
			params[0] = FirstFile
		}
		switch {
		case strings.HasPrefix(f.Name, "path_"):
			g.want(Notcapable, f.Name, params...)
		case strings.HasPrefix(f.Name, "sock_"), f.Name == "proc_raise":
			g.want(Notsup, f.Name, params...)
		case strings.HasPrefix(f.Name, "fd_"):
			g.want(Badf, f.Name, params...)
		}
	}
	for name, e := range map[string]Errno{
		"fd_advise": Spipe, "fd_allocate": Spipe, "fd_datasync": Success, "fd_sync": Success,
		"fd_fdstat_set_rights": Notsup, "fd_filestat_set_size": Inval,
		"fd_filestat_set_times": Notsup, "fd_pread": Spipe, "fd_pwrite": Spipe,
		"fd_prestat_get": Badf, "fd_prestat_dir_name": Badf,
		"fd_readdir": Notdir, "fd_seek": Spipe, "fd_tell": Spipe,
	} {
		for fd := range uint64(3) {
			g.want(e, name, fd, 0, 0, 0, 0)
		}
	}
	g.want(Success, "sched_yield")
}

func TestExit(t *testing.T) {
	g := newGuest(t, &State{})
	defer func() {
		var exit *sys.ExitError
		if err, _ := recover().(error); !errors.As(err, &exit) || exit.ExitCode() != 3 {
			t.Fatalf("%v", err)
		}
		if g.mod.IsClosed() {
			t.Fatal("the instance is closed")
		}
	}()
	g.call("proc_exit", 3)
}
