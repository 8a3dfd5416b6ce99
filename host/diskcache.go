package host

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/tetratelabs/wazero"

	"github.com/wasmagent/wasmagent/host/internal/rewrite"
)

// diskCache hands compiled code to the engine, and keeps it between processes if it has a directory
// for that.
//
// The engine trusts what lies in its cache directory: machine code, guarded by a checksum that
// anybody can compute. So it only ever sees a directory of this process's own, in which a file
// appears when its bytes have been authenticated in memory, and is removed when the engine has read
// it. What lasts are the entries: one file a module, authenticated by an HMAC.
type diskCache struct {
	entries string // directory of the entries for this engine version and kind of machine; "" without
	key     []byte
	private string       // directory of this process's own
	alive   *flock.Flock // held while it is in use
	sub     string       // the engine's name for its version and kind of machine, a directory
	engine  wazero.CompilationCache
	logger  *slog.Logger
	mu      sync.Mutex // held while the engine's directory has files in it

	machineOnce sync.Once
	machineText string
	machineErr  error
}

const (
	privatePrefix = "run-"
	enginePrefix  = "wazero-"           // of the engine's name for its version
	privateAge    = time.Minute         // after which a directory that nobody holds was left behind
	entryAge      = 30 * 24 * time.Hour // since its last use, after which an entry goes
	entryTouch    = 24 * time.Hour      // how exactly the last use is known
)

// openDiskCache opens dir, making it if needed.
func openDiskCache(dir string, key []byte, logger *slog.Logger) (_ *diskCache, err error) {
	if len(key) < MinCacheKey {
		return nil, fmt.Errorf("a key of %d bytes, at least %d are needed", len(key), MinCacheKey)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := checkOwner(dir); err != nil {
		return nil, err
	}
	removeLeftovers(dir)
	c := &diskCache{key: append([]byte(nil), key...), logger: logger}
	if c.private, err = os.MkdirTemp(dir, privatePrefix); err != nil {
		return nil, err
	}
	c.alive = flock.New(aliveFile(c.private))
	if _, err := c.alive.TryLock(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if err := c.openEngine(dir); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	removeUnused(dir)
	return c, nil
}

// openScratch is a cache that keeps nothing: its directory goes with it.
func openScratch(logger *slog.Logger) (_ *diskCache, err error) {
	c := &diskCache{logger: logger}
	if c.private, err = os.MkdirTemp("", "wasmagent-"); err != nil { // 0700
		return nil, err
	}
	if err := c.openEngine(""); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func aliveFile(private string) string { return filepath.Join(private, "alive") }

// engineDir is where the engine looks for code and leaves it.
func (c *diskCache) engineDir() string { return filepath.Join(c.private, "engine", c.sub) }

// openEngine gives the engine its directory, and learns from its name what the entries must match.
func (c *diskCache) openEngine(dir string) (err error) {
	if c.engine, err = wazero.NewCompilationCacheWithDir(c.engineDir()); err != nil {
		return err
	}
	if c.sub, err = onlyFile(c.engineDir()); err != nil {
		return err
	}
	if dir == "" {
		return nil
	}
	made := rewrite.Fingerprint()
	c.entries = filepath.Join(dir, fmt.Sprintf("%s-%x", c.sub, made[:4]))
	return os.MkdirAll(c.entries, 0o700)
}

// removeLeftovers takes away the private directories of processes that were killed. What cannot be
// removed is left to whoever comes next.
func removeLeftovers(dir string) {
	list, _ := filepath.Glob(filepath.Join(dir, privatePrefix+"*"))
	for _, old := range list {
		info, err := os.Lstat(old)
		if err != nil || time.Since(info.ModTime()) < privateAge {
			continue
		}
		alive := flock.New(aliveFile(old))
		if free, err := alive.TryLock(); err == nil && free {
			_ = alive.Unlock()
			_ = os.RemoveAll(old)
		}
	}
}

// removeUnused takes away the entries that nobody has used for long, of whatever version.
func removeUnused(dir string) {
	list, _ := filepath.Glob(filepath.Join(dir, enginePrefix+"*", "*"))
	for _, file := range list {
		info, err := os.Lstat(file)
		if err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > entryAge {
			_ = os.Remove(file)
		}
	}
}

// Close gives the engine's code up and removes the private directory.
func (c *diskCache) Close() error {
	var err error
	if c.engine != nil {
		err = c.engine.Close(context.Background())
	}
	if c.alive != nil {
		err = errors.Join(err, c.alive.Unlock())
	}
	return errors.Join(err, os.RemoveAll(c.private))
}

// compile gives the compiled form of a module and what was compiled, from its entry if there is a
// good one, else with prepare and make. A bad entry costs a compile and never more.
func (c *diskCache) compile(rt wazero.Runtime, d digest, prepare func() (*rewritten, error),
	make func(wasm []byte) (entry, error)) (_ wazero.CompiledModule, e entry, err error) {
	if e, err = c.read(d); err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			c.warn("compiled code is made anew", d, err)
		}
		module, err := prepare()
		if err != nil {
			return nil, e, err
		}
		if e, err = make(module.Wasm); err != nil {
			return nil, e, err
		}
		e.module = module
		c.keep(d, e)
	}
	compiled, err := c.load(rt, d, e)
	return compiled, e, err
}

// aside compiles in this process, in a runtime and directory of its own: with others compiling side
// by side, that is how to know which file the engine made of this module.
func (c *diskCache) aside(wasm []byte) (_ entry, err error) {
	dir, err := os.MkdirTemp(c.private, "compile-")
	if err != nil {
		return entry{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	e, _, err := compileIn(dir, wasm)
	return e, err
}

// compileIn compiles in an empty directory and takes what the engine made out of it. sub is the
// engine's name for its version and kind of machine.
func compileIn(dir string, wasm []byte) (_ entry, sub string, err error) {
	ctx := context.Background()
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return entry{}, "", err
	}
	defer func() { err = errors.Join(err, cache.Close(ctx)) }()
	if sub, err = onlyFile(dir); err != nil {
		return entry{}, "", err
	}
	rt := wazero.NewRuntimeWithConfig(ctx, runtimeConfig().WithCompilationCache(cache))
	defer func() { err = errors.Join(err, rt.Close(ctx)) }()
	if _, err := rt.CompileModule(ctx, wasm); err != nil {
		return entry{}, "", err
	}
	e, err := takeOnly(filepath.Join(dir, sub))
	if errors.Is(err, errNoFile) {
		return entry{}, sub, nil // an engine that interprets makes none
	}
	return e, sub, err
}

// load lets the engine read authenticated code.
func (c *diskCache) load(rt wazero.Runtime, d digest, e entry) (wazero.CompiledModule, error) {
	if e.name == "" {
		return rt.CompileModule(context.Background(), e.module.Wasm)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	dir := c.engineDir()
	file := filepath.Join(dir, e.name)
	if err := os.WriteFile(file, e.code, 0o600); err != nil {
		return nil, err
	}
	compiled, err := rt.CompileModule(context.Background(), e.module.Wasm)
	_ = os.Remove(file) // the engine may have removed it
	// Code made for another processor is of no use to the engine, which then compiles and leaves
	// its own: that is the entry from now on.
	if made, err := takeOnly(dir); err == nil {
		made.module = e.module
		c.keep(d, made)
	}
	return compiled, err
}

func (c *diskCache) keep(d digest, e entry) {
	if c.entries == "" || e.name == "" {
		return
	}
	if err := c.write(d, e); err != nil {
		c.warn("compiled code is not kept", d, err)
	}
}

func (c *diskCache) warn(text string, d digest, err error) {
	c.logger.Warn(text, "digest", hex.EncodeToString(d[:]), "error", err)
}
