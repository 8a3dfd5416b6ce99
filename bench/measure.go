package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"
)

// cost is what one call takes, in the median.
type cost struct{ wall, cpu time.Duration }

// gauge is the time that a gate is held against: the processor's where it is known, since other
// programs on the machine stretch the wall's.
func (c cost) gauge() time.Duration {
	if c.cpu > 0 {
		return c.cpu
	}
	return c.wall
}

// rowKey names a measurement.
type rowKey struct{ guest, tool, size, contender string }

// row is one contender with one payload, measured a slice at a time.
type row struct {
	rowKey
	contender contender
	payload   *payload
	calls     int // in a slice
	wall, cpu []time.Duration
}

func (r *row) pids() []int {
	if p, ok := r.contender.(processes); ok {
		return p.PIDs()
	}
	return nil
}

// prepare checks the answer, and finds how many calls fill a slice.
func (r *row) prepare(slice time.Duration) error {
	reply, err := r.contender.Call(r.payload)
	if err == nil {
		err = r.payload.check(reply)
	}
	if err != nil {
		return fmt.Errorf("%s, %s: %w", r.guest, r.rowKey.contender, err)
	}
	for r.calls = 1; ; r.calls *= 2 {
		took, err := r.run()
		if err != nil {
			return err
		}
		if took.wall >= slice/2 {
			r.calls = max(1, int(float64(r.calls)*float64(slice)/float64(took.wall)))
			return nil
		}
	}
}

// run makes a slice's calls and tells what all of them took.
func (r *row) run() (cost, error) {
	pids := r.pids()
	cpu, began := cpuTime(pids), time.Now()
	for range r.calls {
		if _, err := r.contender.Call(r.payload); err != nil {
			return cost{}, fmt.Errorf("%s, %s: %w", r.guest, r.rowKey.contender, err)
		}
	}
	return cost{time.Since(began), cpuTime(pids) - cpu}, nil
}

// measure runs a slice after a collection of the garbage that others have left, and one call that
// finds its memory cold.
func (r *row) measure() error {
	runtime.GC()
	if _, err := r.contender.Call(r.payload); err != nil {
		return fmt.Errorf("%s, %s: %w", r.guest, r.rowKey.contender, err)
	}
	took, err := r.run()
	r.wall = append(r.wall, took.wall/time.Duration(r.calls))
	r.cpu = append(r.cpu, took.cpu/time.Duration(r.calls))
	return err
}

func (r *row) cost() cost { return cost{median(r.wall), median(r.cpu)} }

func median(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}

// measureCalls measures all contenders around one guest. Each round goes through all of them, so
// that a slow minute of the machine meets everyone.
func measureCalls(ctx context.Context, a *arena, o options) (rows []*row, err error) {
	list, err := a.contenders(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeAll(list)) }()
	for _, tool := range tools {
		for _, s := range sizes {
			p := newPayload(tool, s.bytes)
			for _, c := range list {
				r := &row{rowKey: rowKey{a.guest, tool, s.name, c.Name()}, contender: c, payload: p}
				if err := r.prepare(o.slice()); err != nil {
					return nil, err
				}
				rows = append(rows, r)
			}
		}
	}
	for range o.rounds {
		for _, r := range rows {
			if err := errors.Join(ctx.Err(), r.measure()); err != nil {
				return nil, err
			}
		}
	}
	return rows, nil
}
