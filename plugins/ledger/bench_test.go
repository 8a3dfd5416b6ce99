package ledger_test

import (
	"context"
	"fmt"
	"os"
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

// bigRecords are those of the file that BenchmarkBigFile looks at.
const bigRecords = 100_000

// BenchmarkBigFile measures what an operator and a call wait for when a ledger is large: of runs of
// one call each, which is the command's way, and of one long run. One call in a hundred was cut
// off. WASMAGENT_LONG=1 runs it, since it takes a minute to make the files.
func BenchmarkBigFile(b *testing.B) {
	if os.Getenv("WASMAGENT_LONG") == "" {
		b.Skip("WASMAGENT_LONG is not set")
	}
	for name, run := range map[string]string{"runs": "", "one run": "long"} {
		path := filepath.Join(b.TempDir(), "l.db")
		makeBig(b, path, run)
		b.Run(name, func(b *testing.B) { benchmarkBigFile(b, path) })
	}
}

func makeBig(b *testing.B, path, run string) {
	l, err := ledger.Open(b.Context(), path, nil)
	if err != nil {
		b.Fatal(err)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range ledger.MaxBatch {
		wg.Go(func() {
			for n := int(next.Add(1)); n <= bigRecords/2; n = int(next.Add(1)) {
				in := intent("big", n)
				if in.Run = run; run == "" {
					in.Position = 0
				}
				if n%100 == 0 {
					in.Effect = abi.EffectIdempotent
				}
				if begun := begin(b, l, in); n%100 != 0 {
					end(b, l, begun, paid)
				}
			}
		})
	}
	wg.Wait()
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
}

func benchmarkBigFile(b *testing.B, path string) {
	l := open(b, path)
	for _, op := range []struct {
		name string
		do   func(n int) error
	}{
		{"list", func(int) (err error) {
			for _, err = range l.Runs(b.Context()) {
			}
			return err
		}},
		{"recover", func(int) (err error) {
			for _, err = range l.Recover(b.Context()) {
			}
			return err
		}},
		{"verify", func(int) error { return l.Verify(b.Context()) }},
		{"call", func(n int) error {
			end(b, l, begin(b, l, intent(fmt.Sprint("new-", b.N), n)), paid)
			return nil
		}},
	} {
		b.Run(op.name, func(b *testing.B) {
			for n := 1; b.Loop(); n++ {
				if err := op.do(n); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
