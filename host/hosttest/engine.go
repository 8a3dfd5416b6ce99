package hosttest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/wasmagent/wasmagent/host"
)

// Engine is an engine that is closed when the test ends. It keeps nothing on disk: small modules
// compile faster than they are read.
func Engine(tb testing.TB) *host.Engine {
	tb.Helper()
	return open(tb, nil)
}

// CachedEngine is an engine whose compiled code is shared by all tests of this user, for plugins
// made by [GoPlugin]: each is compiled once.
func CachedEngine(tb testing.TB) *host.Engine {
	tb.Helper()
	dir, err := cacheDir("code")
	if err != nil {
		tb.Fatal(err)
	}
	key := []byte("wasmagent's tests, not a secret")
	return open(tb, &host.Config{CacheDir: dir, CacheKey: key})
}

func open(tb testing.TB, cfg *host.Config) *host.Engine {
	tb.Helper()
	e, err := host.New(context.Background(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			tb.Errorf("closing the engine: %v", err)
		}
	})
	return e
}

// Compile makes a plugin under a policy, or fails the test.
func Compile(tb testing.TB, e *host.Engine, wasm []byte, p host.Policy) *host.Module {
	tb.Helper()
	m, err := e.Compile(context.Background(), wasm, p)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

var userCache = sync.OnceValues(os.UserCacheDir)

// cacheDir is a directory for what tests share, private to the user.
func cacheDir(name string) (string, error) {
	base, err := userCache()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(base, "wasmagent-test", name)
	return dir, os.MkdirAll(dir, 0o700)
}
