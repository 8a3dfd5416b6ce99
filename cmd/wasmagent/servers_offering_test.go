package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/loader/mcp"
	"github.com/wasmagent/wasmagent/plugins"
)

// namedTool is a tool that knows whose it is.
type namedTool struct{ name, of string }

func (t *namedTool) Spec() abi.ToolSpec { return abi.ToolSpec{Name: t.name, Description: t.of} }

func (t *namedTool) Invoke(context.Context, plugins.Call) (plugins.Output, error) {
	return plugins.Output{}, nil
}

// Who offers a name that several sources have, whatever comes and goes in whatever order: each step
// is a source and the names that it has from then on, and what is offered then, by whom.
func TestOffering(t *testing.T) {
	for name, steps := range map[string]string{
		"a plugin goes before a server that was there": `
			zeta: x      -> x=zeta
			dir1: x y    -> x=dir1 y=dir1
			dir1: y      -> x=zeta y=dir1
			dir1:        -> x=zeta`,
		"the first server by name": `
			zeta: x y    -> x=zeta y=zeta
			beta: x      -> x=beta y=zeta
			alpha: x y   -> x=alpha y=alpha
			alpha:       -> x=beta y=zeta
			beta:        -> x=zeta y=zeta`,
		"a server that comes later waits": `
			alpha: x     -> x=alpha
			beta: x      -> x=alpha
			alpha:       -> x=beta`,
		"of directories the one that has it": `
			dir2: x      -> x=dir2
			dir1: x      -> x=dir2
			dir2:        -> x=dir1
			dir2: x      -> x=dir1`,
		"directories that came with it together": `
			both: x y    ->
			alpha: x     ->
			dir1: y      -> x=dir2
			dir2: y      -> x=alpha
			dir1:        -> x=alpha y=dir2`,
		"another version": `
			dir1: x      -> x=dir1
			dir1: x      -> x=dir1
			alpha: x     -> x=dir1`,
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffering(plugins.NewRegistry(nil), func(errs ...error) {
				if err := errors.Join(errs...); strings.Contains(fmt.Sprint(err), "there is a tool") {
					t.Error(err)
				}
			})
			have := map[string]*supply{}
			for _, dir := range []string{"dir1", "dir2"} {
				have[dir] = &supply{dir: &loader.Dir{}, tools: map[string]plugins.Tool{}}
				o.sources = append(o.sources, have[dir])
			}
			for step := range strings.Lines(strings.TrimSpace(steps)) {
				event, want, _ := strings.Cut(strings.TrimSpace(step), "->")
				who, names, _ := strings.Cut(event, ":")
				if who == "both" {
					for _, dir := range []string{"dir1", "dir2"} {
						for _, n := range strings.Fields(names) {
							have[dir].tools[n] = &namedTool{n, dir}
						}
					}
					o.settle(map[string]bool{"x": true, "y": true})
				} else {
					if have[who] == nil {
						have[who] = o.addServer(who, who)
					}
					turnTo(o, have[who], who, strings.Fields(names))
				}
				if got := offeredBy(o); got != strings.TrimSpace(want) {
					t.Errorf("after %q: %q, want %q", event, got, want)
				}
				if n := len(strings.Fields(want)); len(o.holders) != n {
					t.Errorf("after %q: %d names are held, want %d", event, len(o.holders), n)
				}
			}
		})
	}
}

// turnTo has a source have these tools, all of them new ones.
func turnTo(o *offering, s *supply, who string, names []string) {
	var old, now []plugins.Tool
	for _, tool := range s.tools {
		old = append(old, tool)
	}
	for _, n := range names {
		now = append(now, &namedTool{n, who})
	}
	o.change(s, old, now)
}

// offeredBy lists what the registry has, and whose it is.
func offeredBy(o *offering) string {
	var list []string
	for spec := range o.registry.Specs() {
		list = append(list, spec.Name+"="+spec.Description)
	}
	return strings.Join(list, " ")
}

// A clash is told once as long as it is the same, and names who has the name.
func TestOfferingTellsOnce(t *testing.T) {
	var told []string
	o := newOffering(plugins.NewRegistry(nil), func(errs ...error) {
		for _, err := range errs {
			if err != nil {
				told = append(told, err.Error())
			}
		}
	})
	a, b := o.addServer("a", "p.toml:1"), o.addServer("b", "p.toml:2")
	turnTo(o, a, "a", []string{"x"})
	for range 3 {
		turnTo(o, b, "b", []string{"x", "y"})
	}
	turnTo(o, a, "a", nil)
	turnTo(o, a, "a", []string{"x"})
	want := `tool "x" is claimed by p.toml:1 and p.toml:2: p.toml:1 had it first and keeps it; ` +
		`rename or remove one, or in the policy set its prefix (of a plugin, prefix = true) or, under ` +
		`functions, another name`
	if len(told) != 2 || told[0] != want || told[1] != want {
		t.Errorf("told %q", told)
	}
}

// A server that cannot be had is tried again after a wait that doubles up to its limit, and the log
// says once that it is not there and once that it is.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		began, last := time.Now(), time.Now()
		var waits []time.Duration
		tries := 0
		source := await(t.Context(), slog.New(slog.NewTextHandler(&log, nil)), func() { tries++ },
			func() (*mcp.Source, error) {
				waits, last = append(waits, time.Since(last)), time.Now()
				if len(waits) < 13 {
					return nil, fmt.Errorf("no database, the %dth time", len(waits))
				}
				return &mcp.Source{}, nil
			})
		want := []time.Duration{0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300}
		for i, w := range waits {
			if w != want[i]*time.Second {
				t.Errorf("wait %d is %v, want %ds", i, w, want[i])
			}
		}
		if source == nil || tries != 12 || time.Since(began) < time.Minute {
			t.Errorf("have %v after %d tries", source, tries)
		}
		if n := strings.Count(log.String(), "\n"); n != 2 {
			t.Errorf("%d lines: %s", n, log.String())
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		if await(ctx, slog.New(slog.DiscardHandler), func() {}, func() (*mcp.Source, error) {
			return nil, errors.New("no")
		}) != nil || ctx.Err() == nil {
			t.Error("it does not end with its context")
		}
	})
}
