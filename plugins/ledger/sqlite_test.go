package ledger_test

import (
	"path/filepath"
	"testing"

	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
	"github.com/wasmagent/wasmagent/plugins/pluginstest"
)

func TestSQLite(t *testing.T) {
	pluginstest.DurableLedger(t, pluginstest.Store{
		Open: func() plugins.Ledger { return open(t, filepath.Join(t.TempDir(), "l.db")) },
		Join: func(l plugins.Ledger) plugins.Ledger { return open(t, l.(*ledger.SQLite).Path()) },
		Die: func(l plugins.Ledger) {
			if err := l.(*ledger.SQLite).Close(); err != nil {
				t.Error(err)
			}
		},
	})
}

// open opens a ledger that is closed with the test.
func open(t testing.TB, path string) *ledger.SQLite {
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

func resolve(t *testing.T, l *ledger.SQLite, at plugins.Place, how ledger.Resolution) {
	t.Helper()
	if err := l.Resolve(t.Context(), at, how); err != nil {
		t.Fatal(err)
	}
}

func wantClaims(t *testing.T, l *ledger.SQLite, want ...ledger.Claim) {
	t.Helper()
	var have []ledger.Claim
	for c, err := range l.Claims(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		have = append(have, c)
	}
	if len(have) != len(want) {
		t.Fatalf("have %+v, want %+v", have, want)
	}
	for i := range want {
		if have[i] != want[i] {
			t.Errorf("have %+v, want %+v", have[i], want[i])
		}
	}
}
