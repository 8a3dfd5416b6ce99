package extism_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/loader/extism"
	"github.com/wasmagent/wasmagent/plugins"
)

type policies map[string]loader.Decision

func (p policies) Decide(pl *loader.Plugin) (loader.Decision, error) { return p[pl.Name], nil }

func TestSDKModules(t *testing.T) {
	dir := "/root/go/pkg/mod/github.com/extism/go-sdk@v1.7.1/wasm"
	for _, tt := range []struct{ file, fn, in string }{
		{"count_vowels", "count_vowels", "hello"},
		{"count_vowels_std", "_start", "hello"},
		{"hello", "run_test", ""},
		{"hello_haskell", "testing", ""},
		{"fail", "run_test", ""},
		{"var", "run_test", ""},
		{"config", "run_test", ""},
		{"exit", "_start", ""},
		{"alloc", "run_test", ""},
		{"input_offset", "input_offset_length", "hello"},
		{"replace", "run_test", "a hello"},
		{"log", "run_test", ""},
		{"http", "run_test", ""},
		{"sleep", "run_test", ""},
		{"noop", "run_test", ""},
		{"println", "run_test", "x"},
		{"std_command", "_start", "x"},
		{"host", "run_test", ""},
	} {
		t.Run(tt.file, func(t *testing.T) {
			path := filepath.Join(dir, tt.file+".wasm")
			d, err := loader.OpenFile(context.Background(), path, &loader.Options{
				Kinds:    []loader.Kind{extism.New(nil)},
				CacheDir: t.TempDir(), StateDir: t.TempDir(),
				Policies: policies{tt.file: {Kind: "extism", Host: host.Policy{Config: map[string]abi.Raw{"thing": abi.AppendString(nil, "x")}}, Functions: []loader.Function{
					{Tool: abi.ToolSpec{Name: "f"}, Export: tt.fn, Text: true},
				}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			p := d.Plugins()[0]
			if p.Err != nil {
				t.Fatal(p.Err)
			}
			in, _ := json.Marshal(map[string]string{"input": tt.in})
			out, err := d.Tools()[0].Invoke(context.Background(), plugins.Call{Tool: "f", Input: in})
			t.Log(p.Kind, p.KindWhy, string(out.Value), err)
		})
	}
	_ = os.Stdout
}
