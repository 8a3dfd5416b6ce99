package wasi

import (
	"errors"
	"io"
	"math"
	"testing"

	"github.com/tetratelabs/wazero/sys"
	"pgregory.net/rapid"
)

// TestAnythingGoes calls every function with parameters that no honest guest has: near both ends of
// the memory, of 32 bits and of 64, over memory full of such numbers. Nothing panics, and every
// answer is an error number.
func TestAnythingGoes(t *testing.T) {
	functions := Functions(nil)
	number := rapid.OneOf(
		rapid.Uint64Range(0, 64),
		rapid.Uint64Range(pageSize-64, pageSize+8),
		rapid.Uint64Range(1<<29-2, 1<<29+2),
		rapid.Uint64Range(math.MaxUint32-64, math.MaxUint32),
		rapid.Uint64(),
	)
	g := newGuest(t, &State{
		Args: []string{"a", "b"}, Env: []string{"C=d"}, Fixed: new(Fixed), Stdout: io.Discard,
	})
	rapid.Check(t, func(rt *rapid.T) {
		for at := uint32(0); at < 512; at += 4 {
			g.mem.WriteUint32Le(at, uint32(number.Draw(rt, "word")))
		}
		for _, f := range functions {
			n := max(1, len(f.Params))
			stack := rapid.SliceOfN(number, n, n).Draw(rt, f.Name)
			if e := g.try(f, stack); e > uint64(Notcapable) {
				rt.Fatalf("%s answers %d", f.Name, e)
			}
		}
		g.state.Reset()
	})
}

// try calls a function, which may exit but not panic otherwise.
func (g *guest) try(f Function, stack []uint64) (answer uint64) {
	defer func() {
		var exit *sys.ExitError
		if r := recover(); r != nil {
			if err, _ := r.(error); !errors.As(err, &exit) {
				panic(r)
			}
		}
	}()
	g.funcs[f.Name](g.ctx, g.mod, stack)
	return stack[0]
}
