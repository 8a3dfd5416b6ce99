package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

func (a *app) callCommand() *cobra.Command {
	var flags callFlags
	cmd := &cobra.Command{
		Use:   "call TOOL | PLUGIN[:TOOL] | FILE[:TOOL] [JSON | @FILE | -]",
		Short: "Call a tool with JSON and print its result",
		Long: `Call a tool of the plugin directories, or of one plugin or plugin file (which needs no
:TOOL when it has only one). The input is a JSON object: as an argument, from a file, or
from stdin. Fields given with -f are put into it; their type is the one that the
tool's schema says.

With --key, a field of the input says which calls are one and the same: the tool is handed
the key, and unless it only reads, the call is recorded in the ledger and made once. Called
again with the same input, it gives the recorded result; the tool is not run. A plugin that
is granted nothing it could change counts as read and is not recorded, until --effect says
more. The policy may say all of this for good. docs/ledger.md tells the story.

The exit code tells how the call ended: 0 with a result, 10 to 14 for the five kinds of tool
errors, 15 to 17 when a key stands in the way. docs/cli.md lists them all.`,
		Example: `  wasmagent call jq '{"filter": ".a", "input": {"a": 1}}'
  wasmagent call jq -f filter=.a -f input='{"a": 1}'
  wasmagent call html_to_markdown -f html=@page.html
  wasmagent call ./weather.wasm:weather_now -f city=Oslo
  wasmagent call pay -f order=7 -f cents=995 --key order --effect write`,
		Args:              takes(1, 2, "a tool or file, and at most one input"),
		ValidArgsFunction: a.completeTools,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.call(cmd.Context(), args, &flags)
		},
	}
	a.addCallFlags(cmd, &flags)
	return cmd
}

func (a *app) call(ctx context.Context, args []string, flags *callFlags) error {
	rule, err := flags.rule()
	if err != nil {
		return err
	}
	a.target = args[0]
	found, err := a.find(ctx, args[0], true)
	if err != nil {
		return err
	}
	tool, plugin, err := found.callable()
	if err != nil {
		return err
	}
	input, err := a.input(args[1:], flags.fields, tool.Spec())
	if err != nil {
		return err
	}
	registry, err := a.registryFor(tool, rule)
	if err != nil {
		return err
	}
	a.tool = tool.Spec().Name
	result, err := a.callLogged(ctx, registry, plugin, a.newCall(tool.Spec().Name, input))
	if err != nil && (result.Value != nil || result.Content != nil) {
		return a.tellUnrecorded(result, err)
	} else if err != nil {
		return err
	}
	if note := flags.unrecorded(plugin, tool); note != "" {
		result.Notes = append(result.Notes, note)
	}
	return a.printResult(tool.Spec().Name, result)
}

// newCall makes a call whose guest is heard: log lines go to the log, and with -o jsonl progress
// goes to stdout as it comes.
func (a *app) newCall(tool string, input json.RawMessage) plugins.Call {
	return plugins.Call{
		ID: "1", Tool: tool, Input: input, Log: a.guestLog(tool), Progress: a.progress,
	}
}

// guestLog takes what a tool logs into the log.
func (a *app) guestLog(tool string) func(abi.Level, string) {
	return func(level abi.Level, text string) {
		a.log.Log(a.ctx, slogLevel(level), text, "tool", tool)
	}
}

func slogLevel(l abi.Level) slog.Level {
	return [...]slog.Level{
		abi.LevelDebug: slog.LevelDebug, abi.LevelInfo: slog.LevelInfo,
		abi.LevelWarn: slog.LevelWarn, abi.LevelError: slog.LevelError,
	}[min(l, abi.LevelError)]
}

// progressJSON is what a guest says of its progress, a line of -o jsonl.
type progressJSON struct {
	Done    float64 `json:"done"`
	Total   float64 `json:"total,omitempty"`
	Message string  `json:"message,omitempty"`
}

func (a *app) progress(p abi.Progress) {
	if a.form != "jsonl" {
		a.log.Info("progress", "done", p.Done, "total", p.Total, "message", p.Message)
		return
	}
	line := map[string]progressJSON{"progress": {p.Done, p.Total, p.Message}}
	if err := writeJSON(a.out, a.form, line); err != nil {
		a.log.Warn("progress not written", "error", err)
	}
}

// tookKey finds, in a call's context, where what its guest takes is kept for the log line about it:
// calls of one tool may run side by side.
type tookKey struct{}

// called keeps what a guest's call took. Of several attempts the last one counts.
func called(ctx context.Context, _, _ string, took host.CallStats) {
	if kept, ok := ctx.Value(tookKey{}).(*atomic.Pointer[host.CallStats]); ok {
		kept.Store(&took)
	}
}

// callLogged carries out a call and logs one line about it. The time is the guest's own, if it was
// run, without that for compiling it.
func (a *app) callLogged(ctx context.Context, r *plugins.Registry, p *loader.Plugin,
	call plugins.Call) (plugins.Result, error) {
	start := time.Now()
	var kept atomic.Pointer[host.CallStats]
	result, err := r.Call(context.WithValue(ctx, tookKey{}, &kept), call)
	spent := time.Since(start)
	took := kept.Load()
	if took != nil {
		spent = took.Time
	}
	attrs := []any{"tool", call.Tool, "plugin", p.Name, "digest", p.Digest,
		"took_ms", float64(spent.Microseconds()) / 1000}
	if took != nil {
		attrs = append(attrs, "memory_bytes", took.Memory)
	}
	if tries := attemptsOf(result, err); tries > 1 {
		attrs = append(attrs, "attempts", tries)
	}
	if result.Copied {
		attrs = append(attrs, "copied_from", result.Place.String())
	}
	if place := a.record.at(); place != "" {
		attrs = append(attrs, "place", place)
	}
	if err != nil {
		attrs = append(attrs, "kind", a.problemOf(err).Kind)
		if cause := plugins.CauseOf(err); cause != "" {
			attrs = append(attrs, "cause", cause)
		}
	}
	a.log.Info("call", attrs...)
	return result, err
}
