package ledger_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
)

// TestLinkLeadsToTheSameLedger checks that one who comes by a symbolic link takes those who came by
// the file's own name for alive.
func TestLinkLeadsToTheSameLedger(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "l.db"), filepath.Join(dir, "link.db")
	in := intent("a", 1)
	in.Effect = abi.EffectIdempotent
	begin(t, open(t, path), in)
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	other := open(t, link)
	in.Run = "b"
	_, err := other.Begin(t.Context(), in)
	if held, ok := errors.AsType[*plugins.InFlightError](err); !ok || held.Unresolved {
		t.Errorf("the key of a live process: %v", err)
	}
	_, err = other.Begin(t.Context(), intent("a", 2))
	if _, ok := errors.AsType[*plugins.RunBusyError](err); !ok {
		t.Errorf("the run of a live process: %v", err)
	}
}

// TestLongRunsStayFast checks that a call is found by its place, and not by going through its run.
func TestLongRunsStayFast(t *testing.T) {
	plan, err := open(t, filepath.Join(t.TempDir(), "l.db")).PlanOfPlace()
	if err != nil || !strings.Contains(plan, "records_place (run=? AND position=?)") {
		t.Errorf("%s (%v)", plan, err)
	}
}
