package extism_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/loader/extism"
)

// TestDifferentialModules calls the plugins of the SDK's module in both engines: what the SDK makes
// of them is what the native engine has to. Those that the SDK is not given, for what they want is
// not safe there, are told so.
func TestDifferentialModules(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED with -short: it compiles every module twice")
	}
	dir := sdkDir(t)
	for _, c := range sdkCases {
		t.Run(c.file, func(t *testing.T) {
			want, fault := c.callIn(t, dir, "native")
			got, err := c.callIn(t, dir, "extism-sdk")
			switch e, refused := errors.AsType[*extism.EngineError](err); {
			case refused && hasFiles(t, &c):
				return // TestFaultSymlink says why
			case refused:
				t.Errorf("the SDK is refused: %v", e)
			case c.functions != nil:
				if _, ok := errors.AsType[*host.LoadError](err); !ok {
					t.Errorf("%s, %v, want a refusal: the SDK is given no functions", got, err)
				}
			case (err == nil) != (fault == nil) || got != want:
				t.Errorf("the SDK gives %s, %v; the native engine %s, %v", got, err, want, fault)
			case err != nil && kindOf(err) != kindOf(fault):
				t.Errorf("the SDK gives a %s, %v; the native engine a %s, %v", kindOf(err), err,
					kindOf(fault), fault)
			}
		})
	}
}

func hasFiles(t *testing.T, c *sdkCase) bool {
	var p host.Policy
	if c.give != nil {
		c.give(t, &p)
	}
	return len(p.Grants.Files) > 0
}

// callIn is call in one of the engines.
func (c *sdkCase) callIn(t *testing.T, dir, engine string) (got string, err error) {
	d := loader.Decision{Kind: c.kind, Engine: engine, Functions: []loader.Function{
		{Tool: abi.ToolSpec{Name: "f"}, Export: c.export, Text: true},
	}}
	if d.Kind == "" {
		d.Kind = "extism"
	}
	if c.give != nil {
		c.give(t, &d.Host)
	}
	kind := extism.New(&extism.Options{Functions: c.functions, SDKCommand: sdkCommand()})
	opened := openFile(t, filepath.Join(dir, c.file+".wasm"), kind, d)
	if p := opened.Plugins()[0]; p.Err != nil {
		return "", p.Err
	}
	return text(t, opened.Tools()[0], c.input)
}

// kindOf tells errors apart by what they are, and failures by what the guest says.
func kindOf(err error) string {
	if f, ok := errors.AsType[*abi.Failure](err); ok {
		return "failure " + f.Code + ": " + f.Message
	}
	var named interface{ CauseName() string }
	if errors.As(err, &named) {
		return named.CauseName()
	}
	if e, ok := errors.AsType[*host.LoadError](err); ok {
		return "load error at " + e.Stage
	}
	return "error"
}
