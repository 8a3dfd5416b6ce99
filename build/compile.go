package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Options of Compile and CompileAll. Nil and zero fields are the documented defaults.
type Options struct {
	Go string // the go command; "" is the one in $PATH

	// Progress is told of every step that was begun or done. Nil: not wanted. It is called from
	// one goroutine at a time.
	Progress func(Step)
}

// Step is a piece of CompileAll's work.
type Step struct {
	Linked bool   // a plugin is finished; else a package begins to be compiled
	Name   string // the plugin's directory, or the package's import path
	Total  int    // how many steps of this sort there are in all
}

// Target is a plugin to compile: a directory with a package main, and the file to write.
type Target struct{ Dir, Out string }

// ErrNoGo is returned when no go command can be found.
var ErrNoGo = errors.New("no go command: install Go from https://go.dev/dl and put it into $PATH")

// CompileError is a plugin that the go command did not compile.
type CompileError struct {
	Dir    string
	Output string // what the go command said, the last 16 KiB of it
}

func (e *CompileError) Error() string { return fmt.Sprintf("go build in %s:\n%s", e.Dir, e.Output) }

// Compile compiles the Go package in t.Dir into the plugin t.Out.
func Compile(ctx context.Context, t Target, opts *Options) error {
	return CompileAll(ctx, []Target{t}, opts)
}

// CompileAll compiles plugins of one Go module. Their packages are compiled in one run of the go
// command, which spreads over all processors and does nothing twice; then they are linked side by
// side, each into a temporary file that takes the place of Out when it is whole.
func CompileAll(ctx context.Context, targets []Target, opts *Options) error {
	if opts == nil {
		opts = &Options{}
	}
	if len(targets) == 0 {
		return nil
	}
	c := &compiler{tool: opts.Go, tell: opts.Progress}
	if err := c.find(); err != nil {
		return err
	}
	if err := c.packages(ctx, targets); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, t := range targets {
		group.Go(func() error {
			if err := c.link(ctx, t); err != nil {
				return err
			}
			c.step(Step{Linked: true, Name: t.Dir, Total: len(targets)})
			return nil
		})
	}
	return group.Wait()
}

// flags are what a plugin is compiled with: the paths of this machine stay out of it, and so do
// debug tables, a third of its size.
var flags = []string{"-trimpath", "-buildvcs=false", "-ldflags=-w"}

// compiler runs the go command.
type compiler struct {
	tool string
	mu   sync.Mutex // one step at a time
	tell func(Step)
}

func (c *compiler) step(s Step) {
	if c.tell != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.tell(s)
	}
}

// packages compiles what the targets consist of, without linking. A build mode that links allows
// one package main a run, so it is left to link; all but the main packages is shared with it.
func (c *compiler) packages(ctx context.Context, targets []Target) error {
	dirs := make([]string, len(targets))
	for i, t := range targets {
		dir, err := filepath.Abs(t.Dir)
		if err != nil {
			return err
		}
		dirs[i] = dir
	}
	total := 0
	if c.tell != nil {
		list := append([]string{"list", "-deps", "-trimpath", "-f", "{{if .Stale}}x{{end}}"}, dirs...)
		out, err := c.run(ctx, targets[0].Dir, list, nil)
		if err != nil {
			return err
		}
		total = len(out)
	}
	args := append(append([]string{"build", "-v"}, flags...), dirs...)
	if len(targets) == 1 {
		args = append(append([]string{"build", "-v", "-o", os.DevNull}, flags...), dirs...)
	}
	_, err := c.run(ctx, targets[0].Dir, args, func(path string) {
		c.step(Step{Name: path, Total: total})
	})
	return err
}

func (c *compiler) link(ctx context.Context, t Target) error {
	out, err := filepath.Abs(t.Out)
	if err != nil {
		return err
	}
	return replaceFile(out, func(f *os.File) error {
		args := append([]string{"build", "-buildmode=c-shared", "-o", f.Name()}, flags...)
		_, err := c.run(ctx, t.Dir, append(args, "."), nil)
		return err
	})
}
