package host_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/abihost"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
)

// A module is described for stamping whatever it needs and whatever it is stamped with.
func TestDescribe(t *testing.T) {
	manifest := abi.AppendManifest(nil, &abi.Manifest{
		Name: "w", Version: "1", ABI: abi.Version, Tools: []abi.ToolSpec{{Name: "w"}},
		Needs: abi.Needs{KV: &abi.KVNeed{}},
	})
	wasm := hosttest.Plugin{Name: "w", Manifest: manifest}.Bytes()
	stale, err := abihost.Stamp(wasm, []byte{0x80})
	if err != nil {
		t.Fatal(err)
	}
	e := hosttest.Engine(t)
	for name, b := range map[string][]byte{"bare": wasm, "stamped otherwise": stale} {
		got, err := e.Describe(context.Background(), b, host.Policy{})
		if err != nil || !bytes.Equal(got, manifest) {
			t.Errorf("%s: %x, %v; want %x", name, got, err, manifest)
		}
		if _, err := e.Compile(context.Background(), b, host.Policy{}); err == nil {
			t.Errorf("%s: compiles, so the case shows nothing", name)
		}
	}
}

func TestDescribeRefuses(t *testing.T) {
	e := hosttest.Engine(t)
	for name, p := range map[string]hosttest.Plugin{
		"silent":       {Name: "x", Describe: hosttest.Silent},
		"trap":         {Name: "x", Describe: hosttest.Trap},
		"not manifest": {Name: "x", Manifest: []byte{0xc0}},
	} {
		var load *host.LoadError
		if _, err := e.Describe(context.Background(), p.Bytes(), host.Policy{}); !errors.As(err, &load) {
			t.Errorf("%s: %v, want a LoadError", name, err)
		}
	}
}
