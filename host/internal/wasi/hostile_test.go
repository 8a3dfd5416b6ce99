package wasi

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/sys"
	"pgregory.net/rapid"
)

// TestAnythingGoes calls functions with parameters that no honest guest has: near both ends of the
// memory, of 32 bits and of 64, over memory full of such numbers. Nothing panics, nothing waits, and
// what is written stays in memory.
func TestAnythingGoes(t *testing.T) {
	functions := Functions(nil)
	number := rapid.OneOf(
		rapid.Uint64Range(0, 64),
		rapid.Uint64Range(pageSize-64, pageSize+8),
		rapid.Uint64Range(1<<29-2, 1<<29+2),
		rapid.Uint64Range(math.MaxUint32-64, math.MaxUint32),
		rapid.Uint64(),
	)
	moved := uint64(0)
	g := newGuest(t, &State{
		Args: []string{"a", "b"}, Env: []string{"C=d"}, Fixed: new(Fixed), Stdout: new(strings.Builder),
		Spend: func(n uint64) { moved += n },
	})
	rapid.Check(t, func(rt *rapid.T) {
		for at := uint32(0); at < 512; at += 4 {
			g.mem.WriteUint32Le(at, uint32(number.Draw(rt, "word")))
		}
		f := rapid.SampledFrom(functions).Draw(rt, "function")
		stack := rapid.SliceOfN(number, max(1, len(f.Params)), max(1, len(f.Params))).Draw(rt, "params")
		defer func() {
			var exit *sys.ExitError
			if r := recover(); r != nil {
				if err, _ := r.(error); !errors.As(err, &exit) {
					panic(r)
				}
			}
			g.state.Reset()
		}()
		g.funcs[f.Name](g.ctx, g.mod, stack)
		if len(f.Results) == 1 && stack[0] > uint64(Notcapable) {
			rt.Fatalf("%s answers %d", f.Name, stack[0])
		}
	})
	if moved == 0 {
		t.Error("nothing ever moved")
	}
}
