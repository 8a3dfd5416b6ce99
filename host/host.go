// Package host runs guests inside limits. It is the only room that knows wazero.
package host

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/wasmagent/wasmagent/abi"
)

// Config is what an Engine is made with. The zero value, and nil, are the documented defaults.
type Config struct {
	CacheDir string       // compiled code on disk; "" keeps it in memory only
	CacheKey []byte       // authenticates CacheDir's entries; required with CacheDir
	Logger   *slog.Logger // guests' log lines that no Observer takes; nil discards
}

// Policy is what one plugin may do. The zero value is safe: default limits, nothing granted.
type Policy struct{ Limits Limits }

// Limits bound one plugin. A zero field is the documented default, never "no limit".
type Limits struct {
	Time      time.Duration // a call's own time, DefaultTime
	Load      time.Duration // each stage of loading, DefaultLoad
	Grace     time.Duration // after the caller cancelled, DefaultGrace
	Memory    int64         // bytes of linear memory, DefaultMemory
	Request   int64         // bytes of a request, DefaultRequest
	Output    int64         // bytes of a reply, DefaultOutput
	Stdio     int64         // bytes of stdout and stderr kept, each, DefaultStdio
	LogRate   int           // log lines a second, DefaultLogRate
	Module    int64         // bytes of a module, DefaultModule
	Instances int           // instances of one module at a time, DefaultInstances
}

// Engine compiles modules and runs them.
type Engine struct{}

func New(ctx context.Context, cfg *Config) (*Engine, error) { return nil, errors.ErrUnsupported }

// Compile checks, compiles and describes a module. wasm is not kept.
func (e *Engine) Compile(ctx context.Context, wasm []byte, p Policy) (*Module, error) {
	return nil, errors.ErrUnsupported
}

func (e *Engine) Close(ctx context.Context) error { return nil }

// Module is a compiled plugin under one policy, safe for concurrent use.
type Module struct{}

func (m *Module) Manifest() abi.Manifest { return abi.Manifest{} }

// Call runs one call in a fresh instance and appends the guest's reply, unscanned msgpack, to dst.
func (m *Module) Call(ctx context.Context, req abi.Request, obs *Observer, dst []byte) (
	reply []byte, stats CallStats, err error) {
	return dst, CallStats{}, errors.ErrUnsupported
}

func (m *Module) Close(ctx context.Context) error { return nil }

// Observer sees what a guest says while it runs. Nil fields are skipped. Each is called on the
// goroutine that runs the guest and must not block.
type Observer struct {
	Log      func(level abi.Level, text string)
	Progress func(abi.Progress)
	Output   func(stderr bool, b []byte)
}

// CallStats is what a call took.
type CallStats struct {
	Time   time.Duration // from having an instance to the end
	Wait   time.Duration // until an instance was free
	Memory int64         // bytes of linear memory at the end
	Stderr string        // the tail of what it wrote there
}
