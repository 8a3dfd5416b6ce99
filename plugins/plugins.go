// Package plugins keeps tools by name and carries out a call of one, Wasm or not.
package plugins

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"

	"github.com/wasmagent/wasmagent/abi"
)

// Tool is something that can be called. Invoke returns a *ToolError, a context error, or an error
// marked by HostFault; any other error is taken for the tool's own: Handler.
type Tool interface {
	Spec() abi.ToolSpec
	Invoke(ctx context.Context, call Call) (Output, error)
}

// Call is one call of a tool. A caller sets ID, Tool and Input; the registry sets Key and Attempt.
type Call struct {
	ID, Tool string
	Input    json.RawMessage
	Key      string                             // the idempotency key; "" when unkeyed
	Attempt  int                                // from 1
	Progress func(abi.Progress)                 // nil: not wanted
	Log      func(level abi.Level, text string) // nil: the host's logger
}

// Output is what a tool gives back: a JSON value, or content blocks.
type Output struct {
	Value   json.RawMessage
	Content []abi.Block
}

// Result is a call that succeeded.
type Result struct {
	Output
	Key      string
	Attempts int
	Copied   bool     // settled by an earlier call with the same key: nothing ran
	Notes    []string // what the registry did to the arguments or noticed about the result
}

// Options of a Registry. Nil and zero fields are the documented defaults.
type Options struct {
	Ledger Ledger
	Keys   map[string]string // idempotency path by tool name
	Logger *slog.Logger
}

// Ledger is where keyed calls are claimed and settled.
type Ledger interface{}

type Registry struct{}

func NewRegistry(opts *Options) *Registry                               { return nil }
func (r *Registry) Add(tools ...Tool) error                             { return errors.ErrUnsupported }
func (r *Registry) Specs() iter.Seq[abi.ToolSpec]                       { return nil }
func (r *Registry) Call(ctx context.Context, call Call) (Result, error) { return Result{}, nil }

// Func makes a tool of a Go function; its schemas come from the types.
func Func[In, Out any](spec abi.ToolSpec, fn func(context.Context, In) (Out, error)) (Tool, error) {
	return nil, errors.ErrUnsupported
}
