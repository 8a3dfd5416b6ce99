package loader_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

// bundles is a Kind whose manifests are lists of paths, the last of which is the module.
type bundles struct{}

func (bundles) Name() string                 { return "bundle" }
func (bundles) Dialects() []*host.Dialect    { return nil }
func (bundles) Recognize(*host.Facts) string { return "" }

func (bundles) Bundle(manifest []byte, read func(string) ([]byte, error)) (all []byte, err error) {
	for name := range strings.FieldsSeq(string(manifest)) {
		part, err := read(name)
		if err != nil {
			return nil, err
		}
		all = append(all, part...)
	}
	return all, nil
}

func (bundles) Compile(_ context.Context, _ *host.Engine, wasm []byte, p *loader.Plugin,
	_ *loader.Decision) (loader.Module, error) {
	return bundled(wasm), nil
}

// bundled is a module that answers with its bytes.
type bundled string

func (b bundled) Manifest() abi.Manifest {
	return abi.Manifest{Name: "b", ABI: abi.Version, Tools: []abi.ToolSpec{{Name: "say"}}}
}
func (b bundled) Size() int64                 { return int64(len(b)) }
func (b bundled) Close(context.Context) error { return nil }

func (b bundled) Call(context.Context, *plugins.Call, *host.Observer) (plugins.Output,
	host.CallStats, error) {
	return plugins.Output{Value: fmt.Appendf(nil, "%q", string(b))}, host.CallStats{}, nil
}

// spoken calls the plugin's tool.
func spoken(t testing.TB, d *loader.Dir) string {
	t.Helper()
	tools := d.Tools()
	if len(tools) != 1 {
		t.Fatalf("%d tools (%v)", len(tools), d.Plugins())
	}
	out, err := tools[0].Invoke(t.Context(), plugins.Call{Tool: "say"})
	if err != nil {
		t.Fatal(err)
	}
	return string(out.Value)
}

// A manifest's plugin is all of its files: what is kept of it holds as long as none has changed.
func TestListOfManifests(t *testing.T) {
	dir, opts := t.TempDir(), settled(t)
	opts.Kinds = []loader.Kind{bundles{}}
	write(t, dir, map[string][]byte{"p.bundle.json": []byte("one two"), "one": []byte("1"),
		"two": []byte("2")})
	path := filepath.Join(dir, "p.bundle.json")
	d := open(t, dir, opts)
	first := plugin(t, d, "p")
	if got := spoken(t, d); got != `"12"` || first.Size != 9 || first.Kind != "bundle" {
		t.Errorf("it says %s, has %d bytes and is a %q", got, first.Size, first.Kind)
	}
	reads := loader.CountReads(opts)
	second := plugin(t, open(t, dir, opts), "p")
	if n := reads(path); n != 0 || second.Digest != first.Digest || second.Size != first.Size {
		t.Errorf("listed again: read %d times, digest %s and %d bytes, were %s and %d", n,
			second.Digest, second.Size, first.Digest, first.Size)
	}
	write(t, dir, map[string][]byte{"two": []byte("33")})
	d = open(t, dir, opts)
	if n := reads(path); n != 1 || plugin(t, d, "p").Digest == first.Digest {
		t.Errorf("a part has changed: read %d times, digest %s as before", n, first.Digest)
	}
	if got := spoken(t, d); got != `"133"` {
		t.Errorf("it says %s", got)
	}
	if err := os.Remove(filepath.Join(dir, "two")); err != nil {
		t.Fatal(err)
	}
	if err := open(t, dir, opts).Plugins()[0].Err; err == nil || !strings.Contains(err.Error(),
		"two: ") {
		t.Errorf("a part is gone: %v", err)
	}
	got, err := loader.ReadPlugin(path, opts)
	if err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("%q %v, want an error that names the manifest", got, err)
	}
}

// A lock pins what a manifest makes of its files, whichever of them changes.
func TestLockOfManifests(t *testing.T) {
	dir, opts := t.TempDir(), settled(t)
	opts.Kinds = []loader.Kind{bundles{}}
	write(t, dir, map[string][]byte{"p/manifest.json": []byte("one"), "p/one": []byte("1")})
	digest := open(t, dir, opts).Plugins()[0].Digest
	write(t, dir, map[string][]byte{
		loader.LockFile: fmt.Appendf(nil, "[plugins]\np = %q\n", digest),
	})
	if err := open(t, dir, opts).Plugins()[0].Err; err != nil {
		t.Errorf("pinned as it is: %v", err)
	}
	write(t, dir, map[string][]byte{"p/one": []byte("22")})
	if err := open(t, dir, opts).Plugins()[0].Err; err == nil || !strings.Contains(err.Error(),
		"pins another file") {
		t.Errorf("pinned as it was: %v", err)
	}
}

// A watched manifest is another version when one of its files is.
func TestWatchOfManifests(t *testing.T) {
	dir, opts := t.TempDir(), settled(t)
	opts.Kinds = []loader.Kind{bundles{}}
	write(t, dir, map[string][]byte{"p.bundle.json": []byte("one"), "one": []byte("1")})
	d := open(t, dir, opts)
	var changes []loader.Change
	looker, err := loader.NewLooker(d, func(c loader.Change) { changes = append(changes, c) })
	if err != nil {
		t.Fatal(err)
	}
	look := func() {
		t.Helper()
		for again := true; again; {
			if again, err = looker.Look(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	look()
	write(t, dir, map[string][]byte{"one": []byte("22")})
	look()
	if len(changes) != 1 || fmt.Sprint(changes[0].Replaced) != "[p]" {
		t.Fatalf("%+v, want p replaced", changes)
	}
	if got := spoken(t, d); got != `"22"` {
		t.Errorf("it says %s", got)
	}
	if err := os.Remove(filepath.Join(dir, "one")); err != nil {
		t.Fatal(err)
	}
	look()
	if got := spoken(t, d); len(changes) != 2 || len(changes[1].Refused) != 1 || got != `"22"` {
		t.Errorf("%+v, want p refused, and it says %s", changes, got)
	}
}

// Without a kind that reads them, manifests are no plugins; with one, a plugin.wasm comes first.
func TestManifestsAreOfAKind(t *testing.T) {
	dir, opts := t.TempDir(), settled(t)
	write(t, dir, map[string][]byte{"p.bundle.json": []byte("one"), "one": []byte("1"),
		"q/manifest.json": []byte("no"), "r/manifest.json": []byte("no"),
		"r/plugin.wasm": hosttest.Tiny("r")})
	if all := open(t, dir, opts).Plugins(); len(all) != 1 || all[0].Name != "r" {
		t.Errorf("%v, want only r", all)
	}
	opts.Kinds = []loader.Kind{bundles{}}
	all := open(t, dir, opts).Plugins()
	if len(all) != 3 || all[2].Kind != "" || all[2].Err != nil || all[1].Err == nil {
		t.Errorf("%v, want p, a q that cannot be loaded, and r as before", all)
	}
}
