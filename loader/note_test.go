package loader_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

// TestFailureTellsPaths has a plugin fail since a file is not there: who called it is told where
// files are.
func TestFailureTellsPaths(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a Go plugin")
	}
	dir := t.TempDir()
	wasm := hosttest.GoPlugin(t, "../host/testdata/grants")
	if err := os.WriteFile(filepath.Join(dir, "grants.wasm"), wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := loader.OpenDir(t.Context(), dir, &loader.Options{Policies: word{Decision: loader.Decision{
		Host: host.Policy{Grants: host.Grants{Files: []host.Mount{{Host: dir, Guest: "/data"}}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, tool := range d.Tools() {
		if tool.Spec().Name != "run" {
			continue
		}
		call := plugins.Call{ID: "1", Tool: "run", Input: []byte(`{"lines": ["read /etc/x"], "end": "fail"}`)}
		_, err := tool.Invoke(t.Context(), call)
		if err == nil || !strings.Contains(err.Error(), `the plugin's paths are /data (read-only)`) {
			t.Errorf("%v", err)
		}
		return
	}
	t.Error("there is no tool")
}
