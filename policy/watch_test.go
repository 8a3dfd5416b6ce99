package policy

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

// A plugin that is granted something is replaced while it serves: the version that was allowed
// serves on, also when the operator allows the new one meanwhile, which the next start runs.
func TestAllowedVersionServesOn(t *testing.T) {
	w := newWorld(t)
	w.write("[plugins.tiny]\nenv.TZ = \"UTC\"\n")
	file := filepath.Join(w.dir, "plugins", "tiny.wasm")
	put := func(data []byte) {
		if err := errors.Join(os.WriteFile(file+".new", data, 0o644),
			os.Rename(file+".new", file)); err != nil {
			t.Fatal(err)
		}
	}
	open := func() *loader.Dir {
		d, err := loader.OpenDir(t.Context(), filepath.Dir(file), &loader.Options{
			CacheDir: w.opts.CacheDir, StateDir: w.opts.StateDir, Policies: w.open()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
		return d
	}
	put(hosttest.Tiny("tiny"))
	w.plugin = open().Plugins()[0]
	w.allow(nil)
	d, reg := open(), plugins.NewRegistry(nil)
	if err := reg.Add(d.Tools()...); err != nil {
		t.Fatal(err)
	}
	told := make(chan loader.Change, 1)
	if err := d.Watch(t.Context(), func(c loader.Change) { told <- c }); err != nil {
		t.Fatal(err)
	}
	put(hosttest.Plugin{Name: "tiny", Pad: 1}.Bytes())
	c := <-told
	refused, ok := errors.AsType[*loader.NotAllowedError](errors.Join(c.Refused...))
	if !ok || !refused.Approval || !slices.Equal(refused.Changed, []string{"file"}) {
		t.Errorf("told %+v", c)
	}
	call := func() {
		t.Helper()
		res, err := reg.Call(t.Context(), plugins.Call{Tool: "tiny", Input: json.RawMessage(`{"n":1}`)})
		if err != nil || string(res.Value) != `{"n":1}` {
			t.Errorf("%s, %v", res.Value, err)
		}
	}
	call()
	next := open().Plugins()[0]
	if next.Err == nil {
		t.Error("the next start runs what nobody allowed")
	}
	w.plugin = next
	w.allow(nil)
	call()
	if p := d.Plugins()[0]; p.Held == nil || p.Digest == next.Digest {
		t.Errorf("allowed while it runs: %+v", p)
	}
	if p := open().Plugins()[0]; p.Err != nil || p.Digest != next.Digest {
		t.Errorf("the start after that: %+v", p)
	}
}
