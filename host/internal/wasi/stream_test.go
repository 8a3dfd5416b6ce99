package wasi

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/api"
)

func TestWrite(t *testing.T) {
	var out, errs strings.Builder
	g := newGuest(t, &State{Stdout: &out, Stderr: &errs})
	g.mem.WriteString(100, "hello world")
	g.vectors(0, 100, 5, 0, 0, 105, 6)
	g.want(Success, "fd_write", 1, 0, 3, 50)
	g.want(Success, "fd_write", 2, 0, 1, 54)
	if out.String() != "hello world" || errs.String() != "hello" ||
		g.u32(50) != 11 || g.u32(54) != 5 {
		t.Fatalf("%q %q %d %d", out.String(), errs.String(), g.u32(50), g.u32(54))
	}
	out.Reset()
	g.want(Badf, "fd_write", 0, 0, 3, 50)
	g.want(Badf, "fd_write", 3, 0, 3, 50)
	g.want(Badf, "fd_write", math.MaxUint32, 0, 3, 50)
	g.want(Fault, "fd_write", 1, 0, 3, pageSize-3)
	g.want(Fault, "fd_write", 1, pageSize-7, 1, 50)
	g.want(Fault, "fd_write", 1, 0, 1<<29, 50)          // 8 times that is 2^32
	g.want(Fault, "fd_write", 1, 0, math.MaxUint32, 50) // and this more
	g.vectors(0, 100, 5, pageSize-1, 2)
	g.want(Fault, "fd_write", 1, 0, 2, 50)
	g.vectors(0, 100, 5, 1, math.MaxUint32)
	g.want(Fault, "fd_write", 1, 0, 2, 50)
	if out.Len() != 0 {
		t.Fatalf("wrote %q before all was checked", out.String())
	}
	g.state.Stdout = failing{}
	g.want(Io, "fd_write", 1, 0, 1, 50)
	g.state.Stdout = nil
	g.want(Success, "fd_write", 1, 0, 1, 50)
	g.want(Success, "fd_write", 1, pageSize, 0, 50)
	if g.u32(50) != 0 {
		t.Fatal("wrote nothing, told something")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestWriteMovesSoManyVectors(t *testing.T) {
	var out strings.Builder
	g := newGuest(t, &State{Stdout: &out})
	for _, n := range []uint64{MaxVectors, MaxVectors + 1} {
		out.Reset()
		for v := range uint32(n) {
			g.vectors(8*v, 60000, 1)
		}
		g.want(Success, "fd_write", 1, 0, n, 50000)
		if g.u32(50000) != MaxVectors || out.Len() != MaxVectors {
			t.Fatalf("%d vectors: %d told, %d written", n, g.u32(50000), out.Len())
		}
	}
}

func TestStdin(t *testing.T) {
	g := newGuest(t, &State{})
	g.fill()
	g.vectors(0, 100, 5)
	g.want(Success, "fd_read", 0, 0, 1, 50)
	if g.u32(50) != 0 || g.text(100, 1) != "\xaa" {
		t.Fatal("stdin is not at its end")
	}
	g.want(Badf, "fd_read", 1, 0, 1, 50)
	g.want(Fault, "fd_read", 0, 0, 1, pageSize)
	g.vectors(0, 100, pageSize)
	g.want(Fault, "fd_read", 0, 0, 1, 50)
}

func TestStat(t *testing.T) {
	g := newGuest(t, &State{})
	for fd := range uint64(3) {
		g.fill()
		g.want(Success, "fd_fdstat_get", fd, 0)
		g.want(Success, "fd_filestat_get", fd, 100)
		rights := g.u64(8)
		if g.u32(0) != characterDevice || rights&rightRead != 0 == (rights&rightWrite != 0) {
			t.Errorf("%d: type %#x, rights %#x", fd, g.u32(0), rights)
		}
		if g.u64(16) != 0 || g.u32(24) != 0xaaaaaaaa {
			t.Error("fdstat is not 24 bytes")
		}
		if g.u64(116) != characterDevice || g.u64(100+56) != 0 || g.u32(164) != 0xaaaaaaaa {
			t.Error("filestat is not as it should be")
		}
	}
	g.want(Fault, "fd_fdstat_get", 1, pageSize-23)
	g.want(Fault, "fd_filestat_get", 1, pageSize-63)
	g.want(Inval, "fd_fdstat_set_flags", 1, 2)
}

// TestResetForgets does to the streams all that a guest can, and finds them as new.
func TestResetForgets(t *testing.T) {
	var out, errs strings.Builder
	files := new(fakeFiles)
	g := newGuest(t, &State{Stdout: &out, Stderr: &errs, Files: files})
	g.mem.WriteString(100, "x")
	g.vectors(0, 100, 1)
	for range 2 {
		g.want(Success, "fd_fdstat_get", 1, 200)
		if g.u32(200) != characterDevice {
			t.Fatal("flags survive")
		}
		g.want(Success, "fd_fdstat_set_flags", 1, flagAppend|flagNonblock)
		g.want(Success, "fd_fdstat_get", 1, 200)
		if g.u32(200)>>16 != flagAppend|flagNonblock {
			t.Fatal("flags are not kept within a call")
		}
		g.want(Success, "fd_renumber", 1, 2)
		g.want(Badf, "fd_write", 1, 0, 1, 50)
		g.want(Success, "fd_write", 2, 0, 1, 50)
		g.want(Badf, "fd_renumber", 1, 2)
		g.want(Success, "fd_renumber", 2, 2)
		g.want(Success, "fd_renumber", 2, 0)
		g.want(Badf, "fd_read", 0, 0, 1, 50)
		g.want(Success, "fd_close", 0)
		g.want(Badf, "fd_close", 0)
		g.want(Badf, "fd_write", 0, 0, 1, 50)
		g.state.Reset()
	}
	if out.String() != "xx" || errs.Len() != 0 || files.resets != 2 {
		t.Fatalf("%q %q %d", out.String(), errs.String(), files.resets)
	}
}

// fakeFiles knows one descriptor.
type fakeFiles struct {
	asked  []string
	resets int
}

func (f *fakeFiles) Call(_ context.Context, _ api.Memory, name string, params []uint64) Errno {
	f.asked = append(f.asked, fmt.Sprint(name, params))
	if params[0] == FirstFile {
		return Success
	}
	return Badf
}

func (f *fakeFiles) Reset() { f.resets++ }

func TestFilesAreAsked(t *testing.T) {
	f := new(fakeFiles)
	g := newGuest(t, &State{Files: f})
	g.want(Success, "fd_prestat_get", 3, 8)
	g.want(Badf, "fd_prestat_get", 4, 8)
	g.want(Success, "path_unlink_file", 3, 1, 2)
	g.want(Success, "fd_renumber", 3, 4)
	g.want(Notsup, "fd_renumber", 3, 1)
	g.want(Notsup, "fd_renumber", 1, 3)
	g.want(Success, "fd_close", 2)
	want := "[fd_prestat_get[3 8] fd_prestat_get[4 8] path_unlink_file[3 1 2] fd_renumber[3 4]]"
	if fmt.Sprint(f.asked) != want {
		t.Fatalf("asked %v", f.asked)
	}
	g.state.Files = nil
	g.want(Badf, "fd_renumber", 3, 4)
	g.want(Badf, "fd_renumber", 3, 1)
}
