package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
)

// benchStall prints what a guest that spins on every processor does to the rest of the process.
func benchStall(ctx context.Context, o options, out io.Writer) (_ []gate, err error) {
	span := pick(o.quick, 100*time.Millisecond, time.Second)
	ours, closeOurs, err := spinOurs(ctx, span)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeOurs()) }()
	bare, closeBare, err := spinBare(ctx, span)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeBare()) }()

	fmt.Fprintf(out, "## Stalls while all processors spin for %s\n\n", span)
	t := newTable("who spins", "a goroutine's worst wait", "its median", "worst runtime.GC")
	for _, s := range []struct {
		name string
		spin func() error
	}{
		{"nobody", func() error { time.Sleep(span); return nil }},
		{"a Go function", func() error { spinGo(span); return nil }},
		{"a guest of wasmagent", ours},
		{"a guest of wazero without checks", bare},
	} {
		waits, err := watch(s.spin)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		collections, err := collect(s.spin)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		t.add(s.name, millis(slices.Max(waits)), millis(median(waits)), millis(slices.Max(collections)))
	}
	t.print(out)
	return nil, nil
}

// watch lets a goroutine sleep for a millisecond at a time while others spin, and tells how much
// later than that it woke each time.
func watch(spin func() error) (late []time.Duration, err error) {
	return during(spin, func() time.Duration {
		const nap = time.Millisecond
		began := time.Now()
		time.Sleep(nap)
		return time.Since(began) - nap
	})
}

// collect collects garbage again and again while others spin, and tells how long each time took.
func collect(spin func() error) (took []time.Duration, err error) {
	return during(spin, func() time.Duration {
		began := time.Now()
		runtime.GC()
		took := time.Since(began)
		time.Sleep(5 * time.Millisecond)
		return took
	})
}

// during samples, at least once, while every processor spins.
func during(spin func() error, sample func() time.Duration) (samples []time.Duration, err error) {
	errs := make([]error, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = spin() })
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	for {
		samples = append(samples, sample())
		select {
		case <-done:
			return samples, errors.Join(errs...)
		default:
		}
	}
}

func spinGo(span time.Duration) {
	n := uint64(0)
	for began := time.Now(); time.Since(began) < span; {
		for range 1_000_000 {
			n = n*6364136223846793005 + 1
		}
	}
	runtime.KeepAlive(n)
}

// spinOurs is a guest that never ends, under a limit of time.
func spinOurs(ctx context.Context, span time.Duration) (spin, end func() error, err error) {
	engine, err := host.New(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	end = func() error { return engine.Close(ctx) }
	wasm := hosttest.Plugin{Name: "spin", Call: hosttest.Loop}.Bytes()
	module, err := engine.Compile(ctx, wasm, host.Policy{Limits: host.Limits{Time: span}})
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	request := abi.Request{Tool: "spin", CallID: "bench", Attempt: 1, Input: abi.AppendNil(nil)}
	return func() error {
		_, _, err := module.Call(ctx, request, nil, nil)
		if limit, ok := errors.AsType[*host.LimitError](err); ok && limit.Limit == "time" {
			return nil
		}
		return fmt.Errorf("a guest that spins was not ended by its time: %w", err)
	}, end, nil
}

// spinBare is a guest without checks that counts for about so long: nothing could end it.
func spinBare(ctx context.Context, span time.Duration) (spin, end func() error, err error) {
	m := asm.New()
	m.Export("count", m.Func("i64", "", asm.Loop(
		asm.LocalGet(0), asm.I64Const(1), asm.I64Sub, asm.LocalTee(0),
		asm.I64Eqz, asm.I32Eqz, asm.BrIf(0))))
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler())
	end = func() error { return rt.Close(ctx) }
	compiled, err := rt.CompileModule(ctx, m.Bytes())
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	count := func(n uint64) (err error) {
		in, err := rt.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName(""))
		if err != nil {
			return err
		}
		_, err = in.ExportedFunction("count").Call(ctx, n)
		return errors.Join(err, in.Close(ctx))
	}
	const trial = 20_000_000
	began := time.Now()
	if err := count(trial); err != nil {
		return nil, nil, errors.Join(err, end())
	}
	n := uint64(float64(trial) * float64(span) / float64(time.Since(began)))
	return func() error { return count(n) }, end, nil
}
