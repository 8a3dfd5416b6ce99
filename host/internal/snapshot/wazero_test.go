package snapshot

import (
	"context"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// guest is a module with a memory of 1 to 65,535 pages and two functions: grow, a memory.grow, and
// bump, which adds one to the 32-bit word at an address and returns what was there.
var guest = []byte{
	0, 'a', 's', 'm', 1, 0, 0, 0,
	1, 6, 1, 0x60, 1, 0x7f, 1, 0x7f, // type (i32) → i32
	3, 3, 2, 0, 0, // two functions
	5, 6, 1, 1, 1, 0xff, 0xff, 3, // memory
	7, 24, 3, // exports
	6, 'm', 'e', 'm', 'o', 'r', 'y', 2, 0,
	4, 'g', 'r', 'o', 'w', 0, 0,
	4, 'b', 'u', 'm', 'p', 0, 1,
	10, 29, 2, // code
	6, 0, 0x20, 0, 0x40, 0, 0x0b, // local.get 0, memory.grow
	20, 0, 0x20, 0, 0x28, 2, 0, // local.get 0, i32.load
	0x20, 0, 0x20, 0, 0x28, 2, 0, // local.get 0 twice, i32.load
	0x41, 1, 0x6a, 0x36, 2, 0, 0x0b, // i32.const 1, i32.add, i32.store
}

// TestInWazero lets real instances grow and write in both engines: after each restore the guest
// sees the image's size and bytes, and a trap where it could write before.
func TestInWazero(t *testing.T) {
	for name, cfg := range map[string]wazero.RuntimeConfig{
		"interpreter": wazero.NewRuntimeConfigInterpreter(),
		"compiler":    wazero.NewRuntimeConfig(),
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			rt := wazero.NewRuntimeWithConfig(ctx, cfg)
			defer rt.Close(ctx)
			first := must[*Memory](t)(New(8*PageSize, &Options{Min: PageSize}))
			mod := instantiateGuest(t, rt, first)
			expect(t, mod, "bump", 16, 0)
			expect(t, mod, "grow", 1, 1)
			expect(t, mod, "bump", PageSize+16, 0)
			view, _ := mod.Memory().Read(0, mod.Memory().Size())
			image := must[*Image](t)(NewImage(view))
			check(t, first.Adopt(image))
			second := must[*Memory](t)(New(8*PageSize, &Options{Image: image}))
			for _, m := range []*Memory{first, second} {
				if m == second {
					mod = instantiateGuest(t, rt, second)
				}
				for range 3 {
					useAndRestore(t, mod, m)
				}
				check(t, mod.Close(ctx))
				if !m.closed {
					t.Error("closing the instance leaves its memory")
				}
			}
			check(t, image.Close())
		})
	}
}

func useAndRestore(t *testing.T, mod api.Module, m *Memory) {
	t.Helper()
	expect(t, mod, "bump", 16, 1)
	expect(t, mod, "bump", PageSize+16, 1)
	expect(t, mod, "grow", 3, 2)
	expect(t, mod, "bump", 4*PageSize+16, 0)
	expect(t, mod, "grow", 4, -1)
	if d := m.Denied(); d == nil || d.Reason != Policy || d.Asked != 9*PageSize {
		t.Errorf("denied: %v", d)
	}
	check(t, m.Restore(mod.Memory()))
	check(t, m.Verify())
	if got := mod.Memory().Size(); got != 2*PageSize {
		t.Errorf("%d bytes after a restore", got)
	}
	if _, err := mod.ExportedFunction("bump").Call(t.Context(), 2*PageSize); err == nil {
		t.Error("what the memory grew by can still be written")
	}
}

func instantiateGuest(t *testing.T, rt wazero.Runtime, m *Memory) api.Module {
	t.Helper()
	ctx := experimental.WithMemoryAllocator(context.Background(), m)
	return must[api.Module](t)(rt.InstantiateWithConfig(ctx, guest,
		wazero.NewModuleConfig().WithName("")))
}

func expect(t *testing.T, mod api.Module, fn string, arg uint64, want int32) {
	t.Helper()
	got, err := mod.ExportedFunction(fn).Call(t.Context(), arg)
	if err != nil || int32(got[0]) != want {
		t.Fatalf("%s(%d): %v %v, want %d", fn, arg, got, err, want)
	}
}

// TestWazeroPanicsOnRefusal pins why New charges the first size: wazero has no other way to be told
// no while it instantiates.
func TestWazeroPanicsOnRefusal(t *testing.T) {
	ctx := t.Context()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer rt.Close(ctx)
	m := must[*Memory](t)(New(0, nil)) // the guest's minimum is one page
	defer m.Close()
	defer func() {
		if recover() == nil {
			t.Error("no panic: New's documentation is out of date")
		}
	}()
	instantiateGuest(t, rt, m)
}
