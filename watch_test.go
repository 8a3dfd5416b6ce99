package wasmagent_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/wasmagent/wasmagent"
	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/pluginstest"
)

// TestWatch: plugins come, change and go in the Toolbox, and what is wrong with them is listed for
// as long as it is so.
func TestWatch(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "plugins")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	box, err := wasmagent.Open(t.Context(), dir, &wasmagent.Options{
		CacheDir: filepath.Join(root, "cache"), StateDir: filepath.Join(root, "state"),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := box.Registry().Add(&pluginstest.Spy{Is: abi.ToolSpec{Name: "native"}}); err != nil {
		t.Fatal(err)
	}
	changes := make(chan loader.Change, 1)
	if err := box.Watch(t.Context(), func(c loader.Change) { changes <- c }); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name, file string
		data       []byte // nil: the file goes
		tools      []string
		problem    any // what errors.As finds in Problems; nil: there are none
	}{
		{"added", "a.wasm", hosttest.Tiny("a", "x"), []string{"native", "x"}, nil},
		{"replaced", "a.wasm", hosttest.Tiny("a", "x", "y"), []string{"native", "x", "y"}, nil},
		{"broken", "a.wasm", []byte("no module"), []string{"native", "x", "y"}, new(*loader.LoadError)},
		{"mended", "a.wasm", hosttest.Tiny("a", "y"), []string{"native", "y"}, nil},
		{"claimed twice", "b.wasm", hosttest.Tiny("b", "y"), []string{"native", "y"},
			new(*loader.CollisionError)},
		{"claimed no more", "b.wasm", hosttest.Tiny("b", "z"), []string{"native", "y", "z"}, nil},
		{"a native tool's name", "b.wasm", hosttest.Tiny("b", "native"), []string{"native", "y"},
			new(*plugins.AddError)},
		{"given up", "b.wasm", nil, []string{"native", "y"}, nil},
		{"removed", "a.wasm", nil, []string{"native"}, nil},
	} {
		t.Run(step.name, func(t *testing.T) {
			path := filepath.Join(dir, step.file)
			if step.data == nil {
				err = os.Remove(path)
			} else {
				err = errors.Join(os.WriteFile(path+".new", step.data, 0o644), os.Rename(path+".new", path))
			}
			if err != nil {
				t.Fatal(err)
			}
			<-changes
			var tools []string
			for spec := range box.Tools() {
				tools = append(tools, spec.Name)
			}
			if !slices.Equal(tools, step.tools) {
				t.Errorf("tools %v, want %v", tools, step.tools)
			}
			problems := errors.Join(box.Problems()...)
			if step.problem == nil && problems != nil ||
				step.problem != nil && !errors.As(problems, step.problem) {
				t.Errorf("problems: %v", problems)
			}
		})
	}
}
