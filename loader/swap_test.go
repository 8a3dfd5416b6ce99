package loader_test

import (
	"fmt"
	"testing"

	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

// BenchmarkSwap is from a new file, seen twice, to the next call: compiled, put in place, the old
// one closed. Waiting is not in it.
func BenchmarkSwap(b *testing.B) {
	for _, others := range []int{0, 999} {
		b.Run(fmt.Sprint(others+1, "plugins"), func(b *testing.B) {
			dir, opts, reg := b.TempDir(), settled(b), plugins.NewRegistry(nil)
			write(b, dir, map[string][]byte{"p.wasm": version(1, "p")})
			for i := range others {
				write(b, dir, map[string][]byte{fmt.Sprintf("o%d.wasm", i): hosttest.Tiny(fmt.Sprint("o", i))})
			}
			d := open(b, dir, opts)
			if err := reg.Add(d.Tools()...); err != nil {
				b.Fatal(err)
			}
			look, err := loader.NewLooker(d, func(c loader.Change) {
				if err := reg.Replace(c.Old, c.New); err != nil {
					b.Error(err)
				}
			})
			if err != nil {
				b.Fatal(err)
			}
			n := 1
			for b.Loop() {
				b.StopTimer()
				n = n%20_000 + 1
				write(b, dir, map[string][]byte{"p.wasm": version(n, "p")})
				b.StartTimer()
				for range 2 {
					if _, err := look.Look(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				if have := value(b, reg, "p"); have != n {
					b.Fatalf("answers %d, want %d", have, n)
				}
			}
		})
	}
}
