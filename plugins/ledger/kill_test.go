//go:build unix

package ledger_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins/ledger"
)

// What tells a copy of this test binary that it is a child.
const (
	childRole = "WASMAGENT_LEDGER_CHILD" // a key of children
	childDir  = "WASMAGENT_LEDGER_DIR"
	childKill = "WASMAGENT_LEDGER_KILL" // at which boundary it does so to itself, from 1, or its name
)

var children = map[string]func(*world) error{
	"rich":       func(w *world) error { return w.playChild(rich) },
	"pay":        func(w *world) error { return w.playChild(rich[:1]) },
	"race":       raceChild(raceKeys),
	"short race": raceChild(raceKeysShort),
}

func TestMain(m *testing.M) {
	role := os.Getenv(childRole)
	if role == "" {
		goleak.VerifyTestMain(m)
		return
	}
	w := &world{dir: os.Getenv(childDir)}
	w.step = killAt(os.Getenv(childKill))
	ledger.OnBoundary(w.step)
	if err := children[role](w); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// killAt kills this process at a boundary, as nothing can be done about.
func killAt(where string) func(string) {
	n, _ := strconv.Atoi(where)
	var seen atomic.Int64
	return func(at string) {
		if seen.Add(1) == int64(n) || at == where {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // until it arrives
		}
	}
}

// child runs this test binary as a child. It reports whether it was killed.
func (w *world) child(t *testing.T, role, kill string) (killed bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childRole+"="+role, childDir+"="+w.dir, childKill+"="+kill)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	exit, _ := errors.AsType[*exec.ExitError](err)
	if err == nil {
		return false
	}
	if exit != nil {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signal() == syscall.SIGKILL {
			return true
		}
	}
	t.Errorf("the child %s, killed at %q: %v\n%s", role, kill, err, out.String())
	return false
}

// TestKillAtEveryBoundary kills a process at each place where it leaves something else behind, lets
// another one go on, and holds both against a run that nobody disturbed.
func TestKillAtEveryBoundary(t *testing.T) {
	calm := &world{dir: t.TempDir()}
	calm.child(t, "rich", "")
	want, err := calm.given()
	if err != nil {
		t.Fatal(err)
	}
	checkCalm(t, calm, want)
	executions, err := calm.lines()
	if err != nil {
		t.Fatal(err)
	}
	stride := 1
	if testing.Short() {
		stride = 13 // a prime: in the end, all kinds of boundaries
	}
	var next, boundaries atomic.Int64
	var wg sync.WaitGroup
	const workers = 3 // they mostly wait for the disk
	for range workers {
		wg.Go(func() {
			for {
				n := int(next.Add(1)-1)*stride + 1
				if !killOnce(t, n, executions, want) {
					return
				}
				boundaries.Add(1)
			}
		})
	}
	wg.Wait()
	const least = 100
	if n := boundaries.Load(); n < int64(least/stride) {
		t.Errorf("only %d boundaries: is the run real?", n)
	} else {
		t.Logf("killed at %d boundaries", n)
	}
}

// checkCalm checks that the run without a kill is what it is meant to be.
func checkCalm(t *testing.T, calm *world, given []string) {
	t.Helper()
	once := map[string]bool{}
	for _, s := range rich {
		n, err := calm.count(s.tool, s.id)
		if err != nil {
			t.Fatal(err)
		}
		want := 1
		if k := kinds[s.tool]; k.flaky || k.gone && k.effect != abi.EffectWrite {
			want = 2
		}
		if n != want {
			t.Errorf("%s %s ran %d times without a kill, want %d", s.tool, s.id, n, want)
		}
		once[s.tool] = true
	}
	if len(once) != len(kinds) {
		t.Errorf("the run has %d tools of %d", len(once), len(kinds))
	}
	for i, s := range rich {
		if fails := kinds[s.tool].fails != nil; fails != strings.HasPrefix(given[i], "failed; ") {
			t.Errorf("%s %s gave %s", s.tool, s.id, given[i])
		}
	}
}

// killOnce kills a process at its nth boundary and goes on with its runs. It reports whether there
// is such a boundary.
func killOnce(t *testing.T, n int, executions, want []string) bool {
	w := &world{dir: t.TempDir()}
	if !w.child(t, "rich", strconv.Itoa(n)) {
		return false
	}
	verify(t, w, n)
	given, err := w.play(t.Context(), rich)
	if err != nil {
		t.Errorf("killed at boundary %d: %v", n, err)
		return true
	}
	verify(t, w, n)
	for i, s := range rich {
		resolved := kinds[s.tool].fails != nil && strings.Contains(given[i], resolvedFailure)
		if given[i] != want[i] && !resolved {
			t.Errorf("killed at boundary %d: %s %s gave %s, want %s", n, s.tool, s.id, given[i], want[i])
		}
	}
	w.compareExecutions(t, n, executions)
	return true
}

// compareExecutions checks that every write was executed as often as without the kill, and of all
// the others one at most once more.
func (w *world) compareExecutions(t *testing.T, n int, want []string) {
	have, err := w.lines()
	if err != nil {
		t.Error(err)
		return
	}
	var more []string
	for _, line := range have {
		if i := slices.Index(want, line); i >= 0 {
			want = slices.Delete(slices.Clone(want), i, i+1)
		} else {
			more = append(more, line)
		}
	}
	if len(want) > 0 {
		t.Errorf("killed at boundary %d: not executed: %q", n, want)
	}
	if len(more) > 1 {
		t.Errorf("killed at boundary %d: executed too often: %q", n, more)
	}
	for _, line := range more {
		tool, _, _ := strings.Cut(line, " ")
		if kinds[tool].effect == abi.EffectWrite {
			t.Errorf("killed at boundary %d: the write %q was executed twice", n, line)
		}
	}
}

// verify checks the chains as another process sees them.
func verify(t *testing.T, w *world, n int) {
	t.Helper()
	l, err := ledger.Open(t.Context(), w.ledgerFile(), &ledger.Options{ReadOnly: true})
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, ledger.ErrNotLedger) {
		return // killed before the ledger was made
	}
	if err == nil {
		err = errors.Join(l.Verify(t.Context()), l.Close())
	}
	if err != nil {
		t.Errorf("killed at boundary %d: %v", n, err)
	}
}
