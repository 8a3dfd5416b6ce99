// Package loader turns a directory into verified tools.
package loader

import (
	"context"
	"errors"
	"log/slog"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/plugins"
)

// Options of OpenDir and OpenFile. Nil and zero fields are the documented defaults.
type Options struct {
	Engine   *host.Engine // nil: one of its own, closed with the Dir
	CacheDir string       // tool lists and compiled code; "" is the user's cache directory
	StateDir string       // the key that guards the cache; "" is the user's state directory
	Limits   host.Limits
	Workers  int // compiles side by side; 0 is GOMAXPROCS
	Logger   *slog.Logger
}

// Dir is a directory of plugins: the good ones and, each with its reason, the others.
type Dir struct{}

// Plugin is one file or folder of a directory.
type Plugin struct {
	Name     string // the file's stem or the folder's name, never the manifest's word
	Path     string
	Digest   string // sha256:<hex> of the .wasm
	Size     int64
	Manifest abi.Manifest
	Err      error // *LoadError or *NotAllowedError: why it offers no tools
}

func OpenDir(ctx context.Context, dir string, opts *Options) (*Dir, error) {
	return nil, errors.ErrUnsupported
}
func OpenFile(ctx context.Context, file string, opts *Options) (*Dir, error) {
	return nil, errors.ErrUnsupported
}
func (d *Dir) Plugins() []Plugin     { return nil }
func (d *Dir) Tools() []plugins.Tool { return nil }
func (d *Dir) Close() error          { return nil }

// LoadError is a plugin that cannot be loaded.
type LoadError struct {
	Plugin, Path string
	Err          error
}

func (e *LoadError) Error() string { return "" }
func (e *LoadError) Unwrap() error { return e.Err }

// NotAllowedError is a plugin that needs what its operator has not granted.
type NotAllowedError struct {
	Plugin, Path string
	Needs        []string
}

func (e *NotAllowedError) Error() string { return "" }
