package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
)

// benchCalls prints what one call costs, by guest and tool.
func benchCalls(ctx context.Context, o options, out io.Writer) (gates []gate, err error) {
	for _, guest := range []string{smallGuest, goGuest} {
		costs, err := guestCosts(ctx, guest, o)
		if err != nil {
			return nil, err
		}
		for _, tool := range tools {
			printCalls(out, guest, tool, costs)
		}
		gates = append(gates, callGates(guest, costs)...)
	}
	return gates, nil
}

func guestCosts(ctx context.Context, guest string, o options) (_ map[rowKey]cost, err error) {
	a, err := newArena(guest)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	rows, err := measureCalls(ctx, a, o)
	costs := map[rowKey]cost{}
	for _, r := range rows {
		costs[r.rowKey] = r.cost()
	}
	return costs, err
}

// order is how the contenders stand in tables.
var order = []string{nameBytes, nameJSON, nameWarm, nameStoppable, nameInstantiate,
	nameOursExtism, nameOursSDK, nameExtismWarm, nameExtismFresh, nameWasmtime, nameGRPC, nameSubprocess,
	nameNative}

func printCalls(out io.Writer, guest, tool string, costs map[rowKey]cost) {
	fmt.Fprintf(out, "## %s, %s (µs a call)\n\n", guest, tool)
	head := []string{""}
	for _, s := range sizes {
		head = append(head, s.name+" wall", "CPU", "to ours")
	}
	t := newTable(head...)
	for _, name := range order {
		cells := []string{name}
		for _, s := range sizes {
			c := costs[rowKey{guest, tool, s.name, name}]
			if c == (cost{}) {
				continue
			}
			ours := costs[rowKey{guest, tool, s.name, nameBytes}]
			cells = append(cells, micros(c.wall), micros(c.cpu), times(ratio(c.gauge(), ours.gauge())))
		}
		if len(cells) > 1 {
			t.add(cells...)
		}
	}
	t.print(out)
}

// maxAllocs is how often the host may allocate in a call by the bytes API.
const maxAllocs = 2

// benchAllocs counts the host's allocations in a call.
func benchAllocs(ctx context.Context, o options, out io.Writer) (gates []gate, err error) {
	for _, guest := range []string{smallGuest, goGuest} {
		a, err := newArena(guest)
		if err != nil {
			return nil, err
		}
		counted, err := countAllocs(ctx, a, pick(o.quick, 10, 200))
		if err := errors.Join(err, a.Close()); err != nil {
			return nil, err
		}
		gates = append(gates, counted...)
	}
	return gates, nil
}

func countAllocs(ctx context.Context, a *arena, calls int) (gates []gate, err error) {
	c, err := newBytes(ctx, a)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	for _, tool := range tools {
		p := newPayload(tool, sizes[0].bytes)
		n := testing.AllocsPerRun(calls, func() {
			if _, e := c.Call(p); e != nil {
				err = e
			}
		})
		gates = append(gates, gate{name: fmt.Sprintf("allocations of the host: %s, %s", tool, a.guest),
			measured: fmt.Sprint(n), limit: fmt.Sprintf("≤ %d", maxAllocs), held: n <= maxAllocs})
	}
	return gates, err
}
