package ledger_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
)

// TestLimits checks that what is as long as it may be is taken, and what is longer is not.
func TestLimits(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "l.db"))
	memory := new(ledger.Memory)
	text := func(n int) string { return strings.Repeat("x", n) }
	for what, in := range map[string]func(*plugins.Intent, int){
		"run":   func(in *plugins.Intent, over int) { in.Run = text(ledger.MaxRun + over) },
		"scope": func(in *plugins.Intent, over int) { in.Scope = text(ledger.MaxScope + over) },
		"tool":  func(in *plugins.Intent, over int) { in.Tool = text(64 + over) },
		"key":   func(in *plugins.Intent, over int) { in.Key = text(ledger.MaxKey + over) },
		"input": func(in *plugins.Intent, over int) { in.Input = []byte(text(ledger.MaxInput + over)) },
	} {
		for over := range 2 {
			for _, l := range []plugins.Ledger{l, memory} {
				one := intent(what, 1)
				one.Run = what
				in(&one, over)
				_, err := l.Begin(t.Context(), one)
				_, tooLong := errors.AsType[*ledger.LimitError](err)
				if tooLong != (over == 1) || !tooLong && err != nil {
					t.Errorf("%s, %d over the limit: %v", what, over, err)
				}
			}
		}
	}
	for _, name := range []string{"-a", ".a", "a b", "a#1", "a/b", "ä", "a\n", "a\x00"} {
		for _, l := range []plugins.Ledger{l, memory} {
			if _, err := l.Begin(t.Context(), intent(name, 1)); err == nil {
				t.Errorf("the run's name %q was taken", name)
			}
		}
	}
	begin(t, l, intent("A9._:@+=-", 1))
	if err := l.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestLimitOfResults checks that a result which is too large to be kept leaves a call of which
// nothing is copied, and nothing runs again.
func TestLimitOfResults(t *testing.T) {
	dir := t.TempDir()
	for i, l := range []plugins.Ledger{open(t, filepath.Join(dir, "l.db")), new(ledger.Memory)} {
		value := bytes.Repeat([]byte("1"), ledger.MaxOutput+1)
		at, over := intent("a", 1), intent("a", 2)
		end(t, l, begin(t, l, at), plugins.Completion{State: plugins.Done,
			Output: gives(string(value[1:]))})
		b := begin(t, l, over)
		err := l.End(t.Context(), b.ID, plugins.Completion{State: plugins.Done,
			Output: gives(string(value))})
		if _, ok := errors.AsType[*ledger.LimitError](err); !ok {
			t.Errorf("ledger %d: want a *LimitError, have %v", i, err)
		}
		if have := sees(t, l, over); have != "parked" {
			t.Errorf("ledger %d: %s", i, have)
		}
		if have := sees(t, l, at); len(have) != ledger.MaxOutput {
			t.Errorf("ledger %d: a result of %d bytes", i, len(have))
		}
	}
}

// TestLongCallIDsAreCut has an ID that is cut within a character.
func TestLongCallIDsAreCut(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "l.db"))
	for position, id := range []string{strings.Repeat("x", ledger.MaxCallID),
		strings.Repeat("x", ledger.MaxCallID-1) + "äöü"} {
		in := intent("a", position+1)
		in.CallID = id
		begin(t, l, in)
	}
	var have []int
	for r, err := range l.Records(t.Context(), "a") {
		if err != nil {
			t.Fatal(err)
		}
		have = append(have, len(r.CallID))
	}
	if want := fmt.Sprint([]int{ledger.MaxCallID, ledger.MaxCallID - 1}); fmt.Sprint(have) != want {
		t.Errorf("IDs of %v bytes, want %s", have, want)
	}
}

// TestOddTextIsKept has keys that no file should be confused by.
func TestOddTextIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	l := open(t, path)
	keys := []string{"pay:", "pay:a\x00b", "pay:a", "pay:\xff", "pay:ä",
		"pay:'; DROP TABLE records; --"}
	for n, key := range keys {
		in := intent("a", n+1)
		in.Key, in.InputHash = key, sha256.Sum256([]byte(key))
		end(t, l, begin(t, l, in), plugins.Completion{State: plugins.Done,
			Output: gives(fmt.Sprint(n))})
	}
	if err := errors.Join(l.Verify(t.Context()), l.Close()); err != nil {
		t.Fatal(err)
	}
	l = open(t, path)
	for n, key := range keys {
		in := intent("b", n+1)
		in.Key, in.InputHash = key, sha256.Sum256([]byte(key))
		if have := sees(t, l, in); have != fmt.Sprint(n) {
			t.Errorf("key %q: %s, want %d", key, have, n)
		}
	}
}
