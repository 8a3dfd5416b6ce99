package main

import (
	"context"
	"fmt"

	"github.com/wasmagent/wasmagent/host"
)

// engineJSON is the sandbox that plugins run in.
type engineJSON struct {
	Engine    string        `json:"engine"`
	System    string        `json:"system"`
	PageSize  int           `json:"page_size"`
	Restore   string        `json:"restore"`
	CacheDir  string        `json:"cache_dir"`
	Running   int           `json:"running"`
	Compiling compilingJSON `json:"compiling"`
	Memory    int64         `json:"memory"`
	Limits    limitsJSON    `json:"limits"`
}

// compilingJSON is how modules are compiled: so many here and, when they are too large for that, so
// many in processes of their own, each within limits.
type compilingJSON struct {
	Workers  int     `json:"workers"`
	Children int     `json:"children"`
	Seconds  float64 `json:"child_seconds"`
	Memory   int64   `json:"child_memory"`
	Code     int64   `json:"child_code"`
}

// limitsJSON are the limits of a plugin: seconds, bytes and numbers.
type limitsJSON struct {
	Time      float64 `json:"time"`
	Load      float64 `json:"load"`
	Grace     float64 `json:"grace"`
	Fuel      int64   `json:"fuel"`
	Memory    int64   `json:"memory"`
	Request   int64   `json:"request"`
	Output    int64   `json:"output"`
	Stdio     int64   `json:"stdio"`
	LogRate   int     `json:"log_rate"`
	Module    int64   `json:"module"`
	Instances int     `json:"instances"`
}

func (a *app) inspectEngine(ctx context.Context) error {
	e, err := a.sandbox(ctx)
	if err != nil {
		return err
	}
	f := e.Facts()
	if a.form != "text" {
		return writeJSON(a.out, a.form, newEngineJSON(&f))
	}
	return a.printEngine(&f)
}

func newEngineJSON(f *host.EngineFacts) engineJSON {
	l := &f.Limits
	return engineJSON{
		Engine: f.Engine, System: f.System, PageSize: f.PageSize, Restore: f.Restore,
		CacheDir: f.CacheDir, Running: f.Running, Memory: f.Memory,
		Compiling: compilingJSON{
			Workers: f.Compiling, Children: f.Children, Seconds: host.MaxCompileTime.Seconds(),
			Memory: host.MaxCompileMemory, Code: host.MaxCompiledCode,
		},
		Limits: limitsJSON{
			Time: l.Time.Seconds(), Load: l.Load.Seconds(), Grace: l.Grace.Seconds(), Fuel: l.Fuel,
			Memory: l.Memory, Request: l.Request, Output: l.Output, Stdio: l.Stdio,
			LogRate: l.LogRate, Module: l.Module, Instances: l.Instances,
		},
	}
}

// restoreTexts say how what a call wrote is found.
var restoreTexts = map[string]string{
	"scan":    "the kernel tells the pages that a call wrote, and these are copied",
	"pagemap": "the pages that a call wrote are read from /proc/self/pagemap, and these are copied",
	"drop":    "all pages are given back to the kernel after a call",
	"copy":    "all of the memory is copied after a call: this system has no better way",
}

// printEngine writes the sandbox for people.
func (a *app) printEngine(f *host.EngineFacts) error {
	t, l := newTable(a.out), &f.Limits
	t.row("engine", "%s on %s, pages of %s", f.Engine, f.System, bytesText(int64(f.PageSize)))
	t.row("restore", "%s: %s", f.Restore, restoreTexts[f.Restore])
	t.row("cache", "%s", textOr(f.CacheDir, "none"))
	t.row("running", "%s at a time, %s of memory in all", count(f.Running, "plugin"),
		bytesText(f.Memory))
	t.row("compiling", "%s at a time", count(f.Compiling, "plugin"))
	t.row("large ones", "%s", childText(f.Children))
	t.row("a call", "%s", l.Time.String()+", "+bytesText(l.Memory)+" of memory, "+fuelText(l.Fuel))
	t.row("loading", "%v a stage, a file of at most %s", l.Load, bytesText(l.Module))
	t.row("data", "%s in, %s out, %s of stdout and of stderr, %d log lines a second",
		bytesText(l.Request), bytesText(l.Output), bytesText(l.Stdio), l.LogRate)
	t.row("instances", "%d of a plugin; a cancelled call has %v to end", l.Instances, l.Grace)
	return t.Flush()
}

func childText(children int) string {
	if children == 0 {
		return "refused: there is no command to compile them"
	}
	return fmt.Sprintf("%d at a time, each in a child process: %v, %s of memory and %s of code",
		children, host.MaxCompileTime,
		bytesText(host.MaxCompileMemory), bytesText(host.MaxCompiledCode))
}

func fuelText(units int64) string {
	if units == 0 {
		return "fuel counted and not limited"
	}
	return fmt.Sprintf("%d units of fuel", units)
}
