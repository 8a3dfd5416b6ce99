package ledger_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
)

// BenchmarkCall measures whole calls of a tool that does nothing, each with a key of its own, by
// one caller and by many at once. With SQLite, both transactions of a call are on the disk before
// it goes on.
func BenchmarkCall(b *testing.B) {
	for _, kind := range []struct {
		name string
		open func(b *testing.B) plugins.Ledger
	}{
		{"memory", func(*testing.B) plugins.Ledger { return &ledger.Memory{Keys: 1 << 30} }},
		{"sqlite", func(b *testing.B) plugins.Ledger {
			return open(b, filepath.Join(b.TempDir(), "l.db"))
		}},
	} {
		for _, callers := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("%s/%d", kind.name, callers), func(b *testing.B) {
				benchmarkCall(b, kind.open(b), callers)
			})
		}
	}
}

func benchmarkCall(b *testing.B, l plugins.Ledger, callers int) {
	r := plugins.NewRegistry(&plugins.Options{Ledger: l,
		Rules: map[string]plugins.Rule{"pay": {Key: "id"}}})
	tool := &quiet{abi.ToolSpec{Name: "pay", Effect: abi.EffectWrite}}
	if err := r.Add(tool); err != nil {
		b.Fatal(err)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for range callers {
		wg.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				input := fmt.Appendf(nil, `{"id":%d}`, n)
				if _, err := r.Call(context.Background(), plugins.Call{Tool: "pay", Input: input}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

// quiet is a tool that does nothing and remembers nothing.
type quiet struct{ spec abi.ToolSpec }

func (q *quiet) Spec() abi.ToolSpec { return q.spec }

func (q *quiet) Invoke(context.Context, plugins.Call) (plugins.Output, error) {
	return gives("true"), nil
}

// BenchmarkCopy measures a call whose key is settled.
func BenchmarkCopy(b *testing.B) {
	l := open(b, filepath.Join(b.TempDir(), "l.db"))
	in := intent("a", 1)
	end(b, l, begin(b, l, in), paid)
	in.Run, in.Position = "", 0
	for b.Loop() {
		if got := begin(b, l, in); !got.Done {
			b.Fatalf("have %+v", got)
		}
	}
}

// BenchmarkVerify measures the check of a chain of a thousand calls.
func BenchmarkVerify(b *testing.B) {
	l := open(b, filepath.Join(b.TempDir(), "l.db"))
	const calls = 1000
	var wg sync.WaitGroup
	for n := range calls {
		wg.Go(func() { end(b, l, begin(b, l, intent("a", n+1)), paid) })
	}
	wg.Wait()
	for b.Loop() {
		if err := l.Verify(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
