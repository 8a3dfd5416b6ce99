package ledger_test

import (
	"path/filepath"
	"testing"

	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
	"github.com/wasmagent/wasmagent/plugins/pluginstest"
)

func TestSQLite(t *testing.T) {
	pluginstest.Ledger(t, func() plugins.Ledger { return open(t, filepath.Join(t.TempDir(), "l.db")) })
}

// open opens a ledger that is closed with the test.
func open(t *testing.T, path string) *ledger.SQLite {
	t.Helper()
	l, err := ledger.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}
