package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wasmagent/wasmagent/host"
)

// crowds are how many goroutines call at once.
var crowds = []int{1, 2, 16, 64}

// benchParallel prints how many calls a second many goroutines get out of one module.
func benchParallel(ctx context.Context, o options, out io.Writer) (_ []gate, err error) {
	fmt.Fprintf(out, "## Calls a second, by goroutines that call (echo, %s)\n\n", sizes[0].name)
	head := []string{"guest"}
	for _, n := range crowds {
		head = append(head, fmt.Sprint(n))
	}
	t := newTable(head...)
	for _, guest := range []string{smallGuest, goGuest} {
		cells := []string{guest}
		rates, err := crowdRates(ctx, guest, pick(o.quick, 50*time.Millisecond, 2*time.Second))
		if err != nil {
			return nil, err
		}
		for _, r := range rates {
			cells = append(cells, fmt.Sprintf("%.0f", r))
		}
		t.add(cells...)
	}
	t.print(out)
	return nil, nil
}

func crowdRates(ctx context.Context, guest string, span time.Duration) (
	rates []float64, err error) {
	wasm, _, err := guestBytes(guest)
	if err != nil {
		return nil, err
	}
	engine, err := host.New(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, engine.Close(ctx)) }()
	module, err := engine.Compile(ctx, wasm, host.Policy{})
	if err != nil {
		return nil, err
	}
	for _, n := range crowds {
		rate, err := crowdRate(ctx, module, n, span)
		if err != nil {
			return nil, err
		}
		rates = append(rates, rate)
	}
	return rates, nil
}

func crowdRate(ctx context.Context, module *host.Module, n int, span time.Duration) (
	float64, error) {
	var all sync.WaitGroup
	var calls atomic.Int64
	errs := make([]error, n)
	began := time.Now()
	for i := range n {
		all.Go(func() {
			p := newPayload(tools[0], sizes[0].bytes)
			var reply []byte
			for time.Since(began) < span && errs[i] == nil {
				reply, _, errs[i] = module.Call(ctx, p.call, nil, reply[:0])
				calls.Add(1)
			}
		})
	}
	all.Wait()
	return float64(calls.Load()) / time.Since(began).Seconds(), errors.Join(errs...)
}
