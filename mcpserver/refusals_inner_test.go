package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// journal is a log that is read while others write.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

// take gives what was written since it was last called.
func (j *journal) take() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	defer j.text.Reset()
	return j.text.String()
}

// TestRefusals pins how many lines of a flood are logged, that the others are counted, and that one
// reason does not hide another.
func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &journal{}
		life, end := context.WithCancel(t.Context())
		r := newRefusals(life, slog.New(slog.NewTextHandler(log, nil)))
		lines := func(want ...string) {
			t.Helper()
			text := strings.TrimSpace(log.take())
			have := strings.Split(text, "\n")
			if text == "" {
				have = nil
			}
			if len(have) != len(want) {
				t.Errorf("want %d lines, have %s", len(want), text)
			}
			for i := range min(len(have), len(want)) {
				if !strings.Contains(have[i], want[i]) {
					t.Errorf("want %s, have %s", want[i], have[i])
				}
			}
		}
		flood := func(n int) {
			for i := range n {
				r.warn("wrong token", "n", i)
			}
		}
		flood(RefusalLines)
		lines("n=0", "n=1", "n=2", "n=3", "n=4", "n=5", "n=6", "n=7", "n=8", "n=9")
		time.Sleep(RefusalPeriod)
		synctest.Wait()
		lines() // there were no more
		flood(RefusalLines + 1000)
		r.warn("unknown host")
		log.take()
		time.Sleep(RefusalPeriod - 1)
		flood(1)
		r.warn("unknown host")
		lines("unknown host")
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		lines(`"wrong token: more of them" count=1001 in=1m0s`)
		flood(1)
		lines("n=0")

		library := r.library().With("a", 1).WithGroup("g")
		library.Info("a request")
		for range RefusalLines + 1 {
			library.Error(strings.Repeat("x", 2*maxLibraryLine), "err", errors.New("bad"))
		}
		text := log.take()
		if n := strings.Count(text, "a=1 g.err=bad"); n != RefusalLines ||
			strings.Contains(text, "a request") || len(text) > RefusalLines*(maxLibraryLine+100) {
			t.Errorf("%d lines of a library, %d bytes", n, len(text))
		}
		end()
		time.Sleep(RefusalPeriod)
		synctest.Wait()
		lines() // after the end
	})
}

// TestLogged pins how a stranger's text is logged.
func TestLogged(t *testing.T) {
	long := strings.Repeat("a", MaxLogged)
	for text, want := range map[string]string{
		"":                       "",
		"evil.example:80":        "evil.example:80",
		"b\u00fccher.example":    "b\u00fccher.example",
		"a\tb":                   `"a\tb"`,
		"a\nlevel=ERROR":         `"a\nlevel=ERROR"`,
		"\x1b[2J":                `"\x1b[2J"`,
		"\u202egpj":              `"\u202egpj"`,
		"\xff":                   `"\xff"`,
		long:                     long,
		long + "b":               long,
		long[:MaxLogged-1] + "ü": fmt.Sprintf(`"%s\xc3"`, long[:MaxLogged-1]),
	} {
		if have := logged(text); have != want {
			t.Errorf("%q is logged as %s", text, have)
		}
	}
}
