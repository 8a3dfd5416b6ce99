package build

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/wasmagent/wasmagent/abi/abihost"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
)

func TestStamp(t *testing.T) {
	ctx := context.Background()
	e := hosttest.Engine(t)
	bare := hosttest.Tiny("greet")
	stamped, err := Stamp(ctx, e, bare)
	if err != nil {
		t.Fatal(err)
	}
	raw, ok, err := abihost.Section(stamped)
	if err != nil || !ok {
		t.Fatalf("no section: %v, %v", ok, err)
	}
	if m, err := abihost.ParseManifest(raw); err != nil || m.Name != "greet" {
		t.Errorf("stamped with %+v, %v", m, err)
	}
	hosttest.Compile(t, e, stamped, host.Policy{})
	if again, err := Stamp(ctx, e, stamped); err != nil || !bytes.Equal(again, stamped) {
		t.Errorf("stamping twice changes the file: %v", err)
	}
}

func TestStampRefuses(t *testing.T) {
	e := hosttest.Engine(t)
	wasm := hosttest.Plugin{Name: "mute", Describe: hosttest.Silent}.Bytes()
	var load *host.LoadError
	if _, err := Stamp(context.Background(), e, wasm); !errors.As(err, &load) {
		t.Errorf("a module that does not describe itself: %v, want a LoadError", err)
	}
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "p.wasm")
	for _, text := range []string{"the first", "second"} {
		if err := WriteFile(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%q, %v; want %q", got, err, text)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("%d files are left, %v; want one", len(files), err)
	}
	err := WriteFile(filepath.Join(dir, "no", "p.wasm"), nil)
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("into no directory: %v", err)
	}
}
