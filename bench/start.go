package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/host/hosttest/asm"
	"github.com/wasmagent/wasmagent/loader"
)

const (
	manyPlugins = 1000
	largeBytes  = 3_500_000 // of a plugin that Go compiled
	startLimit  = 150 * time.Millisecond
)

// settle is how long after its making a file's times are to be believed.
const settle = 200 * time.Millisecond

// benchStart measures the second start of a directory of many plugins, to a full list of tools.
func benchStart(ctx context.Context, o options, out io.Writer) (gates []gate, err error) {
	fmt.Fprint(out, "## Start: a directory of plugins to a full list of tools\n\n")
	t := newTable("plugins", "first wall", "CPU", "second wall", "CPU")
	for _, each := range []int64{0, largeBytes} {
		if each > 0 && o.quick {
			continue // the first start would read 3.5 GB
		}
		name := fmt.Sprintf("%d of %s", manyPlugins, pick(each == 0, "1 KB", "3.5 MB"))
		first, second, err := startCosts(ctx, each, o.rounds)
		if err != nil {
			return nil, err
		}
		t.add(name, millis(first.wall), millis(first.cpu), millis(second.wall), millis(second.cpu))
		gates = append(gates, gate{name: "second start: " + name, measured: millis(second.gauge()),
			limit: "< " + millis(startLimit), held: second.gauge() < startLimit, aim: each > 0})
	}
	t.print(out)
	return gates, nil
}

func startCosts(ctx context.Context, each int64, rounds int) (first, second cost, err error) {
	base, err := os.MkdirTemp("", "wasmagent-bench-")
	if err != nil {
		return first, second, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(base)) }()
	if err := writePlugins(filepath.Join(base, "plugins"), each); err != nil {
		return first, second, err
	}
	time.Sleep(settle)
	if first, err = listOnce(ctx, base); err != nil {
		return first, second, err
	}
	var wall, cpu []time.Duration
	for range rounds {
		c, err := listOnce(ctx, base)
		if err != nil {
			return first, second, err
		}
		wall, cpu = append(wall, c.wall), append(cpu, c.cpu)
	}
	return first, cost{median(wall), median(cpu)}, nil
}

// writePlugins makes stamped plugins of one tool each. What makes them large is a hole in the file:
// it reads as zeros, in a custom section.
func writePlugins(dir string, each int64) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for i := range manyPlugins {
		name := fmt.Sprintf("tool%d", i)
		wasm := hosttest.Plugin{Name: name, Stamp: true}.Bytes()
		file := filepath.Join(dir, name+".wasm")
		if each > 0 {
			wasm = append(wasm, "\x00"+asm.Uint(uint64(each))+asm.Sized("pad")...)
		}
		if err := os.WriteFile(file, wasm, 0o644); err != nil {
			return err
		}
		if each > 0 {
			pad := each - int64(len(asm.Sized("pad")))
			if err := os.Truncate(file, int64(len(wasm))+pad); err != nil {
				return err
			}
		}
	}
	return nil
}

// listOnce opens the directory as a new process would, and counts its tools.
func listOnce(ctx context.Context, base string) (took cost, err error) {
	cpu, began := cpuTime(nil), time.Now()
	dir, err := loader.OpenDir(ctx, filepath.Join(base, "plugins"), &loader.Options{
		CacheDir: filepath.Join(base, "cache"), StateDir: filepath.Join(base, "state")})
	if err != nil {
		return cost{}, err
	}
	got := len(dir.Tools())
	took = cost{time.Since(began), cpuTime(nil) - cpu}
	if got != manyPlugins {
		err = fmt.Errorf("%d tools of %d: %w", got, manyPlugins, dir.Plugins()[0].Err)
	}
	return took, errors.Join(err, dir.Close())
}
