package rewrite

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/wasmagent/wasmagent/host/hosttest/asm"
)

// benchSlice is what hosts give at a time.
const benchSlice = 5_000_000

// goGuest compiles testdata/work for the guest's platform.
func goGuest(t testing.TB) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "work.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-o", out, "./testdata/work")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, msg)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// tinyGuest is a guest that TinyGo compiled: much like what a C compiler gives.
func tinyGuest(t testing.TB) []byte {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join(moduleDir(t, wazeroModule),
		"internal/integration_test/bench/testdata/case.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// asmGuest has loops as tight as they get.
func asmGuest() []byte {
	m := asm.New()
	m.ExportMemory("memory", m.Memory(17))
	up := func(i uint32, by int32) asm.Instr {
		return asm.Seq(asm.LocalGet(i), asm.I32Const(by), asm.Op(0x6a), asm.LocalTee(i))
	}
	// count counts a parameter down to 0.
	m.Export("count", m.Func("i32 -> i32", "", asm.Loop(up(0, -1), asm.BrIf(0)), asm.LocalGet(0)))
	// sieve marks the multiples of 2 to 1,000 in 1 MiB, n times.
	m.Export("sieve", m.Func("i32 -> i32", "i32 i32",
		asm.Loop(
			asm.I32Const(2), asm.LocalSet(1),
			asm.Loop(
				asm.LocalGet(1), asm.LocalSet(2),
				asm.Loop(
					asm.LocalGet(2), asm.I32Const(1), asm.I32Store8(0),
					asm.LocalGet(2), asm.LocalGet(1), asm.Op(0x6a), asm.LocalTee(2),
					asm.I32Const(1<<20), asm.Op(0x49), asm.BrIf(0)),
				up(1, 1), asm.I32Const(1000), asm.Op(0x49), asm.BrIf(0)),
			up(0, -1), asm.BrIf(0)),
		asm.I32Const(0)))
	return m.Bytes()
}

// running is one instance of a guest.
type running struct {
	*machine
	api.Module
}

// start runs a guest, rewritten so or so, up to where its functions may be called.
func start(t testing.TB, config wazero.RuntimeConfig, wasm []byte, opts *Options) *running {
	t.Helper()
	m := newMachine(t, config, benchSlice)
	wasi_snapshot_preview1.MustInstantiate(m.ctx, m)
	env := m.NewHostModuleBuilder("env")
	env.NewFunctionBuilder().WithFunc(func(ctx context.Context, mod api.Module, ptr, size uint32) {
		b, err := mod.ExportedFunction("allocate_buffer").Call(ctx, 1024)
		if err != nil {
			panic(err)
		}
		mod.Memory().WriteUint32Le(ptr, uint32(b[0]))
		mod.Memory().WriteUint32Le(size, 1024)
	}).Export("get_random_string")
	if _, err := env.Instantiate(m.ctx); err != nil {
		t.Fatal(err)
	}
	mod, err := m.load(wasm, opts, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		t.Fatal(err)
	}
	if f := mod.ExportedFunction("_initialize"); f != nil {
		if _, err := f.Call(m.ctx); err != nil {
			t.Fatal(err)
		}
	}
	return &running{m, mod}
}

// job is a function to call with a parameter that makes it work for some milliseconds.
type job struct {
	name string
	n    uint64
}

// BenchmarkMetering prints how much slower metered guests compute: the ratio of medians over
// interleaved rounds.
func BenchmarkMetering(b *testing.B) {
	guests := []struct {
		name string
		wasm func(testing.TB) []byte
		jobs []job
	}{
		{"asm", func(testing.TB) []byte { return asmGuest() }, []job{
			{"count", 10_000_000}, {"sieve", 1}}},
		{"tiny", tinyGuest, []job{{"fibonacci", 28}, {"random_mat_mul", 60},
			{"string_manipulation", 400}, {"base64", 300}, {"reverse_array", 100_000}}},
		{"go", goGuest, []job{{"sum", 100}, {"order", 20_000}, {"code", 100}, {"match", 30},
			{"count", 50_000}, {"upper", 500}, {"fib", 24}, {"multiply", 70}}},
	}
	for _, g := range guests {
		b.Run(g.name, func(b *testing.B) {
			wasm := g.wasm(b)
			plain := start(b, engines[0].config, wasm, &Options{Unmetered: true})
			metered := start(b, engines[0].config, wasm, nil)
			for _, j := range g.jobs {
				b.Run(j.name, func(b *testing.B) { compare(b, plain, metered, j) })
			}
		})
	}
}

// compare alternates between a plain and a metered guest and takes the median of the rounds'
// ratios of processor time.
func compare(b *testing.B, plain, metered *running, j job) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var times [2][]float64
	var ratios []float64
	ticks, runs := metered.ticks, 0
	for b.Loop() {
		runs++
		for i, run := range []*running{plain, metered} {
			begin := cpuTime()
			if _, err := run.ExportedFunction(j.name).Call(context.Background(), j.n); err != nil {
				b.Fatal(err)
			}
			times[i] = append(times[i], float64(cpuTime()-begin)/1e3)
		}
		ratios = append(ratios, times[1][runs-1]/times[0][runs-1])
	}
	median := func(d []float64) float64 {
		slices.Sort(d)
		return d[len(d)/2]
	}
	b.ReportMetric(median(times[0]), "plain-µs")
	b.ReportMetric(median(times[1]), "metered-µs")
	b.ReportMetric(median(ratios), "ratio")
	b.ReportMetric(float64(metered.ticks-ticks)/float64(runs), "ticks")
}

// BenchmarkCheck and BenchmarkRewrite show what loading 4 MB costs before it is compiled.
func BenchmarkCheck(b *testing.B) {
	wasm := goGuest(b)
	b.SetBytes(int64(len(wasm)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Check(wasm, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRewrite(b *testing.B) {
	wasm := goGuest(b)
	facts, err := Check(wasm, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(wasm)))
	b.ReportAllocs()
	for b.Loop() {
		out, _, err := Rewrite(wasm, facts, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(out))/float64(len(wasm)), "growth")
	}
}

// BenchmarkCompile shows how much longer the engine compiles what Rewrite gives.
func BenchmarkCompile(b *testing.B) {
	wasm := goGuest(b)
	facts, err := Check(wasm, nil)
	if err != nil {
		b.Fatal(err)
	}
	for _, opts := range []*Options{{Unmetered: true}, nil} {
		name := "metered"
		if opts != nil {
			name = "plain"
		}
		out, _, err := Rewrite(wasm, facts, opts)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r := wazero.NewRuntimeWithConfig(context.Background(), engines[0].config)
				if _, err := r.CompileModule(context.Background(), out); err != nil {
					b.Fatal(err)
				}
				r.Close(context.Background())
			}
		})
	}
}
