package ledger_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins/ledger"
)

func TestRunsAndRecover(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	idempotent, quiet := intent("a", 2), intent("a", 5)
	idempotent.Effect, quiet.Key = abi.EffectIdempotent, ""
	l := open(t, path)
	begin(t, l, intent("a", 1))
	begin(t, l, idempotent)
	end(t, l, begin(t, l, intent("a", 3)), down)
	end(t, l, begin(t, l, intent("a", 4)), left)
	end(t, l, begin(t, l, quiet), down) // a failed write without a key waits for nobody
	end(t, l, begin(t, l, intent("a", 6)), paid)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	live := open(t, path)
	begin(t, live, intent("b", 1))

	l, err := ledger.Open(t.Context(), path, &ledger.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var runs []string
	for r, err := range l.Runs(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Started.IsZero() || r.Abandoned || r.Live != (r.Name == "b") {
			t.Errorf("have %+v", r)
		}
		runs = append(runs, r.Name)
		if want := map[string][3]int{"a": {6, 10, 4}, "b": {1, 1, 0}}[r.Name]; [3]int{r.Calls, r.Records,
			len(r.Pending)} != want {
			t.Errorf("have %+v, want %v", r, want)
		}
	}
	if strings.Join(runs, " ") != "a b" {
		t.Errorf("runs %q", runs)
	}
	var have []string
	for p, err := range l.Recover(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		line := p.Place.String() + " " + p.Why + " " + string(p.Input)
		if p.Person {
			line += " person"
		}
		have = append(have, line)
	}
	want := []string{
		`a#1 crashed {"id":"a1"} person`,
		`a#2 crashed {"id":"a2"}`,
		`a#3 failed {"id":"a3"} person`,
		`a#4 stopped {"id":"a4"} person`,
	}
	if a, b := strings.Join(have, "\n"), strings.Join(want, "\n"); a != b {
		t.Errorf("have\n%s\nwant\n%s", a, b)
	}
}

// TestTightenedEffect checks that a call which Recover says may run again is refused when its tool
// has become a write, and that it can be resolved then.
func TestTightenedEffect(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	in := intent("a", 1)
	in.Effect, in.Key = abi.EffectRead, ""
	leave(t, path, in, nil)
	l := open(t, path)
	for p, err := range l.Recover(t.Context()) {
		if err != nil || p.Person || p.Effect != abi.EffectRead {
			t.Errorf("have %+v, %v", p, err)
		}
	}
	in.Effect = abi.EffectWrite
	if have := sees(t, l, in); have != "parked" {
		t.Errorf("have %s", have)
	}
	resolve(t, l, at1, ledger.Resolution{Happened: true})
	if have := sees(t, l, in); have != "null" {
		t.Errorf("resolved: have %s", have)
	}
}
