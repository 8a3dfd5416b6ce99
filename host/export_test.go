package host

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/wasmagent/wasmagent/host/internal/snapshot"
)

// NewInterpreted makes an engine that interprets guests and compiles nothing.
func NewInterpreted(ctx context.Context, cfg *Config) (*Engine, error) {
	return newEngine(ctx, cfg, configure(wazero.NewRuntimeConfigInterpreter()))
}

// ForceRoad makes an engine restore by one way only, for modules that are compiled from here on. It
// is one of RestoreRoads.
func ForceRoad(e *Engine, road snapshot.Road) { e.road = road }

// RestoreRoads are the ways to restore that this system has.
func RestoreRoads() []snapshot.Road {
	roads := []snapshot.Road{snapshot.Copy, snapshot.Drop, snapshot.Pagemap, snapshot.Scan}
	return roads[:snapshot.Best()]
}

// MemoryInUse is what the budget has booked, in bytes.
func MemoryInUse(e *Engine) int64 { return e.budget.used.Load() }

// Idle counts the instances that a module keeps for later calls.
func Idle(m *Module) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.free)
}

// ReplaceEntry writes an authentic cache entry with any content.
func ReplaceEntry(dir string, key, wasm []byte, name string, code []byte) error {
	c, err := openDiskCache(dir, key, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer c.Close()
	facts, err := preflight(wasm)
	if err != nil {
		return err
	}
	module, err := newRewritten(wasm, facts)
	if err != nil {
		return err
	}
	return c.write(sha256.Sum256(wasm), entry{name: name, code: code, module: module})
}

// EntriesDir is where an engine keeps its entries.
func EntriesDir(e *Engine) string { return e.disk.entries }

// EngineVersion is the engine that cache entries are bound to.
const EngineVersion = engineVersion

// CompileWithin is CompileChild in the limits that ChildLimits writes; the compiled-in ones
// without.
func CompileWithin(args []string) int {
	if len(args) == 0 {
		return CompileChild(os.Stdin, os.Stdout, os.Stderr)
	}
	seconds, err := strconv.Atoi(args[0])
	if err != nil {
		panic(err)
	}
	memory, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		panic(err)
	}
	limits := defaultChildLimits
	limits.time, limits.memory = time.Duration(seconds)*time.Second, memory
	return compileChild(os.Stdin, os.Stdout, os.Stderr, limits)
}

// LimitChild gives an engine's compiler command smaller limits, and passes them on as arguments.
func LimitChild(e *Engine, seconds int, memory, code int64) {
	e.child.limits = childLimits{time.Duration(seconds) * time.Second, memory, code}
	e.child.command = append(e.child.command, fmt.Sprint(seconds), fmt.Sprint(memory))
}

// ChildrenRunning is how many compiler commands run now, or begin to.
func ChildrenRunning(e *Engine) int { return len(e.children) }

// SameCode tells whether two modules share what was compiled.
func SameCode(a, b *Module) bool { return a.code == b.code }

// Loading is how many modules are past their compile and not yet closed.
func Loading(e *Engine) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.modules)
}
