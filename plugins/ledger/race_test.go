//go:build unix

package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
)

const (
	raceKeys      = 1000
	raceKeysShort = 100
	raceCallers   = 8 // in each process
)

// raceChild calls a tool with each of many keys, as another process does at the same time, and goes
// on until all are done.
func raceChild(keys int64) func(*world) error {
	return func(w *world) error { return w.race(keys) }
}

func (w *world) race(keys int64) (err error) {
	l, err := ledger.Open(context.Background(), w.ledgerFile(), nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	r, err := w.registry(l)
	if err != nil {
		return err
	}
	if err := w.waitForOther(); err != nil {
		return err
	}
	var next atomic.Int64
	errs := make([]error, raceCallers)
	var wg sync.WaitGroup
	for caller := range errs {
		wg.Go(func() {
			for errs[caller] == nil {
				n := next.Add(1)
				if n > keys {
					return
				}
				errs[caller] = payOnce(r, int(n))
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// payOnce calls until the call is done, by whichever process.
func payOnce(r *plugins.Registry, n int) error {
	input := fmt.Appendf(nil, `{"id":"%d"}`, n)
	for {
		res, err := r.Call(context.Background(), plugins.Call{Tool: "pay", Input: input})
		if held, ok := errors.AsType[*plugins.InFlightError](err); ok && !held.Unresolved {
			time.Sleep(time.Millisecond) // the other process is at it
			continue
		}
		if err == nil && string(res.Value) != `{"paid":true}` {
			err = fmt.Errorf("key %d gave %s", n, res.Value)
		}
		return err
	}
}

// waitForOther waits until two processes are here, so that both race on all keys.
func (w *world) waitForOther() error {
	mine := filepath.Join(w.dir, fmt.Sprintf("ready-%d", os.Getpid()))
	if err := os.WriteFile(mine, nil, 0o600); err != nil {
		return err
	}
	for {
		ready, err := filepath.Glob(filepath.Join(w.dir, "ready-*"))
		if err != nil || len(ready) >= 2 {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// TestTwoProcessesOneFile has two processes race on the same keys: each runs once.
func TestTwoProcessesOneFile(t *testing.T) {
	w := &world{dir: t.TempDir()}
	role, keys := "race", raceKeys
	if testing.Short() {
		role, keys = "short race", raceKeysShort
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			w.child(t, role, "")
			// One that could not begin is not waited for: what it said is told.
			if err := os.WriteFile(filepath.Join(w.dir, "ready-gone"), nil, 0o600); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	lines, err := w.lines()
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	if n := len(slices.Compact(slices.Clone(lines))); len(lines) != keys || n != keys {
		t.Errorf("%d executions of %d keys, want %d: %s", len(lines), n, keys, strings.Join(lines, ", "))
	}
	verify(t, w, 0)
}
