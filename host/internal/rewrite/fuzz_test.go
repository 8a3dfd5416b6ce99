package rewrite

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"
)

func addSeeds(f *testing.F) {
	f.Add(rich())
	f.Add(one(opCall, 0))
	f.Add(asmGuest())
	f.Add(module(custom("name", []byte{namesLabels, 4, 1, 0, 1, 0, 0})))
	f.Add([]byte(magic + component))
}

// FuzzCheck shows that Check never panics and that its errors are of one kind.
func FuzzCheck(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, wasm []byte) {
		_, err := Check(wasm, nil)
		if e := (*Error)(nil); err != nil && (!errors.As(err, &e) || e.Error() == "") {
			t.Errorf("%#v is no *Error", err)
		}
	})
}

// FuzzRewrite shows that what Check and the engine accept is accepted rewritten, and that facts of
// other bytes do not make Rewrite panic.
func FuzzRewrite(f *testing.F) {
	addSeeds(f)
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, engines[1].config)
	f.Fuzz(func(t *testing.T, wasm []byte) {
		facts, err := Check(wasm, nil)
		if err != nil {
			return
		}
		for _, opts := range []*Options{nil, {Unmetered: true}} {
			out, _, err := Rewrite(wasm, facts, opts)
			if err != nil {
				t.Fatalf("%+v: %v", opts, err)
			}
			if accepts(ctx, r, wasm) && !accepts(ctx, r, out) {
				_, err := r.CompileModule(ctx, out)
				t.Fatalf("%+v: %v", opts, err)
			}
		}
		other := append([]byte(nil), wasm...)
		for i := 8; i < len(other); i += 3 {
			other[i] ^= byte(i)
		}
		Rewrite(other, facts, nil)
	})
}

// TestMutatedSuites does the same for thousands of modules with a few bytes changed, always the
// same.
func TestMutatedSuites(t *testing.T) {
	root := moduleDir(t, wazeroModule)
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, engines[1].config)
	defer r.Close(ctx)
	rnd := rand.New(rand.NewPCG(3, 4))
	passed := 0
	for _, path := range wasmFiles(t, filepath.Join(root, "internal/integration_test/spectest")) {
		wasm := readFile(t, path)
		if len(wasm) <= 8 {
			continue
		}
		for range 8 {
			changed := slices.Clone(wasm)
			for range 1 + rnd.IntN(3) {
				changed[8+rnd.IntN(len(changed)-8)] = byte(rnd.Uint32())
			}
			facts, err := Check(changed, nil)
			if err != nil {
				continue
			}
			out, _, err := Rewrite(changed, facts, nil)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if accepts(ctx, r, changed) {
				passed++
				if !accepts(ctx, r, out) {
					t.Errorf("%s: not accepted rewritten: % x", path, changed)
				}
			}
		}
	}
	t.Logf("%d changed modules are accepted", passed)
	if passed < 1_000 {
		t.Errorf("only %d changed modules are accepted", passed)
	}
}
