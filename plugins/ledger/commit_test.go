package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
)

// gate stops the goroutine that writes at its first commit.
type gate struct {
	commits atomic.Int32
	reached chan struct{} // closed when it is there
	open    chan struct{} // to be closed
}

// newGate must come before the ledger, which its test closes first.
func newGate(t *testing.T) *gate {
	g := &gate{reached: make(chan struct{}), open: make(chan struct{})}
	var once sync.Once
	ledger.OnBoundary(func(where string) {
		switch where {
		case "before commit":
			once.Do(func() {
				close(g.reached)
				<-g.open
			})
		case "after commit":
			g.commits.Add(1)
		}
	})
	t.Cleanup(func() { ledger.OnBoundary(nil) })
	return g
}

// queued waits until n operations wait for the next transaction.
func queued(l *ledger.SQLite, n int) {
	for l.Queued() != n {
		runtime.Gosched()
	}
}

// TestCallsShareACommit queues calls while one is being committed.
func TestCallsShareACommit(t *testing.T) {
	g := newGate(t)
	l := open(t, filepath.Join(t.TempDir(), "l.db"))
	var wg sync.WaitGroup
	wg.Go(func() { begin(t, l, intent("first", 1)) })
	<-g.reached
	const calls = ledger.MaxBatch + 1
	for n := range calls {
		wg.Go(func() {
			if _, err := l.Begin(t.Context(), intent(fmt.Sprint("run", n), 1)); err != nil {
				t.Error(err)
			}
		})
	}
	queued(l, calls)
	close(g.open)
	wg.Wait()
	if n := g.commits.Load(); n != 3 { // the first, a full batch, and the one that is left
		t.Errorf("%d commits", n)
	}
	if err := l.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestOneOfABatchIsRefused has one call that the disk has no room for among others.
func TestOneOfABatchIsRefused(t *testing.T) {
	g := newGate(t)
	l := open(t, filepath.Join(t.TempDir(), "l.db"))
	if err := l.Pragma("max_page_count = 100"); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { begin(t, l, intent("first", 1)) })
	<-g.reached
	errs := make([]error, 5)
	for n := range errs {
		wg.Go(func() {
			in := intent("run", n+1)
			if n == 2 {
				in.Input = bytes.Repeat([]byte("1"), 1<<20)
			}
			_, errs[n] = l.Begin(t.Context(), in)
		})
	}
	queued(l, len(errs))
	close(g.open)
	wg.Wait()
	for n, err := range errs {
		if n == 2 && !errors.Is(err, ledger.ErrFull) || n != 2 && err != nil {
			t.Errorf("call %d: %v", n, err)
		}
	}
	if err := l.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestCallerLeavesTheQueue has a caller who leaves before its call is being recorded, and one who
// leaves after.
func TestCallerLeavesTheQueue(t *testing.T) {
	g := newGate(t)
	l := open(t, filepath.Join(t.TempDir(), "l.db"))
	early, leaveEarly := context.WithCancel(t.Context())
	late, leaveLate := context.WithCancel(t.Context())
	defer leaveEarly()
	var wg sync.WaitGroup
	wg.Go(func() {
		b, err := l.Begin(late, intent("late", 1))
		if err != nil || b.ID == "" {
			t.Errorf("being committed: %+v, %v", b, err)
		}
	})
	<-g.reached
	wg.Go(func() {
		if _, err := l.Begin(early, intent("early", 1)); !errors.Is(err, context.Canceled) {
			t.Errorf("queued: want context.Canceled, have %v", err)
		}
	})
	queued(l, 1)
	leaveEarly()
	queued(l, 0)
	leaveLate()
	close(g.open)
	wg.Wait()
	if have := sees(t, l, intent("early", 1)); have != "runs" {
		t.Errorf("the call that was taken out: %s", have)
	}
	_, err := l.Begin(t.Context(), intent("late", 1))
	if _, ok := errors.AsType[*plugins.InFlightError](err); !ok {
		t.Errorf("the call that was committed: %v", err)
	}
}

// TestCallerLeavesAFileThatIsHeld has a caller who leaves while another process has the file. Then
// nothing waits for that process any more, and the ledger can be closed.
func TestCallerLeavesAFileThatIsHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	l, err := ledger.Open(t.Context(), path, &ledger.Options{Wait: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	release := hold(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := l.Begin(ctx, intent("a", 1)); !errors.Is(err, context.Canceled) {
			t.Errorf("want context.Canceled, have %v", err)
		}
	})
	queued(l, 1)
	cancel()
	wg.Wait()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	release()
	if have := sees(t, open(t, path), intent("a", 1)); have != "runs" {
		t.Errorf("the call that was taken out: %s", have)
	}
}

// TestCloseWaitsForWhatIsQueued closes while calls are being recorded.
func TestCloseWaitsForWhatIsQueued(t *testing.T) {
	g := newGate(t)
	path := filepath.Join(t.TempDir(), "l.db")
	l := open(t, path)
	var wg sync.WaitGroup
	wg.Go(func() { begin(t, l, intent("a", 1)) })
	<-g.reached
	wg.Go(func() { begin(t, l, intent("a", 2)) })
	queued(l, 1)
	wg.Go(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	close(g.open)
	wg.Wait()
	l = open(t, path)
	for position := 1; position <= 2; position++ {
		if have := sees(t, l, intent("a", position)); have != "parked" {
			t.Errorf("call %d: %s", position, have)
		}
	}
}
