package wasi

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero/api"
)

// oldGuest calls the functions of wasi_unstable.
func oldGuest(t *testing.T, s *State) *guest {
	g := newGuest(t, s)
	clear(g.funcs)
	for _, f := range UnstableFunctions(func(context.Context) *State { return s }) {
		g.funcs[f.Name] = f.Call
	}
	return g
}

// statFiles answers what tests of the old forms ask.
type statFiles struct {
	function string
	params   []uint64
}

func (f *statFiles) Reset() {}
func (f *statFiles) Call(_ context.Context, mem api.Memory, function string, p []uint64) Errno {
	f.function, f.params = function, append([]uint64(nil), p...)
	at := map[string]int{"fd_filestat_get": 1, "path_filestat_get": 4}
	i, ok := at[function]
	if !ok {
		return Success
	}
	b, ok := View(mem, p[i], filestatSize)
	if !ok {
		return Fault
	}
	for n, v := range []uint64{1, 2, 3, 4 + 1<<33, 5, 6, 7, 8} {
		le.PutUint64(b[8*n:], v)
	}
	return Success
}

// The same functions, with the same signatures, but one that came later.
func TestUnstableSignatures(t *testing.T) {
	old := map[string]string{}
	for _, f := range UnstableFunctions(nil) {
		old[f.Name] = string(f.Params) + ">" + string(f.Results)
	}
	for _, f := range Functions(nil) {
		want := string(f.Params) + ">" + string(f.Results)
		if f.Name == "sock_accept" {
			want = ""
		}
		if old[f.Name] != want {
			t.Errorf("%s: %q, want %q", f.Name, old[f.Name], want)
		}
	}
}

func TestUnstableSeek(t *testing.T) {
	files := &statFiles{}
	g := oldGuest(t, &State{Files: files})
	for old, now := range map[uint64]uint64{0: 1, 1: 2, 2: 0, 3: 3, 1<<32 - 1: 1<<32 - 1} {
		g.want(Success, "fd_seek", 3, 5, old, 64)
		if files.params[2] != now || files.params[1] != 5 {
			t.Errorf("whence %d: %v, want %d", old, files.params, now)
		}
	}
}

// A filestat has 56 bytes, and what lies behind it stays.
func TestUnstableFilestat(t *testing.T) {
	g := oldGuest(t, &State{Files: &statFiles{}})
	for name, params := range map[string][]uint64{
		"fd_filestat_get":   {3, 0},
		"path_filestat_get": {3, 0, 8, 4, 0},
	} {
		last := len(params) - 1
		for _, ptr := range []uint32{64, pageSize - 56} {
			g.fill()
			params[last] = uint64(ptr)
			g.want(Success, name, params...)
			have := []uint64{g.u64(ptr), g.u64(ptr + 8), uint64(g.u32(ptr + 16)), uint64(g.u32(ptr + 20)),
				g.u64(ptr + 24), g.u64(ptr + 32), g.u64(ptr + 40), g.u64(ptr + 48)}
			for n, want := range []uint64{1, 2, 3, 1<<32 - 1, 5, 6, 7, 8} {
				if have[n] != want {
					t.Errorf("%s at %d: %v", name, ptr, have)
					break
				}
			}
			if ptr == 64 && g.u64(ptr+56) != 0xaaaa_aaaa_aaaa_aaaa {
				t.Errorf("%s writes behind the filestat", name)
			}
		}
		for _, ptr := range []uint64{pageSize - 55, beyond, 1<<32 - 8} {
			params[last] = ptr
			g.want(Fault, name, params...)
		}
	}
}

// Of a stream, too; and an error leaves memory alone.
func TestUnstableFilestatOfStreams(t *testing.T) {
	g := oldGuest(t, &State{})
	g.fill()
	g.want(Success, "fd_filestat_get", 1, 64)
	if g.u64(64+16) != characterDevice|1<<32 || g.u64(64+24) != 0 {
		t.Errorf("stdout: %x, %d bytes", g.u64(64+16), g.u64(64+24))
	}
	g.fill()
	g.want(Badf, "fd_filestat_get", 9, 64)
	if g.u64(64) != 0xaaaa_aaaa_aaaa_aaaa {
		t.Error("an error writes")
	}
}

// Subscriptions have 56 bytes and a clock's begins later; events are as they are now.
func TestUnstablePoll(t *testing.T) {
	var waited time.Duration
	g := oldGuest(t, &State{Stdin: []byte("abc"), Wait: func(_ context.Context, d time.Duration) error {
		waited = d
		return nil
	}})
	put := func(at uint32, user uint64, kind byte) {
		g.mem.Write(at, []byte(strings.Repeat("\x00", unstableSubscriptionSize)))
		g.mem.WriteUint64Le(at, user)
		g.mem.WriteByte(at+8, kind)
	}
	put(0, 11, eventClock)
	g.mem.WriteUint64Le(16, 99) // the clock's own name
	g.mem.WriteUint32Le(24, monotonic)
	g.mem.WriteUint64Le(32, uint64(time.Hour))
	g.want(Success, "poll_oneoff", 0, 1024, 1, 512)
	if waited != time.Hour || g.u32(512) != 1 || g.u64(1024) != 11 {
		t.Errorf("waited %v, %d events, of %d", waited, g.u32(512), g.u64(1024))
	}
	put(56, 12, eventRead) // descriptor 0
	g.want(Success, "poll_oneoff", 0, 1024, 2, 512)
	if g.u32(512) != 1 || g.u64(1024) != 12 || g.u64(1024+16) != 3 {
		t.Errorf("%d events, of %d, %d bytes", g.u32(512), g.u64(1024), g.u64(1024+16))
	}
	g.want(Fault, "poll_oneoff", pageSize-55, 1024, 1, 512)
	g.want(Success, "poll_oneoff", pageSize-56, 1024, 1, 512)
	g.want(Fault, "poll_oneoff", beyond, 1024, 1, 512)
	g.want(Inval, "poll_oneoff", 0, 1024, 0, 512)
	g.want(Inval, "poll_oneoff", 0, 1024, MaxSubscriptions+1, 512)
}
