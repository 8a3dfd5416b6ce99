package host_test

import (
	"context"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/wasmagent/wasmagent/abi/abihost"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
)

// Stamping a plugin changes what it is, not what it runs: it is not compiled again for it.
func TestStampedSharesCode(t *testing.T) {
	ctx := context.Background()
	bare := hosttest.Tiny("greet")
	cfg := &host.Config{CacheDir: filepath.Join(t.TempDir(), "code"), CacheKey: make([]byte, 32)}
	e, err := host.New(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(ctx)
	manifest, err := e.Describe(ctx, bare, host.Policy{})
	if err != nil {
		t.Fatal(err)
	}
	kept := countFiles(t, cfg.CacheDir)
	stamped, err := abihost.Stamp(bare, manifest)
	if err != nil {
		t.Fatal(err)
	}
	a := hosttest.Compile(t, e, bare, host.Policy{})
	b := hosttest.Compile(t, e, stamped, host.Policy{})
	if got := countFiles(t, cfg.CacheDir); got != kept || kept == 0 {
		t.Errorf("%d files of compiled code, and %d when it is stamped", kept, got)
	}
	if a.Digest() == b.Digest() {
		t.Error("the digest does not see the stamp")
	}
}

func countFiles(t *testing.T, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
