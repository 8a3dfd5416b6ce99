//go:build unix

package host_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
)

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
