package host_test

import (
	"runtime"
	"slices"
	"testing"

	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
)

// An engine tells what it was made with, and what it found.
func TestEngineFacts(t *testing.T) {
	f := hosttest.Engine(t).Facts()
	want := host.EngineFacts{Engine: host.EngineVersion, System: runtime.GOOS + "/" + runtime.GOARCH,
		PageSize: f.PageSize, Restore: f.Restore, Running: runtime.GOMAXPROCS(0),
		Compiling: runtime.GOMAXPROCS(0), Memory: host.DefaultTotalMemory, Limits: f.Limits}
	if f != want || f.Limits.Time != host.DefaultTime || f.Limits.Instances != host.DefaultInstances {
		t.Errorf("%+v, want %+v", f, want)
	}
	if !slices.Contains([]string{"scan", "pagemap", "drop", "copy"}, f.Restore) {
		t.Errorf("restored by %q", f.Restore)
	}
	e := withChild(t, host.Config{CacheDir: t.TempDir(), CacheKey: cacheKey, Workers: 3,
		Memory: 5 << 20})
	f = e.Facts()
	if f.Compiling != 3 || f.Children != 1 || f.Memory != 5<<20 || f.CacheDir != host.EntriesDir(e) {
		t.Errorf("%+v", f)
	}
}
