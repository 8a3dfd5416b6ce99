package loader_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

// picky is a kind whose plugins have one tool that is offered, and one that cannot be.
type picky struct{}

func (picky) Name() string                 { return "picky" }
func (picky) Dialects() []*host.Dialect    { return nil }
func (picky) Recognize(*host.Facts) string { return "" }

func (picky) Compile(context.Context, *host.Engine, []byte, *loader.Plugin, *loader.Decision) (
	loader.Module, error) {
	return picky{}, nil
}

func (picky) Manifest() abi.Manifest {
	return abi.Manifest{Name: "p", ABI: abi.Version, Tools: []abi.ToolSpec{
		{Name: "go", InputSchema: `{"type":"object"}`}}}
}

func (picky) Withheld() []loader.Unfit    { return []loader.Unfit{{Tool: "No", Detail: "a capital"}} }
func (picky) Size() int64                 { return 0 }
func (picky) Close(context.Context) error { return nil }

func (picky) Call(context.Context, *plugins.Call, *host.Observer) (
	plugins.Output, host.CallStats, error) {
	return plugins.Output{}, host.CallStats{}, errors.New("not called")
}

type ofKind string

func (k ofKind) Decide(*loader.Plugin) (loader.Decision, error) {
	return loader.Decision{Kind: string(k)}, nil
}

// What a kind's module cannot offer is told of, whether the file is read or its list was kept.
func TestWithheldByKind(t *testing.T) {
	dir, opts := t.TempDir(), settled(t)
	opts.Kinds, opts.Policies = []loader.Kind{picky{}}, ofKind("picky")
	write(t, dir, map[string][]byte{"p.wasm": hosttest.Tiny("p")})
	for i := range 2 {
		reads := loader.CountReads(opts)
		p := plugin(t, open(t, dir, opts), "p")
		if len(p.Tools) != 1 || len(p.Withheld) != 1 {
			t.Fatalf("%d offered, withheld %v", len(p.Tools), p.Withheld)
		}
		e, _ := errors.AsType[*loader.SpecError](p.Withheld[0])
		want := loader.SpecError{Plugin: "p", Path: p.Path, Tool: "No", Detail: "a capital"}
		if e == nil || *e != want {
			t.Errorf("%v", p.Withheld)
		}
		if n := reads(filepath.Join(dir, "p.wasm")); n != []int{1, 0}[i] {
			t.Errorf("read %d times", n)
		}
	}
}
